// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/version_loop.h"

#include <fmt/format.h>

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/iteration_costs.h"
#include "loopsmith/schedule/rewrites/iteration_dimension.h"
#include "loopsmith/schedule/rewrites/loop_parts.h"

namespace loopsmith {
namespace {

/// What iterations of a loop, from one to before another, add to a sum.
Expr added_up(const For& loop, const Expr& sum, const Expr& first, const Expr& end) {
  const auto sum_at = [&](const Expr& iteration) {
    const Expr value = loop.min + cast(loop.loop_var->dtype, iteration) * loop.step;
    return cast(i64, substitute(sum, {{loop.loop_var, value}}));
  };
  return sum_at(end) - sum_at(first);
}

/// Whether all iterations of the loop together run one inside of it, of rows of that extent, so
/// often. Reads nothing where the loop does not run; null where no sum tells.
Expr has_in_all(const For& loop, const Expr& extent, std::int64_t least) {
  const std::vector<Expr> extents = differing_extents(loop);
  const bool is_known = std::ranges::any_of(
      extents, [&](const Expr& each) { return structural_equal(each, extent); });
  const Expr sum = is_known ? sum_of_extents(extent, loop) : Expr();
  if (!sum.defined()) return {};
  const Expr zero = int_imm(loop.extent.dtype(), 0);
  const Expr all = Analyzer().simplify(added_up(loop, sum, zero, loop.extent));
  return if_then_else(loop.extent > zero, all >= int_imm(i64, least), int_imm(boolean, 0));
}

/// Whether parts of equal length, whose work `sum` tells, have unequal work. Reads nothing where
/// the loop does not run.
Expr is_uneven(const For& loop, const Expr& sum) {
  constexpr std::int64_t parts = 8;
  const DataType type = loop.extent.dtype();
  const auto start_of = [&](std::int64_t part) -> Expr {
    if (part == parts) return loop.extent;
    return floordiv(loop.extent, int_imm(type, parts)) * int_imm(type, part);
  };
  const auto work = [&](const Expr& first, const Expr& end) {
    return added_up(loop, sum, first, end) + cast(i64, end - first);
  };
  const Expr all = work(int_imm(type, 0), loop.extent);
  Expr found = int_imm(boolean, 0);
  for (std::int64_t part = 0; part < parts; ++part) {
    const Expr own = work(start_of(part), start_of(part + 1));
    found = found || own * int_imm(i64, 4 * parts) > all * int_imm(i64, 5);
  }
  return if_then_else(loop.extent > int_imm(type, 0), Analyzer().simplify(found),
                      int_imm(boolean, 0));
}

}  // namespace

Planned<VersionLoopPlan> plan_version_loop(const Schedule& schedule,
                                           const VersionLoopArguments& arguments) {
  const auto& [loops, least, uneven] = arguments;
  if (loops.empty() || loops.size() != least.size()) {
    const auto count = [](std::size_t size) { return Argument(static_cast<std::int64_t>(size)); };
    return Refusal{&loops_have_least_numbers, {count(loops.size()), count(least.size())}};
  }
  const NodeId outermost = schedule.node(loops[0]), around = schedule.at(outermost).parent;
  VersionLoopPlan plan{loops[0], true};
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (auto refusal = refuse_unless_plain(schedule, loops[i])) return *std::move(refusal);
    if (auto refusal = refuse_unless_bounds_stay(schedule, loops[i])) return *std::move(refusal);
    const NodeId node = schedule.node(loops[i]);
    if (i > 0 && !is_inside(schedule, node, outermost)) {
      return Refusal{&loop_is_around_loop, {Argument(loops[0]), Argument(loops[i])}};
    }
    const Expr& extent = schedule.get(loops[i]).extent;
    if (is_known_at(schedule, around, node, extent)) {
      plan.condition = plan.condition && extent >= int_imm(extent.dtype(), least[i]);
    } else if (const Expr enough = has_in_all(schedule.get(loops[0]), extent, least[i]);
               enough.defined()) {
      plan.condition = plan.condition && enough;
    } else {
      const std::string place = fmt::format("before loop {} starts", schedule.name(loops[0]));
      return Refusal{&bounds_are_known, {Argument(loops[i]), Argument(place)}};
    }
  }
  if (uneven) {
    const For& loop = schedule.get(loops[0]);
    const std::vector<Expr> extents = differing_extents(loop);
    const Expr sum = extents.size() == 1 ? sum_of_extents(extents[0], loop) : Expr();
    if (!sum.defined()) return Refusal{&rows_follow_each_other, {Argument(loops[0])}};
    plan.condition = plan.condition && is_uneven(loop, sum);
  }
  return plan;
}

Handles<LoopRV> commit_version_loop(Schedule& schedule, VersionLoopPlan&& plan) {
  const For loop = schedule.get(plan.loop);
  const NodeId node = schedule.node(plan.loop);
  const std::uint32_t function = schedule.function_of(node);
  const SpanScope span(schedule.span_from(loop.span));
  const auto buffers = buffers_by_pointer(*schedule.as<PrimFunc>(schedule.root(function)));
  For other = loop;
  other.loop_var =
      var(schedule.fresh_loop_name(function, loop.loop_var->name + "_1"), loop.loop_var->dtype);
  other.body = clone_with(body_of_part(schedule, function, loop.body, {}, "_1", buffers),
                          {{loop.loop_var, other.loop_var}});
  const Ptr<Var> variables[] = {loop.loop_var, other.loop_var};
  schedule.replace(node, make(IfThenElse{.condition = std::move(plan.condition),
                                         .then_case = make(For(loop)),
                                         .else_case = make(std::move(other))}));
  return loops_of_vars(schedule, function, variables);
}

}  // namespace loopsmith
