// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/split.h"

#include <algorithm>

#include "loopsmith/arith/at_least_one.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/dependence_cache.h"
#include "loopsmith/schedule/queries/function_variables.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"

namespace loopsmith {
namespace {

/// The product of the factors that are numbers; nullopt when that is too large.
std::optional<std::int64_t> product_of_numbers(const std::vector<Expr>& factors) {
  std::int64_t product = 1;
  for (const Expr& factor : factors) {
    const std::int64_t* number = factor.defined() ? as_int(factor) : nullptr;
    if (number && __builtin_mul_overflow(product, *number, &product)) return {};
  }
  return product;
}

/// The factors of a product, as it is written.
void find_factors(const Expr& expr, std::vector<Expr>& found) {
  if (const auto* product = expr.as<Mul>()) {
    find_factors(product->a, found);
    find_factors(product->b, found);
  } else {
    found.push_back(expr);
  }
}

/// What is left of a product without the factors of another one; null where it has not all of them.
Expr written_quotient(const Expr& extent, const Expr& divisor) {
  std::vector<Expr> rest, taken;
  find_factors(extent, rest);
  find_factors(divisor, taken);
  for (const Expr& factor : taken) {
    const auto found = std::ranges::find_if(
        rest, [&](const Expr& other) { return structural_equal(other, factor); });
    if (found == rest.end()) return {};
    rest.erase(found);
  }
  Expr product = int_imm(extent.dtype(), 1);
  for (const Expr& factor : rest) product = is_const_int(product, 1) ? factor : product * factor;
  return product;
}

/// A fact of each buffer that is a parameter: it has no negative extent.
void bind_extents(Analyzer& analyzer, const PrimFunc& func) {
  for (const Ptr<Buffer>& buffer : func.buffer_map) {
    if (!buffer) continue;
    for (const Expr& extent : buffer->shape) {
      if (!extent.is<Var>()) continue;
      const auto size = Ptr<Var>::from(extent);
      analyzer.update(size, ConstIntBound(0, max_int(size->dtype)));
    }
  }
}

/// Reads the given factors into `plan`, of which one is left to be inferred, null.
std::optional<Refusal> read_factors(const Schedule& schedule, const SplitArguments& arguments,
                                    const PrimFunc& func, SplitPlan& plan) {
  const DataType type = schedule.get(arguments.loop).loop_var->dtype;
  const Argument loop(arguments.loop);
  bool is_inferred = false;
  for (std::size_t i = 0; i < arguments.factors.size(); ++i) {
    const Argument place(static_cast<std::int64_t>(i));
    const SplitFactor& factor = arguments.factors[i];
    if (const auto* given = std::get_if<Expr>(&factor.value); given && !as_int(*given)) {
      const DataType own = given->dtype();
      const bool counts = own.is_scalar() && own.is_integer() && own.bits <= type.bits;
      if (!counts) {
        return Refusal{&factor_has_type,
                       {place, loop, Argument(Ref(*given)), Argument(to_string(own)),
                        Argument(to_string(type))}};
      }
      if (const std::string read = read_beside_sizes(func, *given); !read.empty()) {
        return Refusal{
            &value_is_of_sizes,
            {Argument(fmt::format("factor {}", i)), loop, Argument(Ref(*given)), Argument(read)}};
      }
      plan.factors[i] = cast(type, *given);
      continue;
    }
    std::optional<std::int64_t> number;
    if (const auto* given = std::get_if<Expr>(&factor.value)) number = *as_int(*given);
    if (const auto* given = std::get_if<std::int64_t>(&factor.value)) number = *given;
    if (const auto* hole = std::get_if<ExprRV>(&factor.value)) number = schedule.get(*hole);
    if (number && *number != -1) {
      if (*number < 1) return Refusal{&factor_is_positive, {place, loop, Argument(*number)}};
      plan.factors[i] = int_imm(type, *number);
      continue;
    }
    if (is_inferred) return Refusal{&one_factor_is_inferred, {loop}};
    is_inferred = true;
  }
  return {};
}

/// Says of factors that follow from sizes, or of a loop whose extent does, how often the loops run.
/// `product` is that of the factors that are numbers, `inferred` the one that is missing, if any.
std::optional<Refusal> fit_to_sizes(const For& loop, LoopRV handle, const PrimFunc& func,
                                    std::int64_t product, Expr* inferred, SplitPlan& plan) {
  Analyzer analyzer;
  bind_extents(analyzer, func);
  std::vector<Expr*> of_sizes;
  for (Expr& factor : plan.factors) {
    if (factor.defined() && !as_int(factor)) of_sizes.push_back(&factor);
  }
  Expr whole = int_imm(loop.loop_var->dtype, product);
  // No more than the whole, and simpler: f * 4 where max(f, 1) * 4 is that.
  const Expr written = of_sizes.size() == 1 ? *of_sizes[0] * whole : Expr();
  // Where it divides, loops run as often as the old one whatever the sizes are, if no two of their
  // extents can be negative.
  const auto is_size = [&](const Expr& expr) { return analyzer.can_prove_greater_equal(expr, 0); };
  const bool may_divide = inferred && written.defined();
  const Expr rest = may_divide ? written_quotient(loop.extent, written) : Expr();
  if (rest.defined() && (is_size(rest) || is_size(written))) {
    *inferred = rest;
    return {};
  }
  for (Expr* factor : of_sizes) {
    *factor = at_least_one(*factor, analyzer);
    whole = is_const_int(whole, 1) ? *factor : *factor * whole;
  }
  const auto covers = [&](const Expr& all) {
    return all.defined() && analyzer.can_prove(loop.extent <= all, ProofStrength::symbolic_bound);
  };
  if (inferred) {
    *inferred = analyzer.simplify(ceildiv(loop.extent, whole));
    whole = *inferred * whole;
  } else if (!covers(whole) && !covers(written)) {
    return Refusal{&factors_cover_the_loop,
                   {Argument(Ref(whole)), Argument(Ref(loop.extent)), Argument(handle)}};
  }
  plan.is_guarded = !analyzer.can_prove(whole <= loop.extent, ProofStrength::symbolic_bound);
  return {};
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
  const auto& func =
      *schedule.as<PrimFunc>(schedule.root(schedule.function_of(schedule.node(arguments.loop))));
  if (auto refusal = read_factors(schedule, arguments, func, plan)) return *std::move(refusal);
  const auto missing =
      std::ranges::find_if(plan.factors, [](const Expr& one) { return !one.defined(); });
  Expr* inferred = missing == plan.factors.end() ? nullptr : &*missing;
  const auto product = product_of_numbers(plan.factors);
  const bool has_sizes = std::ranges::any_of(
      plan.factors, [](const Expr& one) { return one.defined() && !as_int(one); });
  const auto too_large = [&] {
    return Refusal{&factors_cover_the_loop,
                   {Argument("too large"), Argument(Ref(loop.extent)), Argument(arguments.loop)}};
  };
  if (!product) return too_large();
  const auto* extent = loop.extent.as<IntImm>();
  const auto fits = [&](std::int64_t value) { return value <= max_int(type); };
  if (extent && !has_sizes) {
    std::int64_t whole = *product;
    if (inferred) {
      const std::int64_t rounds = (std::max<std::int64_t>(extent->value, 0) + whole - 1) / whole;
      *inferred = int_imm(type, rounds);
      if (__builtin_mul_overflow(whole, rounds, &whole)) return too_large();
    } else if (whole < extent->value) {
      return Refusal{&factors_cover_the_loop,
                     {Argument(whole), Argument(extent->value), Argument(arguments.loop)}};
    }
    if (!fits(whole)) return too_large();
    plan.is_guarded = whole > extent->value;
  } else {
    if (!fits(*product)) return too_large();
    if (auto refusal = fit_to_sizes(loop, arguments.loop, func, *product, inferred, plan)) {
      return *std::move(refusal);
    }
  }
  if (is_left_by_break(schedule, arguments.loop)) {
    return Refusal{&iterations_reach_their_end, {Argument("break"), Argument(arguments.loop)}};
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
