// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/dot_product_packing.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/combination.h"

namespace loopsmith {
namespace {

bool fits_16_bits(const Expr& operand) {
  const auto* conversion = operand.as<Cast>();
  if (!conversion || operand.dtype() != i32) return false;
  const DataType from = conversion->value.dtype();
  return (from.is_int() && from.bits <= 16) || (from.is_uint() && from.bits < 16);
}

/// The reduction axis whose steps are paired: the innermost one that pairs cover, or else the
/// innermost of more than a step.
std::optional<Axis> paired_axis(const Nest& nest) {
  std::optional<Axis> found;
  for (const Axis& axis : nest.reduction()) {
    const auto extent = constant_extent(axis);
    if (!extent || *extent > 1) found = axis;
  }
  for (const Axis& axis : nest.reduction()) {
    const auto extent = constant_extent(axis);
    if (extent && *extent > 1 && *extent % 2 == 0) found = axis;
  }
  return found;
}

}  // namespace

std::optional<Nest> with_pairs(const Nest& nest, const Axis& vector_axis) {
  const std::optional<Combination> combination = combination_of(nest);
  if (!combination || combination->kind != Combination::Kind::add ||
      combination->condition.defined()) {
    return std::nullopt;
  }
  const auto* product = combination->source.as<Mul>();
  if (!product || !fits_16_bits(product->a) || !fits_16_bits(product->b)) return std::nullopt;
  const std::optional<Axis> axis = paired_axis(nest);
  if (!axis) return std::nullopt;

  const DataType type = axis->extent.dtype();
  const Expr two = int_imm(type, 2), one = int_imm(type, 1);
  const Axis pairs{.var = var(axis->var->name + "_2", type),
                   .min = zero_of(type),
                   .extent = ceildiv(axis->extent, two),
                   .reduce = true};
  const bool is_even = constant_extent(*axis).value_or(1) % 2 == 0;
  const Expr second = pairs.var * two + one;
  const auto pair_of = [&](const Expr& operand) {
    const auto at_step = [&](const Expr& step) {
      return clone_with(operand, {{axis->var, axis->min + step}});
    };
    Expr high = at_step(is_even ? second : min(second, axis->extent - one));
    if (!is_even && uses_variable(operand, vector_axis.var)) {
      high = select(second < axis->extent, high, zero_of(i32));
    }
    return (at_step(pairs.var * two) & 0xffff) | (high << 16);
  };
  Nest paired = nest;
  std::ranges::replace_if(
      paired.axes, [&](const Axis& each) { return each.var.same_as(axis->var); }, pairs);
  const Expr sum = make(Add{.a = load(combination->target, combination->indices),
                            .b = make(Mul{.a = pair_of(product->a), .b = pair_of(product->b)})});
  paired.body = store(combination->target, sum, combination->indices);
  return paired;
}

Expr add_pair_products(const DotIntrinsic& intrinsic, const Expr& sums, const Expr& a,
                       const Expr& b) {
  const int lanes = intrinsic.result.lanes;
  std::vector<Expr> args{string_imm(std::string(intrinsic.name)),
                         int_imm(u32, intrinsic.accumulates ? 3 : 2)};
  if (intrinsic.accumulates) args.push_back(sums);
  args.push_back(broadcast(a, lanes));
  args.push_back(broadcast(b, lanes));
  const Expr products = call(intrinsic.result, op("call_llvm_pure_intrin"), std::move(args));
  return intrinsic.accumulates ? products : sums + products;
}

}  // namespace loopsmith
