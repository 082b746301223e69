// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/split_reduction.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/combination.h"
#include "loopsmith/rules/strategy.h"

namespace loopsmith {
namespace {

constexpr std::int64_t max_parts = 16, min_parts = 4;
/// A part has so many steps, all of them together so many points: less is done at once.
constexpr std::int64_t min_steps = 1024;
constexpr std::int64_t min_points = std::int64_t{1} << 20;
/// More results than these give work enough: rows; tiles of columns; tiles of products.
constexpr std::int64_t max_rows = 32, max_columns = 512, max_products = 4096;

std::int64_t max_results(const Nest& nest, const CpuModel& machine) {
  if (is_packed(nest, machine)) return max_products;
  return row_reduction_of(nest) ? max_rows : max_columns;
}

bool is_long_for_few(const Nest& nest, const Ptr<Buffer>& target, const CpuModel& machine) {
  const auto results = point_count(nest.spatial()), points = point_count(nest.axes);
  std::int64_t elements = 1;
  for (const Expr& extent : target->shape) {
    const std::int64_t* constant = as_int(extent);
    if (!constant || __builtin_mul_overflow(elements, *constant, &elements)) return false;
  }
  return results && points && *results > 1 && *points >= min_points &&
         std::max(*results, elements) <= max_products && *results <= max_results(nest, machine);
}

struct Cut {
  Axis axis;
  std::int64_t parts;
};

/// The outermost reduction axis that can be cut evenly.
std::optional<Cut> even_cut(const Nest& nest) {
  const std::int64_t steps = *point_count(nest.reduction());
  for (const Axis& axis : nest.reduction()) {
    const std::int64_t extent = *constant_extent(axis);
    for (std::int64_t parts = max_parts; parts >= min_parts; --parts) {
      if (extent % parts == 0 && steps / parts >= min_steps) return Cut{axis, parts};
    }
  }
  return std::nullopt;
}

/// New variables for all axes of a nest.
Substitution renew(std::vector<Axis>& axes) {
  Substitution renewed;
  for (Axis& axis : axes) {
    const Ptr<Var> own = axis.var;
    axis.var = var(own->name, own->dtype);
    renewed[own] = axis.var;
  }
  return renewed;
}

}  // namespace

std::optional<SplitReduction> split_reduction(const Nest& nest, const CpuModel& machine) {
  const std::optional<Combination> combination = combination_of(nest);
  if (!combination || !is_long_for_few(nest, combination->target, machine)) return std::nullopt;
  const std::optional<Cut> cut = even_cut(nest);
  if (!cut) return std::nullopt;

  const Ptr<Buffer>& target = combination->target;
  const DataType type = cut->axis.extent.dtype();
  std::vector<Expr> shape{int_imm(type, cut->parts)};
  std::ranges::copy(target->shape, std::back_inserter(shape));
  const Ptr<Buffer> partial = decl_buffer(shape, target->dtype, target->name + "_parts");
  const auto in_part = [&](const Expr& part) {
    std::vector<Expr> indices{part};
    std::ranges::copy(combination->indices, std::back_inserter(indices));
    return indices;
  };

  Nest parts{.name = nest.name + "_parts", .axes = nest.axes, .init = nullptr, .body = nullptr};
  const Expr size = int_imm(type, *constant_extent(cut->axis) / cut->parts);
  for (Axis& axis : parts.axes) {
    if (axis.var.same_as(cut->axis.var)) axis = {axis.var, zero_of(type), size, true};
  }
  Substitution values = renew(parts.axes);
  const Axis part{var("part", type), zero_of(type), int_imm(type, cut->parts), false};
  values[cut->axis.var] = cut->axis.min + (part.var * size + values.at(cut->axis.var));
  parts.axes.insert(parts.axes.begin(), part);
  const std::vector<Expr> place = in_part(part.var);
  parts.init = clone_with(store(partial, combination->neutral(), place), values);
  const Stmt update =
      store(partial, combination->combine(load(partial, place), combination->source), place);
  parts.body = clone_with(
      combination->condition.defined()
          ? make(IfThenElse{
                .condition = combination->condition, .then_case = update, .else_case = nullptr})
          : update,
      values);

  Nest join{.name = nest.name, .axes = nest.spatial(), .init = nullptr, .body = nullptr};
  const Substitution results = renew(join.axes);
  const Axis step{var("part", type), zero_of(type), int_imm(type, cut->parts), true};
  join.axes.push_back(step);
  join.init = clone_with(nest.init, results);
  join.body = clone_with(store(target,
                               combination->combine(load(target, combination->indices),
                                                    load(partial, in_part(step.var))),
                               combination->indices),
                         results);
  return SplitReduction{.parts = parts, .join = join, .partial = partial};
}

}  // namespace loopsmith
