// SPDX-License-Identifier: Apache-2.0
// The decisions of a schedule, carried out on the function that it is about.
#pragma once
#include <unordered_map>
#include <vector>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/te/attachments.h"
#include "loopsmith/te/create_prim_func.h"

namespace loopsmith::te {

/// The loops of one stage, around one block or more.
struct Nest {
  std::vector<BlockRV> blocks;
  std::unordered_map<Ref, LoopRV, RefHash, RefEqual> loops;  ///< By axis.
  bool is_init = false;  ///< It starts a reduction, and has only some of the axes.
};

/// The first loop that was bound to a thread axis.
struct BoundThread {
  StageId stage = no_stage;
  IterVar axis;
  std::int64_t extent = 0;
};

/// Stages are placed from the outputs to the inputs: each into its loop, then its own loops are
/// split, fused and reordered, and what it reads is placed into them. How loops run is said when
/// all is in place.
class Replay {
 public:
  Replay(const ScheduleData& data, const NamedPrimFunc& function,
         std::vector<Attachment> attachments, std::vector<std::vector<StageId>> readers);

  loopsmith::Schedule run() &&;

 private:
  // replay.cc: places.
  void set_layout_of_input(StageId id);
  void inline_stages();
  StageId next_stage(const std::vector<StageId>& left) const;
  void place(StageId id);
  Nest nest_at_root(StageId id, const std::vector<BlockRV>& blocks);
  Nest nest_attached(StageId id, BlockRV block);
  void add_loops_inside(BlockRV block, StageId id, Nest& nest);
  bool is_at_time(StageId id) const;
  bool is_untouched(StageId id) const;
  bool is_read(const Tensor& tensor) const;
  void set_memory(StageId id);
  BlockRV block_named(const std::string& name);

  // replay_loops.cc: the loops of one stage.
  void reshape(StageId id, Nest& nest);
  LoopRV own_loop(StageId id, const Nest& nest, const IterVar& axis, std::string_view call) const;
  void apply(StageId id, Nest& nest, const SplitStep& step);
  void apply(StageId id, Nest& nest, const FuseStep& step);
  void apply(StageId id, Nest& nest, const ReorderStep& step);
  void apply(StageId id, Nest& nest, const SingletonStep& step);
  void apply(StageId id, Nest& nest, const LayoutStep& step);
  void separate(BlockRV block, const BufferSelector& buffer, const LayoutStep& step);
  void name_loops(StageId id, Nest& nest);
  bool is_bound(StageId id, const IterVar& axis) const;

  // replay_marks.cc: how loops run, and what else is said of them.
  void mark(StageId id);
  BlockRV reader_in(LoopRV loop, BlockRV own, const std::string& buffer);
  void prefetch(StageId id);
  void bind(StageId id, const AxisMark& mark);
  void require_same_threads(StageId id, const AxisMark& mark, const std::int64_t* extent);
  void require_env_threads(StageId id) const;
  void bind_around(const Attachment& at);
  void bind_all(StageId id);
  void start_reduction(StageId id);
  bool binds_output_axis(BlockRV block, LoopRV loop) const;
  void check_predicate(StageId id);
  LoopRV leaf_loop(StageId id, const Nest& nest, const AxisMark& mark, std::string_view call) const;

  // replay_intrin.cc
  const AxisMark* tensorized(StageId id) const;
  void require_no_loops_inside(StageId id, const AxisMark& tensorized) const;
  void tensorize(StageId id, const AxisMark& mark);

  const StageData& stage(StageId id) const { return data_.stages[id]; }

  const ScheduleData& data_;
  const BlocksOfOps& names_;
  const std::vector<Attachment> attachments_;
  const std::vector<std::vector<StageId>> readers_;
  loopsmith::Schedule schedule_;
  std::vector<std::vector<Nest>> nests_;  ///< By stage; more than one where blocks were parted.
  std::unordered_map<Ref, BoundThread, RefHash, RefEqual> threads_;  ///< By thread axis.
};

}  // namespace loopsmith::te
