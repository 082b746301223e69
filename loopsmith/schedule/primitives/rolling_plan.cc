// SPDX-License-Identifier: Apache-2.0
// Which loops roll a buffer, and over how much of it.
#include <algorithm>

#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/quick_answers.h"
#include "loopsmith/schedule/primitives/ring_plan.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/rewrites/required_instances.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

class RollingPlanner {
 public:
  RollingPlanner(const Schedule& schedule, BlockRV block, Ptr<Buffer> buffer)
      : schedule_(schedule), block_(block) {
    plan_.buffer = std::move(buffer);
    plan_.blocks.push_back(block);
  }

  Planned<RollingBufferPlan> find(const ScopeAccesses& uses) && {
    breaks_kinds_ = refuse_other_kinds(schedule_, block_, uses);
    auto found = find_loops(uses);
    if (breaks_kinds_ && std::holds_alternative<Refusal>(found)) return *std::move(breaks_kinds_);
    return found;
  }

 private:
  Planned<RollingBufferPlan> find_loops(const ScopeAccesses& uses) {
    if (auto refusal = collect(uses)) return *std::move(refusal);
    if (!schedule_.as<For>(inner_)) return fail("no loop is around the block and its consumers");
    const IndexForms forms(ranges_around(schedule_, inner_));
    const LoopRV inner = schedule_.loop_at(inner_);
    const ElementRegion box = accessed_region(schedule_, *written_, inner, MemoryScope::local);
    std::vector<Rolling> rolling;
    bool reads_more = false;
    for (std::size_t d = 0; d < box.size(); ++d) {
      const auto width = constant_difference(forms, box[d].max, box[d].min);
      auto rolls = width && !breaks_kinds_ ? rolling_over(forms, box, d, *width + 1) : std::nullopt;
      const bool suffices = std::ranges::all_of(reads_, [&](const BufferAccess* read) {
        const ElementRegion used = accessed_region(schedule_, *read, inner, MemoryScope::local);
        const auto before = constant_difference(forms, used[d].min, box[d].min);
        const auto after = constant_difference(forms, box[d].max, used[d].max);
        return before && after && *before >= 0 && *after >= 0;
      });
      reads_more = reads_more || (rolls && !suffices);
      if (!rolls || !suffices) rolls = lagging_over(d);
      if (rolls) rolling.push_back(*std::move(rolls));
    }
    if (rolling.empty()) {
      return fail(reads_more ? "consumers read more than an iteration computes"
                             : "no serial loop moves a window over it in overlapping steps");
    }
    // What an outer loop keeps lasts while those inside it run; not the other way round.
    std::ranges::sort(rolling, [&](const Rolling& a, const Rolling& b) {
      return a.loops[0] != b.loops[0] &&
             is_inside(schedule_, schedule_.node(b.loops[0]), schedule_.node(a.loops[0]));
    });
    plan_.sides.push_back({rolling[0].dimension, rolling[0].extent});
    plan_.is_new = true;
    for (const Rolling& rolls : rolling) {
      plan_.loops.insert(plan_.loops.end(), rolls.loops.begin(), rolls.loops.end());
      plan_.is_new = plan_.is_new && rolls.is_new;
    }
    if (moves_a_reduction()) return fail("a loop that moves a reduction would roll it");
    std::vector<WindowLoops> windows;
    for (const Rolling& rolls : rolling) windows.push_back({rolls.loops, rolls.lags});
    const bool is_proved = computes_alike(schedule_, block_, *written_, windows, uses);
    if (!is_proved || schedule_.verifies_quick_answers()) {
      const NodeId scope = scope_of(schedule_, schedule_.node(block_));
      if (auto refusal = refuse_ring(schedule_, {scope, is_proved}, plan_))
        return *std::move(refusal);
    }
    return std::move(plan_);
  }

  /// Loops, outermost first, that move a window of `extent` over a dimension.
  struct Rolling {
    std::size_t dimension;
    std::vector<LoopRV> loops;
    std::int64_t extent;
    Expr is_new;
    bool lags = false;  ///< Consumers read what iterations before have computed.
  };

  Refusal fail(std::string why) const {
    return {&rolling_pattern_is_found, {Argument(Ref(plan_.buffer)), Argument(why)}};
  }

  /// The uses of the buffer, and the innermost loop around them.
  std::optional<Refusal> collect(const ScopeAccesses& uses) {
    inner_ = schedule_.node(block_);
    for (const BufferAccess& use : uses.all) {
      if (use.buffer != plan_.buffer.get()) continue;
      if (!use.is_block) return fail("a statement outside of blocks uses it");
      const BlockRV user = schedule_.block_at(use.place.node);
      const Block& block = schedule_.get(user);
      // A reduction goes on with its own result. What else does, or has another writer, is refused.
      if (user == block_ && !use.is_write && !breaks_kinds_) continue;
      if (breaks_kinds_ && (user == block_) != use.is_write) return breaks_kinds_;
      if (!accesses_elements(block, *plan_.buffer)) {
        return Refusal{&readers_read_elements, {Argument(Ref(plan_.buffer)), Argument(user)}};
      }
      inner_ = common_ancestor(schedule_, inner_, use.place.node);
      if (use.is_write) {
        written_ = &use;
      } else if (!is_before(schedule_, schedule_.node(block_), use.place.node)) {
        return fail("a consumer stands before its block");
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
      if (!schedule_.as<For>(node) && !schedule_.as<SeqStmt>(node) &&
          !schedule_.as<AssertStmt>(node)) {
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
  std::optional<Rolling> rolling_over(const IndexForms& forms, const ElementRegion& box,
                                      std::size_t d, std::int64_t extent) const {
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
      return Rolling{d,
                     {*loop},
                     extent,
                     rolling.loop_var < rolling.min + int_imm(rolling.loop_var->dtype, 1) ||
                         int_imm(type, extent - term.coefficient) <= inside.write(*place, type)};
    }
    return {};
  }

  /// The innermost loops that move a window over dimension d and compute nothing twice, while
  /// consumers read what iterations before have computed: stencils that lag behind.
  std::optional<Rolling> lagging_over(std::size_t d) const {
    for (NodeId node = inner_; !schedule_.as<BlockRealize>(node) && !schedule_.as<PrimFunc>(node);
         node = schedule_.at(node).parent) {
      if (!schedule_.as<For>(node)) continue;
      if (auto rolls = lagging_in(schedule_.loop_at(node), d)) return rolls;
    }
    return {};
  }

  std::optional<Rolling> lagging_in(LoopRV loop, std::size_t d) const {
    const IndexForms forms(ranges_around(schedule_, schedule_.node(loop)));
    const ElementRegion box = accessed_region(schedule_, *written_, loop, MemoryScope::local);
    const auto width = constant_difference(forms, box[d].max, box[d].min);
    const auto start = width ? forms.read(box[d].min) : std::nullopt;
    if (!start) return {};
    Rolling rolls{d, {}, *width + 1, true, true};
    const auto first = first_of_movers(loop, *start, rolls);
    if (!first) return {};
    for (std::size_t i = 0; i < box.size(); ++i) {
      for (const LoopRV mover : rolls.loops) {
        const Ptr<Var>& var = schedule_.get(mover).loop_var;
        for (const Expr& end : {box[i].min, box[i].max}) {
          if (i != d && (!end.defined() || uses_variable(end, var))) return {};
        }
      }
    }
    std::int64_t lag = 0;
    for (const BufferAccess* read : reads_) {
      const auto behind = lag_of(*read, loop, box, d, *first);
      if (!behind) return {};
      lag = std::max(lag, *behind);
    }
    rolls.extent += lag;
    return lag > 0 ? std::optional(std::move(rolls)) : std::nullopt;
  }

  /// Finds the loops, `inner` and some around it, that together move a window, one step after the
  /// other, by its width; returns where the first of them starts.
  std::optional<std::int64_t> first_of_movers(LoopRV inner, const IndexForm& start,
                                              Rolling& rolls) const {
    std::int64_t first = start.constant, step = rolls.extent;
    for (NodeId node = schedule_.node(inner); rolls.loops.size() < start.terms.size();
         node = schedule_.at(node).parent) {
      if (schedule_.as<BlockRealize>(node) || schedule_.as<PrimFunc>(node)) return {};
      const auto* loop = schedule_.as<For>(node);
      if (!loop || is_const_int(loop->extent, 1)) continue;
      const auto term = std::ranges::find_if(
          start.terms, [&](const IndexTerm& each) { return each.atom.same_as(loop->loop_var); });
      const std::int64_t *min = as_int(loop->min), *extent = as_int(loop->extent);
      if (term == start.terms.end() || term->coefficient != step || !min || !extent ||
          loop->kind != ForKind::serial || !is_const_int(loop->step, 1)) {
        return {};
      }
      std::int64_t offset = 0;
      if (__builtin_mul_overflow(step, *min, &offset) ||
          __builtin_add_overflow(first, offset, &first) ||
          __builtin_mul_overflow(step, *extent, &step)) {
        return {};
      }
      rolls.loops.insert(rolls.loops.begin(), schedule_.loop_at(node));
    }
    return rolls.loops.empty() ? std::nullopt : std::optional(first);
  }

  /// How far a use lags behind the window `box` of dimension d; nullopt where it may read what
  /// the loops have not computed since they started with `first`.
  std::optional<std::int64_t> lag_of(const BufferAccess& read, LoopRV loop,
                                     const ElementRegion& box, std::size_t d,
                                     std::int64_t first) const {
    const IndexForms forms(ranges_around(schedule_, schedule_.node(loop)));
    const IndexForms axes = forms_of_axes(schedule_.get(schedule_.block_at(read.place.node)));
    const ElementRegion used = accessed_region(schedule_, read, loop, MemoryScope::local);
    constexpr std::pair unbounded{INT64_MIN, INT64_MAX};
    std::int64_t lag = 0;
    for (std::size_t i = 0; i < box.size(); ++i) {
      const auto before = constant_difference(forms, used[i].min, box[i].min);
      const auto after = constant_difference(forms, box[i].max, used[i].max);
      const Range& region = *read.region->region[i];
      const auto low = axes.read(region.min), high = axes.read(region.min + region.extent);
      const auto least = low ? low->range().value_or(unbounded).first : unbounded.first;
      const auto end = high ? high->range().value_or(unbounded).second : unbounded.second;
      if (i == d) {
        if (!before || !after || *after < 0 || least < first) return {};
        lag = std::max(lag, -*before);
        continue;
      }
      const std::int64_t *min = as_int(box[i].min), *max = as_int(box[i].max);
      const bool starts = (before && *before >= 0) || (min && *min <= least);
      const bool ends = (after && *after >= 0) || (max && end <= *max + 1);
      if (!starts || !ends) return {};
    }
    return lag;
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
  bool is_window_of(LoopRV loop, const IndexForm& start, const ElementRegion& box,
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
  const BufferAccess* written_ = nullptr;
  std::vector<const BufferAccess*> reads_;
  NodeId inner_ = no_node;
  /// Of a block that is neither complete nor a reduction: it may compute something else each time,
  /// so that nothing is left out.
  std::optional<Refusal> breaks_kinds_;
  RollingBufferPlan plan_;
};

}  // namespace

std::optional<std::int64_t> constant_difference(const IndexForms& forms, const Expr& a,
                                                const Expr& b) {
  if (!a.defined() || !b.defined()) return {};
  const auto form = forms.read(a - b);
  return form && form->terms.empty() ? std::optional(form->constant) : std::nullopt;
}

std::variant<Ptr<Buffer>, Refusal> buffer_to_roll(const Schedule& schedule, BlockRV handle,
                                                  std::int64_t write_buffer_index) {
  const Block& block = schedule.get(handle);
  if (auto refusal = refuse_root(schedule, handle)) return *std::move(refusal);
  const auto count = static_cast<std::int64_t>(block.writes.size());
  if (write_buffer_index < 0 || write_buffer_index >= count) {
    return Refusal{&number_is_in_range,
                   {Argument("write_buffer_index"), Argument(write_buffer_index), Argument(0),
                    Argument(count - 1)}};
  }
  if (is_output_block(schedule, handle)) return Refusal{&block_is_no_output, {Argument(handle)}};
  return block.writes[static_cast<std::size_t>(write_buffer_index)]->buffer;
}

Planned<RollingBufferPlan> plan_rolling_buffer(const Schedule& schedule,
                                               const RollingBufferArguments& arguments) {
  const BlockRV handle = arguments.block;
  auto written = buffer_to_roll(schedule, handle, arguments.write_buffer_index);
  if (auto* refusal = std::get_if<Refusal>(&written)) return std::move(*refusal);
  const Ptr<Buffer> buffer = std::get<Ptr<Buffer>>(std::move(written));
  const ScopeAccesses uses = accesses_in_scope(schedule, scope_of(schedule, schedule.node(handle)));
  auto plan = RollingPlanner(schedule, handle, buffer).find(uses);
  if (std::holds_alternative<RollingBufferPlan>(plan)) return plan;
  // What has no such form may keep results all the same.
  auto ring = plan_ring(schedule, handle, {}, buffer);
  return std::holds_alternative<RollingBufferPlan>(ring) ? std::move(ring) : std::move(plan);
}

}  // namespace loopsmith
