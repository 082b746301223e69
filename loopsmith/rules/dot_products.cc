// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/dot_products.h"

#include <fmt/format.h>
#include <algorithm>

#include "loopsmith/rules/combination.h"

namespace loopsmith {
namespace {

/// What is loaded, and then converted to the type of the sums; null for anything else.
Expr converted_load(const Expr& factor, DataType sum) {
  const auto* conversion = factor.as<Cast>();
  if (!conversion || factor.dtype() != sum) return nullptr;
  const auto* access = conversion->value.as<BufferLoad>();
  return access && !access->predicate.defined() ? conversion->value : Expr(nullptr);
}

struct DotInstruction {
  const DotIntrinsic* meant = nullptr;
  std::string_view suffix;  ///< Of the tensor intrinsic's name.
};

DotInstruction instruction_for(DataType row, DataType column, DataType sum,
                               const CpuModel& machine) {
  if (sum == f32 && row == bf16 && column == bf16)
    return {machine.bfloat16_product, "bf16bf16_avx512bf16"};
  if (sum != i32) return {};
  if (row == u8 && column == i8) return {machine.byte_product, "u8i8_vnni"};
  if (row == i8 && column == i8) return {machine.byte_product, "i8i8_vnni"};
  if (row == i8 && column == u8) return {machine.byte_product, "i8u8_vnni"};
  return {};
}

Stride stride_of(const Expr& operand, const Axis& axis) {
  const auto* access = operand.as<BufferLoad>();
  return stride_along({access->buffer, access->indices}, axis.var);
}

/// Takes the better axis of neighbouring products: along which rows are read as they lie; which
/// whole groups cover; an inner one.
class StepsChoice {
 public:
  StepsChoice(const DotProduct& dot, const Axis& row_axis)
      : dot_(dot), has_rows_(stride_of(dot.row, row_axis) == Stride::one) {}

  std::optional<DotProduct> best(const std::vector<Axis>& axes) const {
    std::optional<DotProduct> found;
    int found_score = 0;
    for (const Axis& axis : axes) {
      const auto extent = constant_extent(axis);
      const Stride stride = stride_of(dot_.row, axis);
      const bool is_near = stride == Stride::one;
      const bool may_be = stride != Stride::none && stride_of(dot_.column, axis) != Stride::none;
      if (!extent || *extent < dot_.depth || !may_be || (!is_near && !has_rows_)) continue;
      const int score = (is_near ? 2 : 0) + (*extent % dot_.depth == 0 ? 1 : 0);
      if (found && score < found_score) continue;
      found_score = score;
      found = dot_;
      found->steps = axis;
      found->copies_rows = !is_near;
    }
    return found;
  }

 private:
  const DotProduct& dot_;
  bool has_rows_;
};

}  // namespace

std::optional<DotProduct> dot_product_of(const Nest& nest, const Axis& vector_axis,
                                         const Axis& row_axis, const CpuModel& machine) {
  if (!machine.byte_product && !machine.bfloat16_product) return std::nullopt;
  const std::optional<Combination> combination = combination_of(nest);
  if (!combination || combination->kind != Combination::Kind::add ||
      combination->condition.defined()) {
    return std::nullopt;
  }
  const auto* product = combination->source.as<Mul>();
  if (!product) return std::nullopt;
  DotProduct dot;
  dot.row = converted_load(product->a, combination->dtype());
  dot.column = converted_load(product->b, combination->dtype());
  if (!dot.row.defined() || !dot.column.defined()) return std::nullopt;
  if (uses_variable(dot.row, vector_axis.var)) std::swap(dot.row, dot.column);
  const bool is_product =
      uses_variable(dot.row, row_axis.var) && !uses_variable(dot.row, vector_axis.var) &&
      uses_variable(dot.column, vector_axis.var) && !uses_variable(dot.column, row_axis.var);
  const auto [meant, suffix] =
      instruction_for(dot.row.dtype(), dot.column.dtype(), combination->dtype(), machine);
  if (!is_product || !meant) return std::nullopt;
  dot.lanes = meant->result.lanes;
  dot.depth = dot.group = meant->group;
  if (constant_extent(vector_axis).value_or(0) < dot.lanes) return std::nullopt;
  std::optional<DotProduct> found = StepsChoice(dot, row_axis).best(nest.reduction());
  if (!found) return std::nullopt;
  // Two groups share one correction of signs, unless that would need more padding.
  const std::int64_t steps = *constant_extent(found->steps);
  const bool is_signed = dot.row.dtype() == i8 && dot.column.dtype() == i8;
  const bool are_two = steps % (2 * dot.group) == 0 || steps % dot.group != 0;
  if (is_signed && !found->copies_rows && are_two) found->depth = 2 * dot.group;
  found->intrin = fmt::format("dot_{}x{}_{}", dot.lanes, found->depth, suffix);
  return found;
}

}  // namespace loopsmith
