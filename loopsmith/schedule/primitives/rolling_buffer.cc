// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/rolling_buffer.h"

#include <algorithm>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/analysis.h"
#include "loopsmith/schedule/new_place.h"
#include "loopsmith/schedule/rebind.h"

namespace loopsmith {
namespace {

/// The constant by which `a` is larger than `b`; nothing when they differ in more.
std::optional<std::int64_t> difference(const IndexForms& forms, const Expr& a, const Expr& b) {
  if (!a.defined() || !b.defined()) return {};
  const auto form = forms.read(a - b);
  return form && form->terms.empty() ? std::optional(form->constant) : std::nullopt;
}

class RollingPlanner {
 public:
  RollingPlanner(const Schedule& schedule, BlockRV block, Ptr<Buffer> buffer)
      : schedule_(schedule), block_(block) {
    plan_.buffer = std::move(buffer);
    plan_.blocks.push_back(block);
  }

  Planned<RollingBufferPlan> find(const ScopeUses& uses) && {
    if (auto refusal = collect(uses)) return *std::move(refusal);
    if (!schedule_.as<For>(inner_)) return fail("no loop is around the block and its consumers");
    const IndexForms forms(ranges_around(schedule_, inner_));
    const LoopRV inner = schedule_.loop_at(inner_);
    const ElementBox box = box_of(schedule_, *written_, inner, "local");
    std::vector<Rolling> rolling;
    bool reads_more = false;
    for (std::size_t d = 0; d < box.size(); ++d) {
      const auto width = difference(forms, box[d].max, box[d].min);
      auto rolls = width ? rolling_over(forms, box, d, *width + 1) : std::nullopt;
      if (!rolls) continue;
      const bool suffices = std::ranges::all_of(reads_, [&](const BufferUse* read) {
        const ElementBox used = box_of(schedule_, *read, inner, "local");
        const auto before = difference(forms, used[d].min, box[d].min);
        const auto after = difference(forms, box[d].max, used[d].max);
        return before && after && *before >= 0 && *after >= 0;
      });
      if (suffices)
        rolling.push_back(*std::move(rolls));
      else
        reads_more = true;
    }
    if (rolling.empty()) {
      return fail(reads_more ? "consumers read more than an iteration computes"
                             : "no serial loop moves a window over it in overlapping steps");
    }
    // What an outer loop keeps lasts while those inside it run; not the other way round.
    std::ranges::sort(rolling, [&](const Rolling& a, const Rolling& b) {
      return a.loop != b.loop &&
             is_inside(schedule_, schedule_.node(b.loop), schedule_.node(a.loop));
    });
    plan_.dimension = rolling[0].dimension;
    plan_.extent = rolling[0].extent;
    plan_.is_new = true;
    for (const Rolling& rolls : rolling) {
      plan_.loops.push_back(rolls.loop);
      plan_.is_new = plan_.is_new && rolls.is_new;
    }
    if (moves_a_reduction()) return fail("a loop that moves a reduction would roll it");
    return std::move(plan_);
  }

 private:
  /// A loop that moves a window of `extent` over a dimension.
  struct Rolling {
    std::size_t dimension;
    LoopRV loop;
    std::int64_t extent;
    Expr is_new;
  };

  Refusal fail(std::string why) const {
    return {&rolling_pattern_is_found, {Argument(Ref(plan_.buffer)), Argument(why)}};
  }

  /// The uses of the buffer, and the innermost loop around them.
  std::optional<Refusal> collect(const ScopeUses& uses) {
    inner_ = schedule_.node(block_);
    for (const BufferUse& use : uses.all) {
      if (use.buffer != plan_.buffer.get()) continue;
      if (!use.is_block) return fail("a statement outside of blocks uses it");
      const BlockRV user = schedule_.block_at(use.place.node);
      const Block& block = schedule_.get(user);
      if (user == block_ && !use.is_write) continue;  // A reduction goes on with its own result.
      if (!accesses_elements(block, *plan_.buffer)) {
        return Refusal{&readers_read_elements, {Argument(Ref(plan_.buffer)), Argument(user)}};
      }
      inner_ = common_ancestor(schedule_, inner_, use.place.node);
      if (use.is_write) {
        written_ = &use;
      } else {
        reads_.push_back(&use);
        plan_.blocks.push_back(user);
      }
    }
    if (reads_.empty()) return Refusal{&block_has_consumers, {Argument(block_)}};
    while (schedule_.as<SeqStmt>(inner_)) inner_ = schedule_.at(inner_).parent;
    if (!is_done_in_an_iteration()) return fail("an iteration does not finish its reduction");
    for (NodeId node = schedule_.at(schedule_.node(block_)).parent;
         !schedule_.as<BlockRealize>(node) && !schedule_.as<PrimFunc>(node);
         node = schedule_.at(node).parent) {
      if (!schedule_.as<For>(node) && !schedule_.as<SeqStmt>(node)) {
        return fail("its block stands inside a statement that is no loop");
      }
    }
    return {};
  }

  /// True when no loop around the block and its consumers moves a reduction axis of the block.
  bool is_done_in_an_iteration() const {
    for (NodeId node = inner_; node != no_node && !schedule_.as<BlockRealize>(node);
         node = schedule_.at(node).parent) {
      const auto* loop = schedule_.as<For>(node);
      if (loop && moves_reduction_of(block_, loop->loop_var)) return false;
    }
    return true;
  }

  /// True when a rolling loop moves a reduction axis of a consumer, which could not stay one.
  bool moves_a_reduction() const {
    return std::ranges::any_of(plan_.loops, [&](LoopRV loop) {
      return std::ranges::any_of(plan_.blocks, [&](BlockRV user) {
        return moves_reduction_of(user, schedule_.get(loop).loop_var);
      });
    });
  }

  bool moves_reduction_of(BlockRV block, const Ptr<Var>& var) const {
    const BlockRealize& realize = schedule_.realize(block);
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      if (realize.block->iter_vars[i]->iter_type == IterType::comm_reduce &&
          uses_variable(realize.iter_values[i], var)) {
        return true;
      }
    }
    return false;
  }

  /// The loop that moves a window of `extent` over dimension d in smaller steps.
  std::optional<Rolling> rolling_over(const IndexForms& forms, const ElementBox& box, std::size_t d,
                                      std::int64_t extent) const {
    const auto start = forms.read(box[d].min);
    if (!start) return {};
    for (const IndexTerm& term : start->terms) {
      const auto loop = loop_of(term);
      if (!loop || term.coefficient < 1 || term.coefficient >= extent) continue;
      const For& rolling = schedule_.get(*loop);
      if (rolling.kind != ForKind::serial || !is_const_int(rolling.step, 1)) continue;
      if (!is_window_of(*loop, *start, box, d)) continue;
      // Where the block's element is in the window.
      const BlockRealize& realize = schedule_.realize(block_);
      IndexForms inside(ranges_around(schedule_, schedule_.node(block_)));
      for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
        inside.bind(realize.block->iter_vars[i]->var, realize.iter_values[i]);
      }
      const Range& part = *written_->region->region[d];
      const auto place = inside.read(part.min - box[d].min);
      if (!is_const_int(part.extent, 1) || !place) continue;
      const DataType type = part.min.dtype();
      return Rolling{d, *loop, extent,
                     rolling.loop_var < rolling.min + int_imm(rolling.loop_var->dtype, 1) ||
                         int_imm(type, extent - term.coefficient) <= inside.write(*place, type)};
    }
    return {};
  }

  std::optional<LoopRV> loop_of(const IndexTerm& term) const {
    if (term.kind != IndexTerm::Kind::variable) return {};
    for (NodeId node = inner_; node != no_node; node = schedule_.at(node).parent) {
      if (schedule_.as<BlockRealize>(node)) break;
      const auto* loop = schedule_.as<For>(node);
      if (loop && loop->loop_var.same_as(term.atom)) return schedule_.loop_at(node);
    }
    return {};
  }

  /// True when only the loop, and loops around it, move the window of dimension d, and the loop
  /// moves no other: then its last iteration has computed what the window had.
  bool is_window_of(LoopRV loop, const IndexForm& start, const ElementBox& box,
                    std::size_t d) const {
    const NodeId rolling = schedule_.node(loop);
    for (const IndexTerm& term : start.terms) {
      const auto other = loop_of(term);
      if (!other || !is_inside(schedule_, rolling, schedule_.node(*other))) return false;
    }
    const Ptr<Var>& var = schedule_.get(loop).loop_var;
    for (std::size_t i = 0; i < box.size(); ++i) {
      if (i == d) continue;
      for (const Expr& end : {box[i].min, box[i].max}) {
        if (!end.defined() || uses_variable(end, var)) return false;
      }
    }
    return true;
  }

  const Schedule& schedule_;
  const BlockRV block_;
  const BufferUse* written_ = nullptr;
  std::vector<const BufferUse*> reads_;
  NodeId inner_ = no_node;
  RollingBufferPlan plan_;
};

}  // namespace

Planned<RollingBufferPlan> plan_rolling_buffer(const Schedule& schedule,
                                               const RollingBufferArguments& arguments) {
  const BlockRV handle = arguments.block;
  const Block& block = schedule.get(handle);
  if (auto refusal = refuse_root(schedule, handle)) return *std::move(refusal);
  const auto count = static_cast<std::int64_t>(block.writes.size());
  if (arguments.write_buffer_index < 0 || arguments.write_buffer_index >= count) {
    return Refusal{&write_index_is_in_range,
                   {Argument(handle), Argument(count), Argument(arguments.write_buffer_index)}};
  }
  if (is_output_block(schedule, handle)) return Refusal{&block_is_no_output, {Argument(handle)}};
  const ScopeUses uses = uses_in_scope(schedule, scope_of(schedule, schedule.node(handle)));
  if (auto refusal = refuse_other_kinds(schedule, handle, uses)) return *std::move(refusal);
  const auto& written = block.writes[static_cast<std::size_t>(arguments.write_buffer_index)];
  return RollingPlanner(schedule, handle, written->buffer).find(uses);
}

Nothing commit_rolling_buffer(Schedule& schedule, RollingBufferPlan&& plan) {
  const Ptr<Buffer>& old = plan.buffer;
  std::vector<Expr> shape = old->shape;
  const Expr size = int_imm(shape[plan.dimension].dtype(), plan.extent);
  shape[plan.dimension] = size;
  const Ptr<Buffer> rolled =
      decl_buffer(std::move(shape), old->dtype, old->name, std::string(old->scope()));

  Rewriter rewrite;
  const auto moved = [&](auto access) {
    if (access.buffer.same_as(old)) {
      access.buffer = rolled;
      Expr& index = access.indices[plan.dimension];
      index = floormod(index, size);
    }
    return make(std::move(access));
  };
  rewrite.on<BufferLoad>(
      [&](const BufferLoad& node) -> Expr { return moved(BufferLoad(*rewrite.children(node))); });
  rewrite.on<BufferStore>(
      [&](const BufferStore& node) -> Stmt { return moved(BufferStore(*rewrite.children(node))); });
  rewrite.on<Block>([&](const Block& node) {
    Block block = *rewrite.children(node);
    AccessRegions regions = access_regions(block);
    block.reads = std::move(regions.reads);
    block.writes = std::move(regions.writes);
    return make(std::move(block));
  });

  const auto rolls = [&](const Expr& value) {
    return std::ranges::any_of(
        plan.loops, [&](LoopRV loop) { return uses_variable(value, schedule.get(loop).loop_var); });
  };
  const BlockRV scope = *block_around(schedule, schedule.node(plan.blocks[0]));
  for (const BlockRV handle : plan.blocks) {
    BlockRealize realize = schedule.realize(handle);
    const Ptr<Block> before = realize.block;
    Block block = *rewrite(before);
    for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
      if (!rolls(realize.iter_values[i])) continue;
      IterVar axis = *block.iter_vars[i];
      axis.iter_type = IterType::opaque;
      block.iter_vars[i] = make(std::move(axis));
    }
    realize.block = make(std::move(block));
    if (handle == plan.blocks[0]) realize.predicate = realize.predicate && plan.is_new;
    const Schedule::Renewed renewed{{before.get(), realize.block.get()}};
    schedule.replace(schedule.node(handle), make(std::move(realize)), renewed);
  }
  for (Ptr<Buffer>& allocated : schedule.edit(scope).alloc_buffers) {
    if (allocated.same_as(old)) allocated = rolled;
  }
  return {};
}

}  // namespace loopsmith
