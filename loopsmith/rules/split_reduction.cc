// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/split_reduction.h"

#include <algorithm>

#include "loopsmith/rules/combination.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/schedule/primitives/rfactor.h"
#include "loopsmith/schedule/primitives/split.h"

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

/// The outermost reduction axis that can be cut evenly.
std::optional<ReductionCut> even_cut(const Nest& nest) {
  const std::int64_t steps = *point_count(nest.reduction());
  for (const Axis& axis : nest.reduction()) {
    const std::int64_t extent = *constant_extent(axis);
    for (std::int64_t parts = max_parts; parts >= min_parts; --parts) {
      if (extent % parts == 0 && steps / parts >= min_steps) return ReductionCut{axis, parts};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ReductionCut> cut_of_reduction(const Nest& nest, const CpuModel& machine) {
  const std::optional<Combination> combination = combination_of(nest);
  if (!combination || !is_long_for_few(nest, combination->target, machine)) return std::nullopt;
  return even_cut(nest);
}

bool split_long_reductions(Schedule& schedule, const std::vector<Subject>& subjects,
                           const CpuModel& machine) {
  const std::size_t before = schedule.steps().size();
  for (const Subject& subject : subjects) {
    if (subject.nests.size() != 1) continue;
    const Nest& nest = subject.nests[0];
    const auto cut = cut_of_reduction(nest, machine);
    if (!cut) continue;
    const auto loops = look_up_loops(schedule, nest);
    if (!loops) continue;
    const auto found = std::ranges::find_if(*loops, [&](const NestLoop& each) {
      return each.axis.var && each.axis.var.same_as(cut->axis.var);
    });
    if (found == loops->end()) continue;
    const std::size_t whole = schedule.steps().size();
    const auto [part, rest] = split(schedule, found->loop, {cut->parts, infer}).take<2>();
    static_cast<void>(rest);
    if (!rfactor.attempt(schedule, part, 0)) schedule.undo(schedule.steps().size() - whole);
  }
  return schedule.steps().size() > before;
}

}  // namespace loopsmith
