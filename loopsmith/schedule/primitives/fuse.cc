// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/fuse.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/dependence_cache.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/empty_reductions.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/queries/path_condition.h"

namespace loopsmith {
namespace {

Argument kind_name(const For& loop) {
  return Argument(EnumNames<ForKind>::names[static_cast<std::size_t>(loop.kind)]);
}

/// The order in which loops take bounds that do not read each other.
std::vector<std::size_t> inside_out(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

/// A reduction in the loops that has nothing to reduce. The axes of a loop that never runs tell
/// nothing of the others, for which the init is given.
std::optional<BlockRV> reduction_that_never_runs(const Schedule& schedule,
                                                 std::span<const LoopRV> loops) {
  const bool runs = std::ranges::none_of(
      loops, [&](LoopRV loop) { return is_const_int(schedule.get(loop).extent, 0); });
  if (runs || loops.size() < 2) return {};
  for (const BlockRV block : child_blocks(schedule, schedule.node(loops.back()))) {
    const bool reduces_in_all = std::ranges::all_of(loops, [&](LoopRV loop) {
      return arith::is_reduction_loop(schedule.realize(block), schedule.get(loop).loop_var);
    });
    if (!reduces_in_all && !unsure_domains(schedule, block).empty()) return block;
  }
  return {};
}

/// A reduction whose domain is read off from one of the loops: it is asked for where these have no
/// iterations, too, and the extent by which a digit is divided may then be 0.
std::optional<BlockRV> reduction_over_fused(const Schedule& schedule,
                                            std::span<const LoopRV> loops) {
  const bool may_divide_by_0 =
      std::ranges::any_of(loops, [&](LoopRV loop) { return !as_int(schedule.get(loop).extent); });
  if (!may_divide_by_0) return {};
  for (const BlockRV block : child_blocks(schedule, schedule.node(loops.back()))) {
    const bool reads_loops =
        std::ranges::any_of(unsure_domains(schedule, block), [&](const Expr& domain) {
          return std::ranges::any_of(loops, [&](LoopRV loop) {
            return uses_variable(domain, schedule.get(loop).loop_var);
          });
        });
    if (reads_loops) return block;
  }
  return {};
}

}  // namespace

Planned<FusePlan> plan_fuse(const Schedule& schedule, const FuseArguments& arguments) {
  const auto& loops = arguments.loops;
  if (loops.empty()) return Refusal{&loops_are_given, {Argument(0), Argument(1)}};
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (auto refusal = refuse_unless_plain(schedule, loops[i])) return *std::move(refusal);
    if (auto refusal = refuse_unless_bounds_stay(schedule, loops[i], loops[0]))
      return *std::move(refusal);
    if (i == 0) continue;
    const NodeId outer = schedule.node(loops[i - 1]);
    const NodeId inner = schedule.node(loops[i]);
    if (schedule.at(inner).parent != outer) {
      const NodeId above = schedule.at(inner).parent;
      const bool is_sibling = schedule.as<SeqStmt>(above) && schedule.at(above).parent == outer;
      if (is_sibling) {
        return Refusal{&inner_is_only_child, {Argument(loops[i]), Argument(loops[i - 1])}};
      }
      return Refusal{&outer_is_parent, {Argument(loops[i - 1]), Argument(loops[i])}};
    }
    const For& a = schedule.get(loops[0]);
    const For& b = schedule.get(loops[i]);
    if (a.kind != b.kind) {
      return Refusal{&loops_have_one_kind,
                     {Argument(loops[0]), kind_name(a), Argument(loops[i]), kind_name(b)}};
    }
  }
  if (is_left_by_break(schedule, loops.back())) {
    return Refusal{&iterations_reach_their_end, {Argument("break"), Argument(loops.back())}};
  }
  if (const auto block = reduction_that_never_runs(schedule, loops)) {
    return changed_results(empty_reductions_start, {Argument(loops.back()), Argument(*block)});
  }
  NestObstacle why;
  const auto order = inside_out(loops.size());
  auto shape = shape_for(schedule, loops, order, why);
  if (!shape) {
    return Refusal{&extents_are_independent,
                   {Argument(loops[why.loop]), Argument(loops[why.inner])}};
  }
  if (const auto block = reduction_over_fused(schedule, loops)) {
    return changed_results(empty_reductions_start, {Argument(loops.back()), Argument(*block)});
  }
  if (auto refusal = refuse_early_bounds(schedule, loops, order)) return *std::move(refusal);
  return FusePlan{loops, *std::move(shape), arguments.name, arguments.wide};
}

LoopRV commit_fuse(Schedule& schedule, FusePlan&& plan) {
  if (!plan.shape.is_as_it_is()) take_shape(schedule, plan.loops, plan.shape);
  const NodeId top = schedule.node(plan.loops[0]);
  const std::uint32_t function = schedule.function_of(top);
  const For& outermost = schedule.get(plan.loops[0]);
  const SpanScope span(schedule.span_from(outermost.span));

  std::string joined;
  DataType type = plan.is_wide ? i64 : outermost.loop_var->dtype;
  for (const LoopRV loop : plan.loops) {
    joined += std::string(schedule.name(loop)) + "_";
    const DataType other = schedule.get(loop).loop_var->dtype;
    if (other.bits > type.bits) type = other;
  }
  // Names of loops that were split and fused again and again would double each time.
  constexpr std::size_t longest = 40;
  if (joined.size() > longest) joined = joined.substr(0, joined.find('_') + 1);
  For fused;
  fused.kind = outermost.kind;
  fused.loop_var =
      var(plan.name ? *plan.name : schedule.fresh_loop_name(function, joined + "fused"), type);
  fused.min = int_imm(type, 0);
  fused.step = int_imm(type, 1);
  fused.extent = int_imm(type, 1);
  Analyzer analyzer;
  learn_sizes(schedule, function, analyzer);
  for (const LoopRV loop : plan.loops) {
    // Of two that are below zero, as those of range(3, 1), the product is not; and a product of one
    // that is may be no number of its type.
    Expr extent = cast(type, schedule.get(loop).extent);
    if (!analyzer.can_prove(extent >= 0)) extent = max(extent, int_imm(type, 0));
    fused.extent = fused.extent * extent;
  }

  IndexForms forms(ranges_around(schedule, schedule.at(top).parent));
  if (const auto range = range_of(fused)) forms.add_range(*range);
  Expr below = int_imm(type, 1);
  std::vector<Expr> digits(plan.loops.size());
  for (std::size_t i = plan.loops.size(); i-- > 0;) {
    const For& loop = schedule.get(plan.loops[i]);
    const Expr extent = cast(type, loop.extent);
    const bool is_empty = is_const_int(extent, 0);  // Nothing runs then.
    const bool has_digit = !is_empty && !is_const_int(extent, 1);
    const Expr within =
        i == 0 || !has_digit ? Expr(fused.loop_var) : floormod(fused.loop_var, extent * below);
    digits[i] = has_digit ? floordiv(within, below) : is_empty ? within : fused.min;
    if (!is_empty) below = below * extent;
  }
  for (std::size_t i = 0; i < plan.loops.size(); ++i) {
    const For& loop = schedule.get(plan.loops[i]);
    const Expr offset = cast(loop.loop_var->dtype, digits[i]) * loop.step;
    forms.bind(loop.loop_var, is_const_int(loop.min, 0) ? offset : loop.min + offset);
  }
  const LoopRV last = plan.loops.back();
  DependenceUpdate known(schedule, top);
  known.fuse(plan.loops, fused.loop_var);
  substitute_in_body(schedule, last, forms);
  const LoopRV made = schedule.replace_loops(plan.loops[0], last, {std::move(fused)})[0];
  known.keep();
  return made;
}

}  // namespace loopsmith
