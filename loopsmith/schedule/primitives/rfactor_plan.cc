// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/arith/trip_counts.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/reassociation.h"
#include "loopsmith/schedule/primitives/rfactor.h"
#include "loopsmith/schedule/primitives/rfactor_nests.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/queries/neutral_init.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

class RfactorPlanner {
 public:
  RfactorPlanner(const Schedule& schedule, BlockRV block, const RfactorArguments& arguments)
      : schedule_(schedule),
        arguments_(arguments),
        realize_(schedule.realize(block)),
        uses_(accesses_in_scope(schedule, scope_of(schedule, schedule.node(block)))) {
    plan_.block = block;
    plan_.loop = arguments.loop;
  }

  Planned<RfactorPlan> find() && {
    const NodeId node = schedule_.node(plan_.block);
    if (!block_around(schedule_, node)) {
      return Refusal{&block_is_not_root, {Argument(plan_.block)}};
    }
    const auto kinds = kinds_of(schedule_, plan_.block, uses_);
    const Stmt neutral = neutral_init_of(schedule_, plan_.block);
    if (!kinds.is_reduction_in_place() && !neutral) {
      return Refusal{&block_is_reduction,
                     {Argument(plan_.block), Argument(std::int64_t{kinds.breaks_reduction})}};
    }
    const For& loop = schedule_.get(plan_.loop);
    if (loop.kind != ForKind::serial) {
      const auto kind = EnumNames<ForKind>::names[static_cast<std::size_t>(loop.kind)];
      return Refusal{&loop_is_serial, {Argument(plan_.loop), Argument(kind)}};
    }
    if (!binds_axis(realize_, loop.loop_var, IterType::comm_reduce) ||
        binds_axis(realize_, loop.loop_var, IterType::data_par)) {
      return Refusal{&loop_is_of_reduction, {Argument(plan_.loop), Argument(plan_.block)}};
    }
    Block block = *realize_.block;
    if (neutral) block.init = neutral;
    auto reduction = reduction_of(block);
    if (!reduction) reduction = declared_reduction_of(block);
    if (!reduction) return Refusal{&reducer_is_known, {Argument(plan_.block)}};
    plan_.reduction = *std::move(reduction);
    // The block that combines the partial results has none of the axes but the loop's.
    if (std::ranges::any_of(plan_.reduction.indices,
                            [&](const Expr& index) { return uses_reduction_axis(index); })) {
      return Refusal{&loop_is_of_reduction, {Argument(plan_.loop), Argument(plan_.block)}};
    }
    const auto rank = static_cast<std::int64_t>(plan_.reduction.indices.size());
    const std::int64_t axis = arguments_.factor_axis;
    if (axis < -(rank + 1) || axis > rank) {
      return Refusal{
          &number_is_in_range,
          {Argument("factor_axis"), Argument(axis), Argument(-(rank + 1)), Argument(rank)}};
    }
    plan_.axis = static_cast<std::size_t>(axis < 0 ? axis + rank + 1 : axis);
    plan_.is_in_place = !kinds.is_reduction() && !neutral;
    plan_.path = plan_.is_in_place ? loops_of_reduction(node) : own_loops(node);
    if (auto refusal = check_nest()) return *std::move(refusal);
    if (auto refusal = refuse_later_part()) return *std::move(refusal);
    for (const Expr& condition : arith::conjuncts(realize_.predicate)) {
      if (auto refusal = restate(condition)) return *std::move(refusal);
    }
    plan_.reordered_reduction = rounding_reduction(schedule_, plan_.block);
    if (neutral) {
      // Of extremes, nothing is rounded.
      const bool rounds =
          plan_.reduction.buffers[0]->dtype.is_float() && neutral_of(plan_.reduction);
      if (rounds) plan_.reordered_reduction = Argument(plan_.block);
      if (auto refusal = refuse_parts()) return *std::move(refusal);
    }
    return std::move(plan_);
  }

 private:
  bool uses_reduction_axis(const Expr& index) const {
    return std::ranges::any_of(realize_.block->iter_vars, [&](const Ptr<IterVar>& axis) {
      return axis->iter_type == IterType::comm_reduce && uses_variable(index, axis->var);
    });
  }

  Refusal fail(std::string why) const {
    return {&nest_is_plain, {Argument(plan_.block), Argument(plan_.path[0]), Argument(why)}};
  }

  /// Lemma. Where the nest holds nothing but a block that reads nothing of what it updates, no
  /// access comes between its updates, and what they combine can be computed before all of them.
  std::optional<Refusal> refuse_parts() const {
    const auto reads_result = [&](const Expr& expr) {
      const auto read = free_buffers(expr);
      return std::ranges::any_of(read, [&](const auto& buffer) {
        return buffer->data.same_as(plan_.reduction.buffers[0]->data);
      });
    };
    const bool is_proved = is_alone_ && !uses_.is_dynamic() &&
                           std::ranges::none_of(plan_.reduction.sources, reads_result) &&
                           std::ranges::none_of(plan_.reduction.indices, reads_result);
    if (is_proved && !schedule_.verifies_quick_answers()) return {};
    auto refusal = refuse_updates_in_parts(schedule_, {plan_.block, plan_.path, plan_.dropped},
                                           plan_.reduction);
    if (!refusal || !is_proved) return refusal;
    check(!refusal->change->is_known, "quick_answers", "updates of block {} cannot be in parts",
          realize_.block->name_hint);
    return {};
  }

  /// The loops around the block; without those that it shares with what stands before it, with what
  /// changes its inputs, or with conditions, if these may stay around both new blocks.
  std::vector<LoopRV> own_loops(NodeId node) const {
    const auto all = loops_around(schedule_, node);
    std::vector<LoopRV> own;
    for (; own.size() < all.size(); node = schedule_.at(node).parent) {
      const NodeId parent = schedule_.at(node).parent;
      if (schedule_.as<IfThenElse>(parent) || schedule_.as<LetStmt>(parent)) break;
      if (schedule_.as<SeqStmt>(parent) &&
          (schedule_.at(node).slot != 0 || changes_inputs(node, parent))) {
        break;
      }
      if (schedule_.as<For>(parent)) own.insert(own.begin(), schedule_.loop_at(parent));
    }
    const auto shared = std::span(all).first(all.size() - own.size());
    const bool is_shared = std::ranges::any_of(shared, [&](LoopRV loop) {
      return binds_axis(realize_, schedule_.get(loop).loop_var, IterType::comm_reduce);
    });
    return is_shared || own.empty() ? std::vector<LoopRV>(all.begin(), all.end()) : own;
  }

  /// True when others in a sequence than its part `own` write what the block reads: then partial
  /// results of one iteration need what an earlier one wrote.
  bool changes_inputs(NodeId own, NodeId sequence) const {
    return uses_.has_foreign_calls || std::ranges::any_of(uses_.all, [&](const BufferAccess& use) {
             return use.is_write && is_inside(schedule_, use.place, sequence) &&
                    !is_inside(schedule_, use.place, own) &&
                    std::ranges::any_of(realize_.block->reads, [&](const auto& region) {
                      return region->buffer.get() == use.buffer;
                    });
           });
  }

  /// The outermost loop of the reduction and those inside it: around these, both new blocks stay
  /// together, as one instance may read the results of another.
  std::vector<LoopRV> loops_of_reduction(NodeId node) const {
    std::vector<LoopRV> own = loops_around(schedule_, node);
    const auto outermost = std::ranges::find_if(own, [&](LoopRV loop) {
      return binds_axis(realize_, schedule_.get(loop).loop_var, IterType::comm_reduce);
    });
    own.erase(own.begin(), outermost);
    return own;
  }

  std::optional<Refusal> check_nest() {
    const NodeId top = schedule_.node(plan_.path[0]);
    bool is_alone = true;  // Nothing but the block is inside.
    bool is_in_reduction = false;
    std::vector<std::pair<LoopRV, bool>> loops;
    for (NodeId node = schedule_.node(plan_.block); node != top;) {
      const NodeId parent = schedule_.at(node).parent;
      if (schedule_.as<SeqStmt>(parent)) {
        if (schedule_.at(node).slot != 0) return fail("something stands before it");
        is_alone = false;
      } else if (schedule_.as<For>(parent)) {
        loops.emplace_back(schedule_.loop_at(parent), is_alone);
      } else {
        return fail("it stands inside a statement that is no loop");
      }
      node = parent;
    }
    is_alone_ = is_alone;
    std::ranges::reverse(loops);
    for (const auto& [handle, alone] : loops) {
      const For& loop = schedule_.get(handle);
      const bool is_reduction = binds_axis(realize_, loop.loop_var, IterType::comm_reduce);
      const bool is_spatial = binds_axis(realize_, loop.loop_var, IterType::data_par);
      if (is_reduction && is_spatial) return fail("a loop is bound to axes of both kinds");
      if (is_reduction && !alone) return fail("others are in a loop of the reduction");
      if (!is_reduction && !is_spatial && is_in_reduction && !is_const_int(loop.extent, 1)) {
        return fail("a loop in the reduction is bound to no axis");
      }
      is_in_reduction = is_in_reduction || is_reduction;
      if (is_reduction && !is_const_int(loop.step, 1)) return fail("its loop has a step");
      if (is_reduction && handle != plan_.loop) plan_.dropped.push_back(handle);
    }
    // Both blocks have the loops for domains, in place of an axis that the loop divides: where
    // these are empty, they give their init.
    const Ptr<Var>& own = schedule_.get(plan_.loop).loop_var;
    std::vector<Expr> domains, kept_domains;
    for (std::size_t i = 0; i < realize_.iter_values.size(); ++i) {
      const IterVar& axis = *realize_.block->iter_vars[i];
      if (axis.iter_type != IterType::comm_reduce) continue;
      domains.push_back(axis.dom->extent);
      const Expr& value = realize_.iter_values[i];
      if (!uses_variable(value, own)) {
        kept_domains.push_back(axis.dom->extent);
        continue;
      }
      for (const LoopRV handle : plan_.path) {
        const For& loop = schedule_.get(handle);
        if (uses_variable(value, loop.loop_var)) kept_domains.push_back(loop.extent);
      }
    }
    for (const auto& [handle, alone] : loops) {
      const For& loop = schedule_.get(handle);
      if (binds_axis(realize_, loop.loop_var, IterType::comm_reduce) &&
          !(arith::runs_with(loop.extent, domains) &&
            arith::runs_with(loop.extent, kept_domains))) {
        return fail("a loop may be empty where there is something to reduce");
      }
    }
    // The partial results have a dimension as long as the loop, wherever it stands.
    const auto around = loops_around(schedule_, schedule_.node(plan_.block));
    for (const auto& [handle, alone] : loops) {
      const For& loop = schedule_.get(handle);
      if (!binds_axis(realize_, loop.loop_var, IterType::comm_reduce)) continue;
      const bool varies = std::ranges::any_of(around, [&](LoopRV other) {
        const Ptr<Var>& var = schedule_.get(other).loop_var;
        return uses_variable(loop.min, var) || uses_variable(loop.extent, var);
      });
      if (varies) return fail("bounds of the reduction depend on loops around it");
    }
    for (const LoopRV handle : plan_.path) {
      const For& loop = schedule_.get(handle);
      for (const LoopRV other : plan_.path) {
        const Ptr<Var>& var = schedule_.get(other).loop_var;
        if (!binds_axis(realize_, var, IterType::comm_reduce)) continue;
        if (uses_variable(loop.min, var) || uses_variable(loop.extent, var)) {
          return fail("bounds of its loops depend on the reduction");
        }
      }
    }
    return {};
  }

  /// A part of a reduction that another has started would start it anew.
  std::optional<Refusal> refuse_later_part() const {
    Substitution starts;
    for (const LoopRV handle : plan_.path) {
      const For& loop = schedule_.get(handle);
      starts[loop.loop_var] = loop.min;
    }
    Analyzer analyzer;
    for (std::size_t i = 0; i < realize_.iter_values.size(); ++i) {
      const IterVar& axis = *realize_.block->iter_vars[i];
      const Expr start = substitute(realize_.iter_values[i], starts);
      if (axis.iter_type == IterType::comm_reduce &&
          !analyzer.can_prove_equal(start, axis.dom->min)) {
        return fail("its reduction does not start at the first iteration");
      }
    }
    return {};
  }

  /// A condition as it is where the rest of the reduction starts. What it forbids there it must
  /// forbid in all that follows; of the loop itself, too, where partial results start from the
  /// init, as that may not have run else.
  std::optional<Refusal> restate(const Expr& condition) {
    if (is_mask(condition)) {
      plan_.masks.push_back(condition);
      return {};
    }
    std::vector<const For*> dropped;
    const auto drop_if_used = [&](LoopRV handle) {
      const For& loop = schedule_.get(handle);
      if (uses_variable(condition, loop.loop_var)) dropped.push_back(&loop);
    };
    std::ranges::for_each(plan_.dropped, drop_if_used);
    const bool has_parts_alone = dropped.empty();
    std::vector<Expr>& conditions = has_parts_alone ? plan_.conditions : plan_.start_conditions;
    if (has_parts_alone && uses_variable(condition, schedule_.get(plan_.loop).loop_var) &&
        may_have_nothing_to_reduce() && !holds_at_start(condition, true)) {
      return fail("its condition leaves partial results out, and there may be nothing to reduce");
    }
    if (!neutral_of(plan_.reduction)) drop_if_used(plan_.loop);
    if (dropped.empty()) {
      conditions.push_back(condition);
      return {};
    }
    IndexForms forms(ranges_around(schedule_, schedule_.at(schedule_.node(plan_.block)).parent));
    const auto* less = condition.as<LT>();
    const auto form = less ? forms.read(less->a - less->b) : std::nullopt;
    if (!form) return fail("its condition is no comparison by <");
    for (const For* loop : dropped) {
      for (const IndexTerm& term : form->terms) {
        const bool is_loop = term.atom.same_as(loop->loop_var);
        const bool is_rising = is_loop && term.coefficient > 0;
        if ((is_loop || uses_variable(term.atom, loop->loop_var)) && !is_rising) {
          return fail("its condition does not only bound the reduction's end");
        }
      }
      if (loop != &schedule_.get(plan_.loop)) forms.bind(loop->loop_var, loop->min);
    }
    if (has_parts_alone) {
      conditions.push_back(condition);
      return {};
    }
    const Expr first = forms.condition(condition);
    if (!is_const_int(first, 1)) conditions.push_back(first);
    return {};
  }

  /// True for a condition on the loop by which a size decides how many partial results there are:
  /// what reads them later does not know that number. Those beyond it may be neutral.
  bool is_mask(const Expr& condition) const {
    const auto around = loops_around(schedule_, schedule_.node(plan_.block));
    bool uses_loop = false, uses_size = false, has_axes = true;
    pre_order_visit(condition, [&](const Ref& ref) {
      has_axes = has_axes && !ref.is<BufferLoad>();
      const auto variable = Ptr<Var>::from(ref);
      if (!variable.defined()) return true;
      uses_loop = uses_loop || variable.same_as(schedule_.get(plan_.loop).loop_var);
      const bool is_loop = std::ranges::any_of(
          around, [&](LoopRV loop) { return schedule_.get(loop).loop_var.same_as(variable); });
      uses_size = uses_size || !is_loop;
      has_axes = has_axes && (!is_loop || is_axis_of_partial(variable));
      return true;
    });
    return uses_loop && uses_size && has_axes && holds_at_start(condition);
  }

  /// True when a loop of the partial results may have no iteration: they are what the init gives.
  bool may_have_nothing_to_reduce() const {
    return std::ranges::any_of(plan_.dropped, [&](LoopRV handle) {
      const std::int64_t* extent = as_int(schedule_.get(handle).extent);
      return !extent || *extent <= 0;
    });
  }

  /// True when the condition lets the reduction start, wherever there is something to reduce, or
  /// anywhere: else its init may not run, and that of the results would.
  bool holds_at_start(const Expr& condition, bool anywhere = false) const {
    Substitution first;
    for (const LoopRV each : loops_around(schedule_, schedule_.node(plan_.block))) {
      const For& loop = schedule_.get(each);
      if (arith::is_reduction_loop(realize_, loop.loop_var)) first[loop.loop_var] = loop.min;
    }
    Expr has_elements = int_imm(boolean, 1);
    for (const auto& axis : realize_.block->iter_vars) {
      if (axis->iter_type == IterType::comm_reduce && !anywhere) {
        const Expr& extent = axis->dom->extent;
        has_elements = has_elements && extent >= int_imm(extent.dtype(), 1);
      }
    }
    Analyzer analyzer;
    const auto scope = analyzer.constraint_scope(has_elements);
    return analyzer.can_prove(substitute(condition, first));
  }

  /// True when the block of partial results has an axis that is the variable.
  bool is_axis_of_partial(const Ptr<Var>& variable) const {
    const Ptr<Var>& own = schedule_.get(plan_.loop).loop_var;
    return variable.same_as(own) ||
           std::ranges::any_of(realize_.iter_values, [&](const Expr& each) {
             const bool is_divided = uses_variable(each, own);
             return is_divided ? uses_variable(each, variable) : each.same_as(variable);
           });
  }

  const Schedule& schedule_;
  const RfactorArguments& arguments_;
  const BlockRealize& realize_;
  const ScopeAccesses uses_;
  bool is_alone_ = false;  ///< Nothing but the block is in its nest.
  RfactorPlan plan_;
};

}  // namespace

Planned<RfactorPlan> plan_rfactor(const Schedule& schedule, const RfactorArguments& arguments) {
  const auto blocks = child_blocks(schedule, schedule.node(arguments.loop));
  if (blocks.size() != 1) {
    return Refusal{&nest_has_one_block,
                   {Argument(arguments.loop), Argument(static_cast<std::int64_t>(blocks.size()))}};
  }
  return RfactorPlanner(schedule, blocks[0], arguments).find();
}

}  // namespace loopsmith
