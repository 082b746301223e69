// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/produced_region.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"

namespace loopsmith {

std::optional<std::int64_t> reach_of(std::vector<RadixTerm> digits, std::int64_t width,
                                     bool exact) {
  std::ranges::sort(digits, {}, &RadixTerm::weight);
  __int128 reach = width;
  for (const auto& [weight, count] : digits) {
    if (count == 1) continue;
    if (weight > reach || (exact && weight != reach)) return {};
    reach += static_cast<__int128>(weight) * (count - 1);
    if (reach > INT64_MAX) return {};
  }
  return static_cast<std::int64_t>(reach);
}

namespace {

/// The conditions of a block that use loops inside of `loop`: its predicate, and the `if`s there.
std::vector<Expr> conditions_inside(const Schedule& schedule, NodeId block, LoopRV loop,
                                    const std::vector<const For*>& inner) {
  std::vector<Expr> all = arith::conjuncts(schedule.as<BlockRealize>(block)->predicate);
  NodeId below = block;
  for (NodeId node = schedule.at(block).parent; node != schedule.node(loop);
       below = node, node = schedule.at(node).parent) {
    if (const auto* branch = schedule.as<IfThenElse>(node)) {
      const bool is_then = schedule.at(below).slot == 0;
      for (Expr& part : arith::conjuncts(is_then ? branch->condition : !branch->condition)) {
        all.push_back(std::move(part));
      }
    }
  }
  std::erase_if(all, [&](const Expr& condition) {
    return std::ranges::none_of(
        inner, [&](const For* around) { return uses_variable(condition, around->loop_var); });
  });
  return all;
}

/// True when a block's conditions inside of a loop leave out nothing but what lies beyond the
/// domains of its axes: they hold for all values of the loops whose axes are in their domains.
bool leaves_out_nothing(const Schedule& schedule, NodeId block, LoopRV loop,
                        const std::vector<const For*>& inner) {
  const std::vector<Expr> conditions = conditions_inside(schedule, block, loop, inner);
  if (conditions.empty()) return true;
  const BlockRealize& realize = *schedule.as<BlockRealize>(block);
  Analyzer analyzer;
  for (NodeId node = block; node != no_node; node = schedule.at(node).parent) {
    const auto* around = schedule.as<For>(node);
    if (!around || !is_const_int(around->step, 1)) continue;
    analyzer.bind_range(around->loop_var, around->min, around->extent);
  }
  Expr in_domains = true;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const Range& domain = *realize.block->iter_vars[i]->dom;
    const Expr& value = realize.iter_values[i];
    in_domains = in_domains && value >= domain.min && value < domain.min + domain.extent;
  }
  const auto scope = analyzer.constraint_scope(in_domains);
  return std::ranges::all_of(conditions,
                             [&](const Expr& condition) { return analyzer.can_prove(condition); });
}

}  // namespace

bool finishes_in_an_iteration(const Schedule& schedule, const BufferAccess& use, LoopRV loop,
                              const ScopeAccesses& uses) {
  if (!use.is_block || use.by_view) return false;
  const BlockRV producer = schedule.block_at(use.place.node);
  const BlockKinds kinds = kinds_of(schedule, producer, uses);
  if (!kinds.is_complete() && !kinds.is_reduction()) return false;
  if (!instances_of(schedule, producer).unknown.empty()) return false;

  const BlockRealize& realize = schedule.realize(producer);
  IndexForms forms(ranges_around(schedule, use.place.node));
  std::vector<const For*> inner;
  for (NodeId node = use.place.node; node != schedule.node(loop); node = schedule.at(node).parent) {
    if (const auto* around = schedule.as<For>(node)) inner.push_back(around);
  }
  if (!leaves_out_nothing(schedule, use.place.node, loop, inner)) return false;
  // What lies beyond the domain of an axis is no other element as long as no other axis moves the
  // same index.
  const bool leaves_out_some = !conditions_inside(schedule, use.place.node, loop, inner).empty();
  const auto axes_of = [&](const Expr& index) {
    return std::ranges::count_if(realize.block->iter_vars, [&](const Ptr<IterVar>& axis) {
      return uses_variable(index, axis->var);
    });
  };
  if (leaves_out_some && std::ranges::any_of(use.region->region, [&](const Ptr<Range>& part) {
        return axes_of(part->min) > 1;
      })) {
    return false;
  }
  const auto inner_loop = [&](const Object* var) {
    const auto found = std::ranges::find_if(
        inner, [&](const For* around) { return around->loop_var.get() == var; });
    return found == inner.end() ? nullptr : *found;
  };
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const IterVar& axis = *realize.block->iter_vars[i];
    forms.bind(axis.var, realize.iter_values[i]);
    if (axis.iter_type != IterType::comm_reduce) continue;
    for (const auto& variable : free_variables(realize.iter_values[i])) {
      if (!inner_loop(variable.get())) return false;
    }
  }
  std::vector<const Object*> used;
  for (const auto& part : use.region->region) {
    const auto form = forms.read(part->min);
    const auto* width = part->extent.as<IntImm>();
    if (!form || !width) return false;
    std::vector<RadixTerm> digits;
    for (const IndexTerm& term : form->terms) {
      const bool is_variable = term.kind == IndexTerm::Kind::variable;
      if (!is_variable) {
        if (any_variable(term, [&](const Object* v) { return inner_loop(v) != nullptr; })) {
          return false;
        }
        continue;
      }
      const For* around = inner_loop(term.atom.get());
      if (!around) continue;
      if (std::ranges::find(used, term.atom.get()) != used.end()) return false;
      used.push_back(term.atom.get());
      const bool is_alone = form->terms.size() == 1 && std::abs(term.coefficient) == 1;
      if (!is_const_int(around->step, 1)) return false;
      if (is_alone) continue;
      if (!term.is_bounded) return false;
      digits.push_back({std::abs(term.coefficient), term.max - term.min + 1});
    }
    if (!reach_of(std::move(digits), width->value, false)) return false;
  }
  return true;
}

}  // namespace loopsmith
