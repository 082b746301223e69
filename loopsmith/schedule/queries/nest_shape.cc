// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/nest_shape.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/relax.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/early_bounds.h"
#include "loopsmith/schedule/queries/index_form.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/queries/reduction_start.h"

namespace loopsmith {
namespace {

/// The guards between a loop and the next one of its band, outermost first; nullopt when there is
/// more.
std::optional<std::vector<NodeId>> guards_between(const Schedule& schedule, LoopRV outer,
                                                  LoopRV inner) {
  std::vector<NodeId> guards;
  const NodeId top = schedule.node(outer);
  for (NodeId node = schedule.at(schedule.node(inner)).parent; node != top;
       node = schedule.at(node).parent) {
    const auto* guard = schedule.as<IfThenElse>(node);
    if (!guard || guard->else_case || reads_memory(guard->condition)) return {};
    guards.insert(guards.begin(), node);
  }
  return guards;
}

/// What a loop runs through, as far as that is known.
std::optional<arith::Interval> values_of(const For& loop) {
  if (!is_const_int(loop.step, 1)) return {};
  return arith::Interval{loop.min, loop.min + loop.extent - int_imm(loop.min.dtype(), 1)};
}

bool uses(const For& loop, const Ptr<Var>& var) {
  const auto in = [&](const Expr& bound) {
    return !bound.is<IntImm>() && uses_variable(bound, var);
  };
  return in(loop.min) || in(loop.extent) || in(loop.step);
}

/// Bounds of the loop that hold for all values of others; null where none are known.
std::optional<LoopBounds> hull_of(const For& loop, const std::vector<const For*>& inner) {
  Analyzer analyzer;
  auto all = values_of(loop);
  arith::Intervals ranges;
  for (const For* other : inner) ranges[other->loop_var] = values_of(*other);
  const auto is_free = [&](const Expr& end) {
    return std::ranges::none_of(
        inner, [&](const For* other) { return uses_variable(end, other->loop_var); });
  };
  // The ends of one loop may be in terms of another.
  for (std::size_t round = 0; all && round <= inner.size(); ++round) {
    all = arith::Interval{analyzer.simplify(all->min), analyzer.simplify(all->max)};
    if (is_free(all->min) && is_free(all->max)) {
      const Expr one = int_imm(all->min.dtype(), 1);
      return LoopBounds{all->min, analyzer.simplify(all->max - all->min + one)};
    }
    const auto low = arith::relax(all->min, ranges);
    const auto high = arith::relax(all->max, ranges);
    if (!low || !high || !low->min.defined() || !high->max.defined()) break;
    all = arith::Interval{low->min, high->max};
  }
  return {};
}

/// That a loop with bounds around its own is where it was.
Expr guard_within(const For& loop, const LoopBounds& hull) {
  Analyzer analyzer;
  const Expr end = analyzer.simplify(loop.min + loop.extent);
  Expr guard = true;
  if (!analyzer.can_prove_equal(loop.min, hull.min)) guard = guard && loop.min <= loop.loop_var;
  if (!analyzer.can_prove_equal(end, hull.min + hull.extent)) guard = guard && loop.loop_var < end;
  return guard;
}

}  // namespace

std::optional<NestShape> shape_for(const Schedule& schedule, std::span<const LoopRV> band,
                                   std::span<const std::size_t> order, NestObstacle& why) {
  NestShape shape{std::vector<std::optional<LoopBounds>>(band.size())};
  const auto loop_at = [&](std::size_t place) -> const For& { return schedule.get(band[place]); };
  Expr all;  // What the old loops and guards say of the innermost body.
  const auto ask = [](Expr& guard, const Expr& condition) {
    guard = guard.defined() ? guard && condition : condition;
  };
  for (std::size_t i = 0; i + 1 < band.size(); ++i) {
    const auto guards = guards_between(schedule, band[i], band[i + 1]);
    why = {i, i};
    if (!guards) return {};
    if (guards->empty()) continue;
    shape.has_guards = true;
    for (const NodeId guard : *guards) ask(all, schedule.as<IfThenElse>(guard)->condition);
    for (std::size_t k = i + 1; k < band.size(); ++k) {
      const For& inner = loop_at(k);
      if (!has_value_always(inner.min) || !has_value_always(inner.extent)) return {};
    }
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const For& loop = loop_at(order[i]);
    std::vector<const For*> inner;
    for (std::size_t k = i + 1; k < order.size(); ++k) {
      if (order[k] < order[i]) inner.push_back(&loop_at(order[k]));
    }
    const auto read =
        std::ranges::find_if(inner, [&](const For* other) { return uses(loop, other->loop_var); });
    if (read == inner.end()) continue;
    for (std::size_t k = i + 1; k < order.size(); ++k) {
      if (&loop_at(order[k]) == *read) why = {order[i], order[k]};
    }
    if (!has_value_always(loop.min) || !has_value_always(loop.extent)) return {};
    shape.bounds[order[i]] = hull_of(loop, inner);
    if (!shape.bounds[order[i]]) return {};
    ask(shape.guard, guard_within(loop, *shape.bounds[order[i]]));
    ask(all, loop.min <= loop.loop_var && loop.loop_var < loop.min + loop.extent);
  }
  if (all.defined() && !guard_keeps_starts(schedule, band.back(), all)) return {};
  return shape;
}

void take_shape(Schedule& schedule, std::span<const LoopRV> band, const NestShape& shape) {
  Expr guard = shape.guard;
  for (std::size_t i = 0; i + 1 < band.size(); ++i) {
    const NodeId top = schedule.node(band[i]);
    const NodeId below = child_towards(schedule, schedule.node(band[i + 1]), top);
    if (schedule.as<For>(below)) continue;
    Stmt inside = schedule.statement(below);
    while (const auto* branch = inside.as<IfThenElse>()) {
      guard = guard.defined() ? guard && branch->condition : Expr(branch->condition);
      inside = Stmt(branch->then_case);
    }
    schedule.replace(below, inside);
  }
  for (std::size_t i = 0; i < band.size(); ++i) {
    if (!shape.bounds[i]) continue;
    For& loop = schedule.edit(band[i]);
    loop.min = shape.bounds[i]->min;
    loop.extent = shape.bounds[i]->extent;
  }
  if (guard.defined()) substitute_in_body(schedule, band.back(), IndexForms(), guard);
}

namespace {

/// Narrows the innermost loop in a condition, if that says where it starts or ends.
bool narrow_by_one(const Expr& condition, std::vector<For>& loops) {
  Expr distance;  // Not negative where the condition holds.
  if (const auto* less = condition.as<LT>()) {
    distance = less->b - less->a - int_imm(less->a.dtype(), 1);
  } else if (const auto* least = condition.as<LE>()) {
    distance = least->b - least->a;
  } else {
    return false;
  }
  const IndexForms forms;
  auto rest = forms.read(distance);
  const auto inner = std::find_if(loops.rbegin(), loops.rend(), [&](const For& loop) {
    return uses_variable(distance, loop.loop_var);
  });
  if (!rest || inner == loops.rend() || !is_const_int(inner->step, 1)) return false;
  const auto own = std::ranges::find_if(rest->terms, [&](const IndexTerm& term) {
    return term.atom.same_as(inner->loop_var) && std::abs(term.coefficient) == 1;
  });
  if (own == rest->terms.end()) return false;
  const bool is_lower = own->coefficient > 0;
  rest->terms.erase(own);
  const DataType type = inner->loop_var->dtype;
  const Expr others = forms.write(*rest, type);
  if (uses_variable(others, inner->loop_var)) return false;

  Analyzer analyzer;
  for (const For& loop : loops) {
    if (&loop == &*inner) break;
    if (is_const_int(loop.step, 1)) analyzer.bind_range(loop.loop_var, loop.min, loop.extent, true);
  }
  const Expr one = int_imm(type, 1), zero = int_imm(type, 0);
  const Expr end = inner->min + inner->extent;
  inner->min = analyzer.simplify(is_lower ? max(inner->min, zero - others) : inner->min);
  inner->extent = analyzer.simplify((is_lower ? end : min(end, others + one)) - inner->min);
  if (!analyzer.can_prove(inner->extent >= zero, ProofStrength::symbolic_bound)) {
    inner->extent = max(inner->extent, zero);
  }
  return true;
}

}  // namespace

Expr narrow_by(const Expr& guard, std::vector<For>& loops) {
  Expr rest;
  for (const Expr& part : arith::conjuncts(guard)) {
    if (narrow_by_one(part, loops)) continue;
    rest = rest.defined() ? rest && part : part;
  }
  return rest;
}

}  // namespace loopsmith
