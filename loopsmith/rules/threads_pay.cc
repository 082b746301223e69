// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/threads_pay.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/rules/lane_strides.h"
#include "loopsmith/rules/loops.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/rules/vector_cost.h"
#include "loopsmith/schedule/queries/function_variables.h"

namespace loopsmith {
namespace {

/// Of a vector of products, two of which are added in a cycle; of a copy to a panel.
constexpr double product_cycles = 0.5, copy_cycles = 3.0;
/// Products are computed by tiles of about so many rows and vectors, also where there are fewer.
constexpr double tile_rows = 8.0, tile_vectors = 4.0;
/// Of a result beside its steps: partial ones are set and combined. Of results side by side in
/// lanes, a vector of them is set and stored.
constexpr double result_cycles = 12.0;

/// The work of nests whose extents that are no numbers are the same.
struct Work {
  std::vector<Expr> sizes;
  double cycles;  ///< Of a point of these.
};

/// Work of so many cycles for each point of the axes. Nothing where an extent is no expression of
/// sizes.
std::optional<Work> work_of(const std::vector<Axis>& axes, double cycles, const PrimFunc& func) {
  Work work{.sizes = {}, .cycles = cycles};
  for (const Axis& axis : axes) {
    if (const auto extent = constant_extent(axis)) {
      work.cycles *= static_cast<double>(*extent);
    } else if (read_beside_sizes(func, axis.extent).empty()) {
      work.sizes.push_back(axis.extent);
    } else {
      return {};
    }
  }
  return work;
}

void add(std::vector<Work>& all, const Work& more) {
  const auto is_same = [](const Expr& a, const Expr& b) { return structural_equal(a, b); };
  for (Work& each : all) {
    if (std::ranges::is_permutation(each.sizes, more.sizes, is_same)) {
      each.cycles += more.cycles;
      return;
    }
  }
  all.push_back(more);
}

/// Work that is done for each point of some axes.
struct PointWork {
  std::vector<Axis> axes;
  double cycles;
};

/// The work of a nest: of all points, and of those that are left where one axis is short.
std::vector<PointWork> point_work_of(const Nest& nest, const CpuModel& machine) {
  const double cycles = cycles_of_point(nest, machine);
  std::vector<PointWork> all;
  all.push_back({nest.axes, cycles});
  if (nest.reduction().empty()) return all;
  const std::optional<Axis> columns = contiguous_axis(nest);
  if (!is_packed(nest, machine)) {
    const bool are_lanes = columns && stride_in_lines(nest, *columns);
    const std::int64_t at_once = are_lanes ? std::max<std::int64_t>(lanes_of(nest, machine), 1) : 1;
    all.push_back({nest.spatial(), result_cycles / static_cast<double>(at_once)});
    return all;
  }
  const double of_tile = (tile_rows + copy_cycles / product_cycles) * cycles;
  for (std::size_t i = 0; i < nest.axes.size() && !nest.axes[i].reduce; ++i) {
    std::vector<Axis> others = nest.axes;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const bool are_columns = columns && nest.axes[i].var.same_as(columns->var);
    all.push_back({std::move(others), are_columns ? tile_vectors * product_cycles : of_tile});
  }
  return all;
}

}  // namespace

double cycles_of_point(const Nest& nest, const CpuModel& machine) {
  const double cycles = is_packed(nest, machine) ? product_cycles : vector_cost(nest, machine);
  return cycles / static_cast<double>(std::max<std::int64_t>(lanes_of(nest, machine), 1));
}

Expr threads_pay(const std::vector<Nest>& nests, const PrimFunc& func, const CpuModel& machine) {
  const double least = machine.least_cycles_for_threads();
  // At the least that a point can cost, what is large needs no closer look.
  const bool is_large = std::ranges::any_of(nests, [&](const Nest& nest) {
    const auto points = point_count(nest.axes);
    const auto lanes = static_cast<double>(lanes_of(nest, machine));
    return points && static_cast<double>(*points) * product_cycles >= least * lanes;
  });
  if (nests.empty() || is_large) return true;
  std::vector<Work> all;
  for (const Nest& nest : nests) {
    for (const auto& [axes, cycles] : point_work_of(nest, machine)) {
      const std::optional<Work> work = work_of(axes, cycles, func);
      if (!work) return true;
      add(all, *work);
    }
  }
  Expr pays = false;
  for (const Work& work : all) {
    if (work.sizes.empty() && work.cycles >= least) return true;
    if (work.sizes.empty() || work.cycles <= 0) continue;
    const Expr points = cast(i64, number_of_points(work.sizes));
    const auto count = static_cast<std::int64_t>(std::ceil(least / work.cycles));
    const Expr enough = points >= int_imm(i64, count);
    pays = is_const_int(pays, 0) ? enough : pays || enough;
  }
  return pays;
}

}  // namespace loopsmith
