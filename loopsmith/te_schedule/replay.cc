// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te_schedule/replay.h"

#include <algorithm>

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te_schedule/inline_steps.h"

namespace loopsmith::te {
namespace {

/// What lowering makes two copies of a block's memory by.
constexpr std::string_view double_buffer_key = "double_buffer_scope";

/// How far memory is shared: 0 by all, 1 by the threads of a block, 2 by a warp, 3 by none.
int rank_of(std::string_view name) {
  const MemoryScope scope = memory_scope(name);
  if (is_global(scope)) return 0;
  if (is_shared(scope)) return 1;
  return scope == MemoryScope::warp || scope == MemoryScope::named_warp ? 2 : 3;
}

}  // namespace

Replay::Replay(const ScheduleData& data, const NamedPrimFunc& function,
               std::vector<Attachment> attachments, std::vector<std::vector<StageId>> readers)
    : data_(data),
      names_(function.blocks),
      attachments_(std::move(attachments)),
      readers_(std::move(readers)),
      schedule_(function.func),
      nests_(data.stages.size()) {}

loopsmith::Schedule Replay::run() && {
  for (const StageId id : data_.order) set_layout_of_input(id);
  inline_stages();
  std::vector<StageId> left;
  for (const StageId id : data_.order) {
    const bool is_scheduled = !stage(id).steps.empty() || !stage(id).marks.empty();
    require(!stage(id).op.is<ScanOp>() || !is_scheduled, ErrorKind::schedule, "scan_is_whole",
            hint("say it of the stages that compute its steps"), {},
            "lower: the axis of scan {} is scheduled, which runs step by step",
            label_of(data_, id));
    require_env_threads(id);
    const bool is_computed = names_.contains(stage(id).op);
    if (is_computed && attachments_[id].type != AttachType::inlined) left.push_back(id);
  }
  const std::vector<StageId> placed = left;
  while (!left.empty()) {
    const StageId id = next_stage(left);
    place(id);
    std::erase(left, id);
  }
  for (const StageId id : placed) {
    check_predicate(id);
    set_memory(id);
  }
  // Before any loop runs its iterations concurrently: it would be looked at again.
  for (const StageId id : placed) {
    if (!tensorized(id)) start_reduction(id);
  }
  for (const StageId id : placed) mark(id);
  for (const StageId id : placed) {
    if (const AxisMark* mark = tensorized(id)) require_no_loops_inside(id, *mark);
    bind_all(id);
  }
  // What an intrinsic's statement does in each iteration is known by what it stands for.
  for (const StageId id : placed) {
    if (const AxisMark* mark = tensorized(id)) tensorize(id, *mark);
  }
  for (const StageId id : placed) prefetch(id);
  return std::move(schedule_);
}

BlockRV Replay::block_named(const std::string& name) {
  return get_block.apply(schedule_, {.name = name});
}

/// Lets the caller's array lie as the map of its placeholder says.
void Replay::set_layout_of_input(StageId id) {
  const StageData& input = stage(id);
  if (!input.op.is<PlaceholderOp>()) return;
  for (const AxisStep& step : input.steps) {
    const auto* layout = std::get_if<LayoutStep>(&step);
    const StageId reader = readers_[id].empty() ? no_stage : readers_[id][0];
    if (!layout || reader == no_stage) continue;
    const BlockRV block = block_named(names_.at(stage(reader).op)[0]);
    transform_layout.apply(schedule_,
                           {.block = block, .buffer = name_of(input), .index_map = layout->map});
    separate(block, name_of(input), *layout);
  }
}

void Replay::inline_stages() {
  for (auto id = data_.order.rbegin(); id != data_.order.rend(); ++id) {
    if (attachments_[*id].type != AttachType::inlined) continue;
    const auto blocks = names_.find(stage(*id).op);
    if (blocks == names_.end()) continue;  // Nothing reads it any more.
    require_inlinable(data_, *id);
    for (const std::string& name : blocks->second) {
      compute_inline.apply(schedule_, {.block = block_named(name)});
    }
  }
}

/// The last of the stages whose readers are all in place; of several, one whose memory is shared by
/// the fewest threads: it goes where no loop is bound to threads yet.
StageId Replay::next_stage(const std::vector<StageId>& left) const {
  StageId best = no_stage;
  for (auto id = left.rbegin(); id != left.rend(); ++id) {
    const bool is_ready = std::ranges::none_of(readers_[*id], [&](StageId reader) {
      return std::ranges::find(left, reader) != left.end();
    });
    if (!is_ready) continue;
    const auto rank = [&](StageId stage) { return rank_of(scope_of(data_, attachments_, stage)); };
    if (best == no_stage || rank(*id) > rank(best)) best = *id;
  }
  check(best != no_stage, "te_schedule", "the stages read each other in a circle");
  return best;
}

/// True when there is nothing to do but to leave the stage where it is.
bool Replay::is_untouched(StageId id) const {
  const StageData& data = stage(id);
  const auto* compute = data.op.as<ComputeOp>();
  return attachments_[id].type == AttachType::root && data.steps.empty() && data.marks.empty() &&
         data.alignments.empty() && !data.double_buffer && !data.rolling_buffer &&
         !data.store_predicate.defined() && !(compute && compute->body[0].is<Reduce>()) &&
         std::ranges::none_of(attachments_, [&](const Attachment& at) { return at.stage == id; });
}

Nest Replay::nest_at_root(StageId id, const std::vector<BlockRV>& blocks) {
  Nest nest{.blocks = blocks, .loops = {}};
  if (stage(id).op.is<ExternOp>()) {
    add_loops_inside(blocks[0], id, nest);
    return nest;
  }
  const auto loops = get_loops.apply(schedule_, {.block = blocks[0]});
  std::vector<IterVar> axes = root_axes(stage(id).op);
  // The time of a scan is a loop that its steps share.
  const bool has_time = loops.size() == axes.size() && !axes.empty() &&
                        schedule_.get(blocks[0]).iter_vars[0]->iter_type == IterType::ordered;
  for (std::size_t i = has_time ? 1 : 0; i < std::min(axes.size(), loops.size()); ++i) {
    nest.loops[axes[i]] = loops[i];
  }
  return nest;
}

/// The loops of an extern's statement are inside of its block, or of blocks of its own.
void Replay::add_loops_inside(BlockRV block, StageId id, Nest& nest) {
  const std::vector<IterVar> axes = root_axes(stage(id).op);
  std::vector<BlockOrLoop> places{block};
  while (!places.empty()) {
    const BlockOrLoop place = places.back();
    places.pop_back();
    for (const LoopRV loop : get_child_loops.apply(schedule_, {.block_or_loop = place})) {
      const auto axis = std::ranges::find_if(
          axes, [&](const IterVar& one) { return one->var.same_as(schedule_.get(loop).loop_var); });
      if (axis != axes.end()) nest.loops[*axis] = loop;
      places.emplace_back(loop);
    }
  }
  for (const BlockRV inner : get_child_blocks.apply(schedule_, {.block_or_loop = block})) {
    add_loops_inside(inner, id, nest);
  }
}

/// True when a step of a scan is attached to the time of another one: there it is already.
bool Replay::is_at_time(StageId id) const {
  const Attachment& at = attachments_[id];
  const std::vector<Nest>& around = nests_[at.stage];
  const auto* parent = stage(at.stage).op.as<ComputeOp>();
  return parent && !parent->axis.empty() && parent->axis[0].same_as(at.axis) && !around.empty() &&
         schedule_.get(around[0].blocks[0]).iter_vars[0]->iter_type == IterType::ordered;
}

Nest Replay::nest_attached(StageId id, BlockRV block) {
  const Attachment& at = attachments_[id];
  const std::vector<Nest>& around = nests_[at.stage];
  check(!around.empty() && around[0].loops.contains(at.axis), "te_schedule",
        "stage {} is attached to an axis without a loop", label_of(data_, id));
  // Before all that is there: what it reads is placed later, and so before it.
  compute_at.apply(schedule_, {.block = block,
                               .loop = around[0].loops.at(at.axis),
                               .preserve_unit_loops = true,
                               .index = -2});
  if (stage(id).op.is<ExternOp>()) {
    Nest nest{.blocks = {block}, .loops = {}};
    add_loops_inside(block, id, nest);
    return nest;
  }
  const auto loops = get_loops.apply(schedule_, {.block = block});
  const std::size_t own = schedule_.get(block).iter_vars.size();
  Nest nest{.blocks = {block}, .loops = {}};
  const std::vector<IterVar> axes = root_axes(stage(id).op);
  for (std::size_t i = 0; i < std::min(axes.size(), own); ++i) {
    nest.loops[axes[i]] = loops[loops.size() - own + i];
  }
  return nest;
}

void Replay::place(StageId id) {
  if (is_untouched(id)) return;
  std::vector<BlockRV> blocks;
  for (const std::string& name : names_.at(stage(id).op)) blocks.push_back(block_named(name));
  if (attachments_[id].type == AttachType::root || is_at_time(id)) {
    nests_[id].push_back(nest_at_root(id, blocks));
    reshape(id, nests_[id].back());
    return;
  }
  // The threads that fill it together need what any of them reads.
  const int rank = rank_of(scope_of(data_, attachments_, id));
  if (rank == 1 || rank == 2) bind_around(attachments_[id]);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    // One that nothing reads is needed nowhere: it stays.
    if (blocks.size() > 1 && !is_read(output(stage(id).op, i))) continue;
    nests_[id].push_back(nest_attached(id, blocks[i]));
    reshape(id, nests_[id].back());
  }
}

/// True when an operation of the schedule reads the tensor.
bool Replay::is_read(const Tensor& tensor) const {
  return std::ranges::any_of(data_.order, [&](StageId id) {
    const auto inputs = input_tensors(stage(id).op);
    return std::ranges::find(inputs, tensor) != inputs.end();
  });
}

/// What is said of a stage's memory.
void Replay::set_memory(StageId id) {
  const StageData& data = stage(id);
  const auto* compute = data.op.as<ComputeOp>();
  for (const Nest& nest : nests_[id]) {
    for (const BlockRV block : nest.blocks) {
      for (const StrideAlignment& alignment : data.alignments) {
        const auto axis = std::ranges::find_if(
            compute->axis, [&](const auto& own) { return own.same_as(alignment.axis); });
        storage_align.apply(schedule_, {.block = block,
                                        .buffer_index = 0,
                                        .axis = axis - compute->axis.begin(),
                                        .factor = alignment.factor,
                                        .offset = alignment.offset});
      }
      if (data.double_buffer) {
        annotate.apply(
            schedule_,
            {.block_or_loop = block, .ann_key = std::string(double_buffer_key), .ann_val = 0});
      }
      if (data.rolling_buffer) rolling_buffer.apply(schedule_, {.block = block});
    }
  }
}

}  // namespace loopsmith::te
