// SPDX-License-Identifier: Apache-2.0
// Schedules of tensor expressions: how, apart from what. A schedule is a list of decisions; what
// they make of a program is decided when it is lowered (te_schedule/to_tir.h).
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/te/tensor.h"

namespace loopsmith::te {

// What a schedule is made of: te/decisions.h.
struct ScheduleData;
struct StageData;
struct TensorIntrinDecl;
using StageId = std::uint32_t;

/// How an axis is split: by the extent of the inner axis, or of the outer one. It is a number, or
/// an integer expression of sizes, which counts as 1 where it is less.
struct SplitBy {
  Expr factor = {};
  Expr nparts = {};
  bool disable_predication = false;  ///< Leaves out the guard where it does not divide.
};

/// The stage of an operation in a schedule, or of a group of them: a handle. An axis that is given
/// to it must be one of its `leaf_iter_vars`, if nothing else is said; where it is not, where it is
/// of the wrong kind, or where a number makes no sense, a UserError says so.
class Stage {
 public:
  Stage(std::shared_ptr<ScheduleData> schedule, StageId id)
      : schedule_(std::move(schedule)), id_(id) {}

  const StageData& data() const;
  const std::shared_ptr<ScheduleData>& schedule() const { return schedule_; }
  StageId id() const { return id_; }
  const Ref& op() const;

  /// The axes `axis.outer`, `axis.inner` in the place of one.
  std::array<IterVar, 2> split(const IterVar& axis, const SplitBy& by);
  std::array<IterVar, 2> split(const IterVar& axis, const Expr& factor) {
    return split(axis, SplitBy{.factor = factor});
  }
  /// x.outer, y.outer, x.inner, y.inner, in this order.
  std::array<IterVar, 4> tile(const IterVar& x, const IterVar& y, const Expr& x_factor,
                              const Expr& y_factor);
  /// One axis in the place of neighbours; without any, a new outermost one of extent 1.
  IterVar fuse(const std::vector<IterVar>& axes);
  Stage& reorder(const std::vector<IterVar>& axes);

  Stage& vectorize(const IterVar& axis);
  Stage& unroll(const IterVar& axis);
  Stage& parallel(const IterVar& axis);
  Stage& bind(const IterVar& axis, const IterVar& thread);
  /// A note for lowering; `unroll` and `vectorize` are these methods. A null value is 1.
  Stage& pragma(const IterVar& axis, std::string_view key, const Ref& value = {});

  /// Asks in each iteration of an axis for the elements of a tensor that are read `offset` later.
  Stage& prefetch(const Tensor& tensor, const IterVar& axis, const Expr& offset);
  /// Lets an intrinsic compute what is inside an axis.
  Stage& tensorize(const IterVar& axis, const TensorIntrinDecl& intrin);

  /// Computes it in each iteration of an axis of another stage, as far as it is needed there.
  Stage& compute_at(const Stage& parent, const IterVar& axis);
  /// Computes it where it is read.
  Stage& compute_inline();
  Stage& compute_root();

  // Its memory. Of a group: that of each of its stages.

  /// The memory of its results: `shared`, `local`, ...
  Stage& set_scope(const std::string& scope);
  /// Lets the stride of a dimension be `offset` more than a multiple of `factor`.
  Stage& storage_align(const IterVar& axis, std::int64_t factor, std::int64_t offset);
  /// Keeps two copies, of which one is filled while the other is read.
  Stage& double_buffer();
  /// Keeps what the next iteration of the loops around it needs again.
  Stage& rolling_buffer();
  /// Stores only where it holds. It may not change results; see te_schedule/to_tir.h.
  Stage& set_store_predicate(const Expr& predicate);
  /// The threads that all steps of a scan share: an axis of each is bound to each of them.
  Stage& env_threads(const std::vector<IterVar>& threads);
  /// Keeps element (i, j, ...) where the map says; the order of computation stays. `separators`
  /// are the indices of the map that start another axis of the flattened buffer.
  void set_layout(const Ptr<IndexMap>& map, const std::vector<std::int64_t>& separators = {});
  /// The same, and computes in that order: the new axes, in the place of those of the output.
  std::vector<IterVar> transform_layout(const Ptr<IndexMap>& map,
                                        const std::vector<std::int64_t>& separators = {});

 private:
  friend class Schedule;

  std::vector<StageId> members() const;
  void require_inner(std::string_view call) const;
  void require_layout(std::string_view call, const IndexMap& map) const;

  StageData& edit();
  /// The place of a leaf; stops where it is none.
  std::size_t leaf(std::string_view call, const IterVar& axis) const;
  void require_kind(std::string_view call, const IterVar& axis,
                    std::initializer_list<IterType> kinds, Hint hint) const;
  void require_op(std::string_view call) const;
  void mark(const IterVar& axis, ForKind kind);
  IterVar fuse_two(const IterVar& first, const IterVar& second);

  std::shared_ptr<ScheduleData> schedule_;
  StageId id_;
};

/// A schedule of tensor expressions. Copies share their decisions; `copy` does not.
class Schedule {
 public:
  explicit Schedule(std::shared_ptr<ScheduleData> data) : data_(std::move(data)) {}

  const ScheduleData& data() const { return *data_; }
  const std::shared_ptr<ScheduleData>& shared() const { return data_; }
  Schedule copy() const;
  /// The same schedule with the place of each stage said of the stage itself, by an axis that is a
  /// loop: groups and axes that were split or fused are resolved. Throws a UserError where a stage
  /// is attached to itself through others, or to what is no loop.
  Schedule normalize() const;

  /// The stage of an operation, or of that which made a tensor. Stops where it is not in it.
  Stage operator[](const Ref& op_or_tensor) const;
  /// All stages, each after those that it reads.
  std::vector<Stage> stages() const;

  // What rewrites the operations of stages. Tensors of before stand for those of now.

  /// A copy of a tensor in other memory, `A.shared`, which these operations read instead. Of a
  /// scan's state: a copy in each step of the row that the step reads.
  Tensor cache_read(const Tensor& tensor, const std::string& scope,
                    const std::vector<Ref>& readers);
  /// Tensors in other memory, `C.local`, that are computed instead, and then copied: all that one
  /// compute makes. Their dimensions are the loops of the stage as they are now, but for those of a
  /// reduction: so splits and orders make a layout.
  std::vector<Tensor> cache_write(const std::vector<Tensor>& tensors, const std::string& scope);
  Tensor cache_write(const Tensor& tensor, const std::string& scope) {
    return cache_write(std::vector<Tensor>{tensor}, scope)[0];
  }
  /// Partial results of a reduction, `C.rf`, one for each value of one of its loops, which becomes
  /// dimension `factor_axis`, counted from the end if negative; the stage combines them.
  std::vector<Tensor> rfactor(const Tensor& tensor, const IterVar& axis,
                              std::int64_t factor_axis = 0);

  /// A group of all stages between operations, without the inputs unless said: what is said of
  /// where it is computed holds for them together.
  Stage create_group(const std::vector<Ref>& outputs, const std::vector<Ref>& inputs,
                     bool include_inputs = false);
  /// Computes stages, or all that a stage needs and that is not computed inline, in each iteration
  /// of one axis of it.
  void fuse_into(const Stage& parent, const IterVar& axis, const std::vector<Ref>& stages = {});

 private:
  Tensor cache_state(const Tensor& state, const std::string& scope,
                     const std::vector<StageId>& readers);

  std::shared_ptr<ScheduleData> data_;
};

/// A schedule of the operations that the given ones (or those of tensors) need: a stage for each,
/// computed one after another until something else is said.
///
///     Schedule s = create_schedule({C});
///     auto [io, ii] = s[C].split(C.axis(0), 32);
Schedule create_schedule(const std::vector<Ref>& outputs);

}  // namespace loopsmith::te
