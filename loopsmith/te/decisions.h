// SPDX-License-Identifier: Apache-2.0
// What a schedule of tensor expressions holds: data only. schedule.h records it.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "loopsmith/te/tensor_intrin.h"

namespace loopsmith::te {

/// Two axes in the place of one.
struct SplitStep {
  IterVar parent;
  IterVar outer;
  IterVar inner;
  Expr factor;  ///< The extent of `inner`; null where `nparts` is that of `outer`.
  Expr nparts;
  bool disable_predication = false;
};

/// One axis in the place of two neighbours.
struct FuseStep {
  IterVar outer;
  IterVar inner;
  IterVar fused;
};

/// These axes, in this order, take the places that they have.
struct ReorderStep {
  std::vector<IterVar> axes;
};

/// A new outermost axis, of one value.
struct SingletonStep {
  IterVar axis;
};

/// The elements are kept, and computed, where the map says.
struct LayoutStep {
  std::vector<IterVar> before;
  std::vector<IterVar> after;  ///< Empty: the order of computation stays.
  Ptr<IndexMap> map;
  std::vector<std::int64_t> separators;  ///< Indices that start an axis of the flattened buffer.
};

using AxisStep = std::variant<SplitStep, FuseStep, ReorderStep, SingletonStep, LayoutStep>;

/// How an axis runs: parallel, vectorized or unrolled.
struct KindMark {
  ForKind kind;
};
struct BindMark {
  IterVar thread;
};
struct PragmaMark {
  std::string key;
  Ref value;
};
struct PrefetchMark {
  Tensor tensor;
  std::int64_t offset;  ///< In iterations.
};
struct TensorizeMark {
  std::shared_ptr<const TensorIntrinDecl> intrin;
};

/// What was said of an axis, beside what became of it.
struct AxisMark {
  IterVar axis;
  std::variant<KindMark, BindMark, PragmaMark, PrefetchMark, TensorizeMark> what;
};

/// The stride of a dimension is `offset` more than a multiple of `factor`.
struct StrideAlignment {
  IterVar axis;
  std::int64_t factor;
  std::int64_t offset;
};

/// Where a stage is computed. The numbers are those that users of such schedules know.
enum class AttachType : std::uint8_t {
  root = 1,     ///< Before all that reads it, or where its group is computed.
  inlined = 2,  ///< Where it is read.
  scope = 4,    ///< In a loop of another stage.
};

using StageId = std::uint32_t;
inline constexpr StageId no_stage = ~StageId{0};

/// The decisions about one operation; or about a group of them, which has no operation.
struct StageData {
  Ref op;         ///< As it is now; null: a group.
  Ref origin_op;  ///< As it was when the stage was made.
  std::vector<IterVar> all_iter_vars;
  std::vector<IterVar> leaf_iter_vars;  ///< The loops, outermost first.
  std::vector<AxisStep> steps;
  std::vector<AxisMark> marks;
  std::vector<StrideAlignment> alignments;
  AttachType attach_type = AttachType::root;
  StageId attach_stage = no_stage;
  IterVar attach_ivar;
  StageId group = no_stage;
  std::string scope;  ///< Empty: it follows from where the stage is attached.
  Expr store_predicate;
  std::vector<IterVar> env_threads;
  bool is_output = false;
  bool double_buffer = false;
  bool rolling_buffer = false;

  bool is_group() const { return !op.defined(); }
};

/// A schedule, as a value.
struct ScheduleData {
  std::deque<StageData> stages;  ///< By their ids; groups among them.
  std::vector<StageId> order;    ///< Of the operations: each after all that it reads.
  std::vector<StageId> groups;
  std::vector<Ref> outputs;  ///< The operations that were asked for, as they are now.
  /// The stage of each operation, and of those that it had before.
  std::unordered_map<Ref, StageId, RefHash, RefEqual> stage_of;

  /// The stage of an operation; `no_stage` if it has none.
  StageId find(const Ref& op) const {
    const auto found = stage_of.find(op);
    return found == stage_of.end() ? no_stage : found->second;
  }
  /// True for the placeholder of a scan's earlier rows, which exists only inside of it.
  bool is_state(const Ref& op) const;
  /// What takes the place of a tensor of an operation that was rewritten.
  Tensor current(const Tensor& tensor) const;
};

/// What errors call a stage.
std::string name_of(const StageData& stage);

/// The axes that an operation has by itself: those of its outputs, then those that it reduces over;
/// the loops of an extern's statement.
std::vector<IterVar> root_axes(const Ref& op);

}  // namespace loopsmith::te
