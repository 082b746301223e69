// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/model/features.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "loopsmith/tune/model/cost_model.h"

namespace loopsmith::tune {
namespace {

double scaled(double value) {
  return std::log2(1 + std::max(value, 0.0));
}

/// How the innermost loop that moves an access at all moves it.
enum class Stride { fixed, unit, strided, unknown };

Stride stride_of(const Access& access) {
  if (access.motions.empty()) return Stride::fixed;
  const Motion& inner = access.motions.back();
  if (!inner.is_known) return Stride::unknown;
  if (inner.distinct <= 1) return Stride::fixed;
  return std::abs(inner.stride) == 1 ? Stride::unit : Stride::strided;
}

void append(std::vector<double>& row, const Statement& statement, const Cost& cost) {
  double iterations = 1, vector_lanes = 1, unrolled = 1, parallel = 1, around_parallel = 1;
  bool is_inside = false;
  for (const NestLoop& loop : statement.loops) {
    iterations *= loop.extent;
    if (loop.kind == ForKind::vectorized) vector_lanes *= loop.extent;
    if (loop.kind == ForKind::unrolled) unrolled *= loop.extent;
    if (loop.kind == ForKind::parallel) {
      parallel *= loop.extent;
      is_inside = true;
    } else if (!is_inside) {
      around_parallel *= loop.extent;
    }
  }
  const double innermost = statement.loops.empty() ? 1 : statement.loops.back().extent;
  std::array<double, 4> strides{};
  double bytes = 0;
  for (const Access& access : statement.accesses) {
    ++strides[static_cast<std::size_t>(stride_of(access))];
    double distinct = 1;
    for (const Motion& motion : access.motions) distinct *= std::max(motion.distinct, 1.0);
    bytes += std::min(distinct * access.bytes, access.buffer_bytes);
  }
  const auto accesses = static_cast<double>(statement.accesses.size());
  const Operations& work = statement.operations;
  const std::array<double, statement_features.size()> numbers{
      scaled(cost.cycles()),
      scaled(cost.compute),
      scaled(cost.first_cache),
      scaled(cost.core_cache),
      scaled(cost.last_cache),
      scaled(cost.launches),
      scaled(cost.threads),
      static_cast<double>(statement.loops.size()),
      scaled(iterations),
      scaled(innermost),
      scaled(vector_lanes),
      scaled(unrolled),
      scaled(parallel),
      scaled(is_inside ? around_parallel : 0),
      accesses,
      strides[static_cast<std::size_t>(Stride::unit)],
      strides[static_cast<std::size_t>(Stride::fixed)],
      strides[static_cast<std::size_t>(Stride::strided)],
      strides[static_cast<std::size_t>(Stride::unknown)],
      scaled(bytes),
      scaled(work.simple),
      scaled(work.divisions),
      scaled(work.functions),
      scaled(work.conditions)};
  row.insert(row.end(), numbers.begin(), numbers.end());
}

}  // namespace

std::vector<double> features_of(const Ptr<PrimFunc>& func, const CpuModel& machine,
                                const LowerOptions& options) {
  const std::vector<Statement> statements = statements_of(func, options);
  const std::vector<Cost> costs = costs_of(statements, machine);
  std::vector<std::size_t> order(statements.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t place) { return costs[place].cycles(); });
  std::vector<double> row{std::log2(std::max(seconds_of(costs), 1e-12)),
                          static_cast<double>(statements.size())};
  for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), featured_statements); ++i) {
    append(row, statements[order[i]], costs[order[i]]);
  }
  row.resize(2 + featured_statements * statement_features.size());
  return row;
}

}  // namespace loopsmith::tune
