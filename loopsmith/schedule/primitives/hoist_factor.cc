// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/hoist_factor.h"

#include <algorithm>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/reducers.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/rewrites/edits.h"
#include "loopsmith/schedule/rewrites/result_nest.h"

namespace loopsmith {
namespace {

/// Takes products apart.
///
/// Theorem. In a field, sum(c t) = c sum(t) and sum(t / c) = sum(t) / c where c is the same for all
/// terms; of no terms at all, both sides are 0 but where c is not finite, or 0 below the line,
/// which is asked for apart. For floating-point numbers the two differ as sums in another order do.
class Factors {
 public:
  Factors(const Block& block, bool through_casts) : block_(block), through_casts_(through_casts) {}

  /// The term without its factors, which `apply` puts around a sum.
  Expr without(const Expr& term) {
    if (const auto* product = term.as<Mul>()) {
      if (is_same_for_all(product->a)) return keep(product->a, false), without(product->b);
      if (is_same_for_all(product->b)) return keep(product->b, false), without(product->a);
      return without(product->a) * without(product->b);
    }
    if (const auto* quotient = term.as<Div>()) {
      if (!is_same_for_all(quotient->b)) return without(quotient->a) / quotient->b;
      keep(quotient->b, true);
      return without(quotient->a);
    }
    const auto* conversion = term.as<Cast>();
    if (conversion && conversion->value.dtype().is_float() && conversion->dtype.is_float()) {
      const bool widens = conversion->dtype.bits >= conversion->value.dtype().bits;
      if (widens || through_casts_) return cast(conversion->dtype, without(conversion->value));
    }
    return term;
  }

  bool found() const { return !factors_.empty(); }
  Expr apply(Expr sum) const {
    const DataType type = sum.dtype();
    for (const auto& [factor, divides] : factors_) {
      sum = divides ? sum / cast(type, factor) : sum * cast(type, factor);
    }
    return sum;
  }

 private:
  bool is_same_for_all(const Expr& expr) const {
    return std::ranges::none_of(block_.iter_vars, [&](const auto& axis) {
      return axis->iter_type != IterType::data_par && uses_variable(expr, axis->var);
    });
  }
  void keep(const Expr& factor, bool divides) { factors_.emplace_back(factor, divides); }

  const Block& block_;
  bool through_casts_;
  std::vector<std::pair<Expr, bool>> factors_;
};

/// The sum that a block computes, where a factor may leave it.
std::optional<KnownReduction> sum_of(const Block& block) {
  auto reduction = reduction_of(block);
  if (!reduction || !reduction->reducer || reduction->reducer->name != "sum") return {};
  const Ptr<Buffer>& buffer = reduction->buffers[0];
  const auto* zero = reduction->init[0].as<FloatImm>();
  const bool has_known_axes = std::ranges::all_of(block.iter_vars, [](const auto& axis) {
    return axis->iter_type == IterType::data_par || axis->iter_type == IterType::comm_reduce;
  });
  if (!zero || zero->value != 0 || !has_known_axes) return {};
  return loads_from(reduction->sources[0], buffer) ? std::nullopt : reduction;
}

/// Whether each sum has terms, in terms of the block's axes: true where that is known, null where
/// it depends on loops that no axis is.
Expr has_terms(const Schedule& schedule, BlockRV handle) {
  const BlockRealize& realize = schedule.realize(handle);
  const Block& block = *realize.block;
  Analyzer analyzer;
  Expr all = true;
  for (const auto& axis : block.iter_vars) {
    if (axis->iter_type != IterType::comm_reduce) continue;
    all = all && analyzer.simplify(axis->dom->extent > int_imm(axis->dom->extent.dtype(), 0));
  }
  Substitution axes;
  for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
    const auto& axis = block.iter_vars[i];
    const bool is_loop = axis->iter_type == IterType::data_par && realize.iter_values[i].is<Var>();
    if (is_loop) axes[realize.iter_values[i]] = axis->var;
  }
  all = substitute(all, axes);
  for (NodeId at = schedule.at(schedule.node(handle)).parent; schedule.as<For>(at);
       at = schedule.at(at).parent) {
    if (uses_variable(all, schedule.as<For>(at)->loop_var)) return {};
  }
  return all;
}

/// The outermost of the loops in which nothing but the block is; none without a loop.
std::optional<LoopRV> outermost_loop(const Schedule& schedule, BlockRV block) {
  std::optional<LoopRV> outermost;
  for (NodeId at = schedule.at(schedule.node(block)).parent; schedule.as<For>(at);
       at = schedule.at(at).parent) {
    outermost = schedule.loop_at(at);
  }
  return outermost;
}

}  // namespace

Planned<HoistFactorPlan> plan_hoist_factor(const Schedule& schedule,
                                           const HoistFactorArguments& arguments) {
  const BlockRV handle = arguments.block;
  const BlockRealize& realize = schedule.realize(handle);
  const Block& block = *realize.block;
  const auto reduction = sum_of(block);
  if (!reduction) return Refusal{&block_is_a_sum, {Argument(handle)}};
  Factors factors(block, arguments.through_casts);
  const Expr term = factors.without(reduction->sources[0]);
  if (!factors.found()) return Refusal{&terms_have_a_factor, {Argument(handle)}};
  if (!is_const_int(realize.predicate, 1)) {
    return Refusal{&sum_runs_unconditionally, {Argument(handle)}};
  }
  const DataType type = reduction->buffers[0]->dtype;
  const bool is_narrow = type.bits == 16 && !type.is_bfloat16();
  if (is_narrow && !arguments.through_casts) {
    return changed_results(sum_fits_its_type, {Argument(handle)});
  }
  const auto outermost = outermost_loop(schedule, handle);
  const auto apart = outermost
                         ? plan_decompose_reduction(schedule, {.block = handle, .loop = *outermost})
                         : Planned<DecomposeReductionPlan>(Refusal{});
  if (std::holds_alternative<Refusal>(apart))
    return Refusal{&nest_is_of_block_alone, {Argument(handle)}};
  HoistFactorPlan plan{.block = handle,
                       .outermost = *outermost,
                       .term = cast(type, term),
                       .sum = var("sum", type),
                       .result = {}};
  plan.result = factors.apply(plan.sum);
  const Expr condition = has_terms(schedule, handle);
  if (!condition.defined()) return Refusal{&sum_runs_unconditionally, {Argument(handle)}};
  if (!is_const_int(condition, 1)) {
    plan.result = if_then_else(condition, plan.result, reduction->init[0]);
  }
  plan.reordered_reduction = Argument(handle);
  return plan;
}

BlockRV commit_hoist_factor(Schedule& schedule, HoistFactorPlan&& plan) {
  const std::uint32_t function = schedule.function_of(schedule.node(plan.block));
  const BlockRV scope = block_around_or_root(schedule, schedule.node(plan.block));
  const Ptr<Block> old = schedule.realize(plan.block).block;
  const SpanScope span(schedule.span_from(old->span));
  const KnownReduction reduction = *reduction_of(*old);
  const Ptr<Buffer>& result = reduction.buffers[0];
  const Ptr<Buffer> sum = decl_buffer(result->shape, result->dtype,
                                      schedule.fresh_buffer_name(function, result->name + "_sum"));
  allocate_in(schedule, scope, sum);
  const Expr own = load(sum, reduction.indices);

  // The results are those that have an init.
  Schedule apart = schedule.snapshot();
  const BlockRV init =
      commit_decompose_reduction(apart, std::get<DecomposeReductionPlan>(plan_decompose_reduction(
                                            apart, {.block = plan.block, .loop = plan.outermost})));
  const NodeId beside = apart.at(apart.node(plan.outermost)).parent;
  const Stmt inits = apart.statement(child_towards(apart, apart.node(init), beside));
  const Stmt applied = store(result, substitute(plan.result, {{plan.sum, own}}), reduction.indices);
  const NodeId made = schedule.insert_after(schedule.node(plan.outermost),
                                            result_nest(inits, *old, old->name_hint, applied));

  BlockRealize realize = schedule.realize(plan.block);
  Block summed = *old;
  summed.name_hint = schedule.fresh_block_name(function, old->name_hint + "_sum");
  summed.init = store(sum, reduction.init[0], reduction.indices);
  summed.body = store(sum, own + plan.term, reduction.indices);
  AccessRegions regions = access_regions(summed);
  summed.reads = std::move(regions.reads);
  summed.writes = std::move(regions.writes);
  realize.block = make(std::move(summed));
  const Schedule::Renewed renewed{{old.get(), realize.block.get()}};
  schedule.replace(schedule.node(plan.block), make(std::move(realize)), renewed);
  return block_of_nest(schedule, made);
}

}  // namespace loopsmith
