// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/split.h"

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/legality/dependence_cache.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"

namespace loopsmith {
namespace {

/// The product of the factors as a number; nullopt when that is too large.
std::optional<std::int64_t> product_of(const std::vector<Expr>& factors) {
  std::int64_t product = 1;
  for (const Expr& factor : factors) {
    if (!factor.defined()) continue;
    if (__builtin_mul_overflow(product, *as_int(factor), &product)) return {};
  }
  return product;
}

ForKind kind_of_part(ForKind kind, std::size_t i, std::size_t count) {
  switch (kind) {
    case ForKind::parallel: return i == 0 ? kind : ForKind::serial;
    case ForKind::vectorized: return i + 1 == count ? kind : ForKind::serial;
    default: return kind;
  }
}

}  // namespace

Planned<SplitPlan> plan_split(const Schedule& schedule, const SplitArguments& arguments) {
  const For& loop = schedule.get(arguments.loop);
  const DataType type = loop.loop_var->dtype;
  if (auto refusal = refuse_unless_plain(schedule, arguments.loop)) return *std::move(refusal);
  if (auto refusal = refuse_unless_bounds_stay(schedule, arguments.loop))
    return *std::move(refusal);

  const std::size_t count = arguments.factors.size();
  SplitPlan plan{.loop = arguments.loop,
                 .factors = std::vector<Expr>(count),
                 .names = arguments.names.value_or(std::vector<std::string>()),
                 .is_guarded = false,
                 .drops_units = !arguments.preserve_unit_iters};
  if (arguments.names && arguments.names->size() != count) {
    return Refusal{&names_fit_factors,
                   {Argument(static_cast<std::int64_t>(arguments.names->size())),
                    Argument(static_cast<std::int64_t>(count))}};
  }
  std::optional<std::size_t> inferred;
  for (std::size_t i = 0; i < count; ++i) {
    const auto factor = schedule.get(arguments.factors[i]);
    if (factor && *factor != -1) {
      if (*factor < 1) {
        return Refusal{
            &factor_is_positive,
            {Argument(static_cast<std::int64_t>(i)), Argument(arguments.loop), Argument(*factor)}};
      }
      plan.factors[i] = int_imm(type, *factor);
    } else if (inferred) {
      return Refusal{&one_factor_is_inferred, {Argument(arguments.loop)}};
    } else {
      inferred = i;
    }
  }
  const auto product = product_of(plan.factors);
  const auto too_large = [&] {
    return Refusal{&factors_cover_the_loop,
                   {Argument("too large"), Argument(Ref(loop.extent)), Argument(arguments.loop)}};
  };
  if (!product) return too_large();
  const auto* extent = loop.extent.as<IntImm>();
  const auto fits = [&](std::int64_t value) { return value <= max_int(type); };
  if (extent) {
    std::int64_t whole = *product;
    if (inferred) {
      const std::int64_t rounds = (std::max<std::int64_t>(extent->value, 0) + whole - 1) / whole;
      plan.factors[*inferred] = int_imm(type, rounds);
      if (__builtin_mul_overflow(whole, rounds, &whole)) return too_large();
    } else if (whole < extent->value) {
      return Refusal{&factors_cover_the_loop,
                     {Argument(whole), Argument(extent->value), Argument(arguments.loop)}};
    }
    if (!fits(whole)) return too_large();
    plan.is_guarded = whole > extent->value;
  } else {
    if (!fits(*product)) return too_large();
    Analyzer analyzer;
    const Expr rest = int_imm(type, *product);
    if (inferred) {
      plan.factors[*inferred] = analyzer.simplify(ceildiv(loop.extent, rest));
    } else if (!analyzer.can_prove(loop.extent <= rest, ProofStrength::symbolic_bound)) {
      return Refusal{&factors_cover_the_loop,
                     {Argument(*product), Argument(Ref(loop.extent)), Argument(arguments.loop)}};
    }
    const Expr whole = inferred ? plan.factors[*inferred] * rest : rest;
    plan.is_guarded = !analyzer.can_prove(whole <= loop.extent, ProofStrength::symbolic_bound);
  }
  if (is_left_by_break(schedule, arguments.loop)) {
    return Refusal{&loop_runs_to_its_end, {Argument(arguments.loop)}};
  }
  if (arguments.disable_predication) plan.is_guarded = false;
  return plan;
}

Handles<LoopRV> commit_split(Schedule& schedule, SplitPlan&& plan) {
  For loop = schedule.get(plan.loop);
  loop.body = nullptr;  // What has no other owner is edited in place.
  const NodeId node = schedule.node(plan.loop);
  const std::uint32_t function = schedule.function_of(node);
  const DataType type = loop.loop_var->dtype;
  const std::size_t count = plan.factors.size();
  const SpanScope span(schedule.span_from(loop.span));

  std::vector<For> parts(count);
  IndexForms forms(ranges_around(schedule, schedule.at(node).parent));
  // Each digit weighs as much as the factors after it.
  std::vector<Expr> weights(count, int_imm(type, 1));
  for (std::size_t i = count; i-- > 1;) weights[i - 1] = weights[i] * plan.factors[i];
  Expr index = int_imm(type, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name =
        plan.names.empty() ? schedule.fresh_loop_name(function, numbered(loop.loop_var->name, i))
                           : plan.names[i];
    For& part = parts[i];
    part.loop_var = var(name, type);
    part.min = int_imm(type, 0);
    part.extent = plan.factors[i];
    part.step = int_imm(type, 1);
    part.kind = kind_of_part(loop.kind, i, count);
    if (const auto range = range_of(part)) forms.add_range(*range);
    Expr digit = part.loop_var;
    if (plan.drops_units && is_const_int(part.extent, 1)) digit = part.min;
    index = index + digit * weights[i];
  }
  const Expr predicate = plan.is_guarded ? index < loop.extent : Expr();
  const Expr value = index * loop.step;
  forms.bind(loop.loop_var, is_const_int(loop.min, 0) ? value : loop.min + value);
  DependenceUpdate known(schedule, node);
  known.split(loop, parts);
  substitute_in_body(schedule, plan.loop, forms, predicate);
  Handles<LoopRV> made = schedule.replace_loops(plan.loop, plan.loop, std::move(parts));
  known.keep();
  return made;
}

}  // namespace loopsmith
