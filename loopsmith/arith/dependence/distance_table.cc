// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/distance_table.h"

#include <algorithm>
#include <bit>

#include "loopsmith/arith/dependence/linear.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

using Interval = ConstIntBound;
using dependence::ceil_quotient;
using dependence::floor_quotient;

constexpr std::int64_t infinite = Interval::pos_inf;
constexpr Interval zero{0, 0};

bool contains_zero(const Interval& range) {
  return range.min_value <= 0 && range.max_value >= 0;
}

Interval split_outer(const Interval& range, std::int64_t factor, std::int64_t extent) {
  if (range == zero) return zero;
  const std::int64_t most = extent == infinite ? infinite : extent - 1;
  return {
      range.min_value == -infinite ? -most
                                   : std::max(floor_quotient(range.min_value, factor), -most),
      range.max_value == infinite ? most : std::min(ceil_quotient(range.max_value, factor), most)};
}

Interval split_inner(const Interval& range, const Interval& outer, std::int64_t factor) {
  if (range == zero) return zero;
  const Interval whole{-(factor - 1), factor - 1};
  if (outer == zero) {
    return {std::max(range.min_value, whole.min_value), std::min(range.max_value, whole.max_value)};
  }
  return whole;
}

Interval fused_distance(const Interval& outer, const Interval& inner, std::int64_t extent) {
  if (outer == zero) return inner;
  if (extent != infinite) {
    return arith::add(arith::multiply(outer, arith::point(extent)), inner);
  }
  // An inner distance never makes up for an outer one.
  Interval result{-infinite, infinite};
  if (outer.min_value > 0) result.min_value = 1;
  if (outer.min_value == 0) result.min_value = std::min<std::int64_t>(inner.min_value, 1);
  if (outer.max_value < 0) result.max_value = -1;
  if (outer.max_value == 0) result.max_value = std::max<std::int64_t>(inner.max_value, -1);
  return result;
}

}  // namespace

int DistanceTable::Band::find(const Ptr<Var>& loop) const {
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (loops[i].same_as(loop)) return static_cast<int>(i);
  }
  return -1;
}

bool DistanceTable::Band::same_loops(std::span<const Ptr<Var>> others) const {
  return std::equal(loops.begin(), loops.end(), others.begin(), others.end(), RefEqual());
}

std::size_t DistanceTable::size() const {
  std::size_t result = 0;
  for (const Band& band : bands_) result += band.rows.size();
  return result;
}

void DistanceTable::add(std::span<const Ptr<Var>> loops, std::span<const Interval> distances,
                        bool is_reduction) {
  check(loops.size() == distances.size(), "DistanceTable", "{} loops, {} distances", loops.size(),
        distances.size());
  auto band = std::find_if(bands_.begin(), bands_.end(),
                           [&](const Band& known) { return known.same_loops(loops); });
  if (band == bands_.end()) {
    bands_.push_back({{loops.begin(), loops.end()}, {}, {}});
    band = std::prev(bands_.end());
  }
  for (const Row& row : band->rows) {
    if (row.is_reduction == is_reduction &&
        std::equal(distances.begin(), distances.end(), band->distances.begin() + row.first)) {
      return;
    }
  }
  band->rows.push_back({static_cast<std::uint32_t>(band->distances.size()), is_reduction});
  band->distances.insert(band->distances.end(), distances.begin(), distances.end());
}

bool DistanceTable::is_parallel(const Ptr<Var>& loop, bool with_reductions) const {
  for (const Band& band : bands_) {
    const int level = band.find(loop);
    if (level < 0) continue;
    for (const Row& row : band.rows) {
      if (row.is_reduction && !with_reductions) continue;
      const Interval* const distance = band.distances.data() + row.first;
      // Of a dependence, the first distance that is not 0 is positive.
      if (distance[level].max_value > 0 && std::all_of(distance, distance + level, contains_zero)) {
        return false;
      }
    }
  }
  return true;
}

bool DistanceTable::can_reorder(std::span<const Ptr<Var>> order, bool keep_reductions) const {
  for (const Band& band : bands_) {
    // For each loop between the outermost and the innermost that move: which one takes its place.
    std::uint64_t moved = 0;
    std::size_t present = 0;
    for (const Ptr<Var>& loop : order) {
      const int place = band.find(loop);
      if (place < 0) continue;
      // No nest has so many loops; it is not proved, then.
      if (place >= 64) return false;
      moved |= std::uint64_t{1} << place;
      ++present;
    }
    if (present == 0) continue;
    if (present < order.size()) return false;
    const int outermost = std::countr_zero(moved), innermost = 63 - std::countl_zero(moved);
    for (const Row& row : band.rows) {
      if (row.is_reduction && !keep_reductions) continue;
      const Interval* const distance = band.distances.data() + row.first;
      // One that an outer loop carries keeps its order whatever the inner loops do.
      const bool carried_outside = std::any_of(distance, distance + outermost,
                                               [](const Interval& d) { return d.min_value > 0; });
      if (carried_outside) continue;
      std::size_t next = 0;
      for (int place = outermost; place <= innermost; ++place) {
        const bool is_moved = (moved >> place & 1) != 0;
        const Interval& here = distance[is_moved ? band.find(order[next++]) : place];
        if (here.min_value > 0) break;
        if (here.min_value < 0) return false;
      }
    }
  }
  return true;
}

void DistanceTable::split(const Ptr<Var>& loop, const Ptr<Var>& outer, const Ptr<Var>& inner,
                          std::int64_t factor, std::int64_t outer_extent) {
  for (Band& band : bands_) {
    const int level = band.find(loop);
    if (level < 0) continue;
    std::vector<Interval> distances;
    distances.reserve(band.distances.size() + band.rows.size());
    const std::size_t depth = band.loops.size();
    for (Row& row : band.rows) {
      const auto old = band.distances.begin() + row.first;
      row.first = static_cast<std::uint32_t>(distances.size());
      distances.insert(distances.end(), old, old + level);
      distances.push_back(split_outer(old[level], factor, outer_extent));
      distances.push_back(split_inner(old[level], distances.back(), factor));
      distances.insert(distances.end(), old + level + 1, old + static_cast<std::ptrdiff_t>(depth));
    }
    band.distances = std::move(distances);
    band.loops[static_cast<std::size_t>(level)] = outer;
    band.loops.insert(band.loops.begin() + level + 1, inner);
  }
}

void DistanceTable::fuse(const Ptr<Var>& outer, const Ptr<Var>& inner, const Ptr<Var>& fused,
                         std::int64_t inner_extent) {
  for (Band& band : bands_) {
    const int level = band.find(outer);
    if (level < 0) continue;
    // What runs beside the inner loop, the init of a reduction over nothing, is anywhere in it.
    const bool has_inner = band.find(inner) == level + 1;
    const std::int64_t most = inner_extent == infinite ? infinite : inner_extent - 1;
    const std::ptrdiff_t next = level + (has_inner ? 2 : 1);
    std::vector<Interval> distances;
    distances.reserve(band.distances.size());
    const std::size_t depth = band.loops.size();
    for (Row& row : band.rows) {
      const auto old = band.distances.begin() + row.first;
      row.first = static_cast<std::uint32_t>(distances.size());
      distances.insert(distances.end(), old, old + level);
      const Interval within = has_inner ? old[level + 1] : Interval{-most, most};
      distances.push_back(fused_distance(old[level], within, inner_extent));
      distances.insert(distances.end(), old + next, old + static_cast<std::ptrdiff_t>(depth));
    }
    band.distances = std::move(distances);
    band.loops[static_cast<std::size_t>(level)] = fused;
    if (has_inner) band.loops.erase(band.loops.begin() + level + 1);
  }
}

void DistanceTable::reorder(std::span<const Ptr<Var>> order) {
  for (Band& band : bands_) {
    std::vector<int> places;
    for (const Ptr<Var>& loop : order) {
      const int place = band.find(loop);
      if (place >= 0) places.push_back(place);
    }
    if (places.empty()) continue;
    std::vector<int> sorted = places;
    std::sort(sorted.begin(), sorted.end());
    const auto permute = [&](auto first) {
      std::vector<std::decay_t<decltype(*first)>> moved;
      for (const int place : places) moved.push_back(first[place]);
      for (std::size_t i = 0; i < moved.size(); ++i) first[sorted[i]] = moved[i];
    };
    for (const Row& row : band.rows) {
      const auto first = band.distances.begin() + row.first;
      permute(first);
      // Of updates of one accumulator, either may now be the first.
      const std::size_t depth = row.is_reduction ? band.loops.size() : 0;
      for (std::size_t i = 0; i < depth; ++i) {
        Interval& distance = first[static_cast<std::ptrdiff_t>(i)];
        const std::int64_t most = std::max(distance.max_value, -distance.min_value);
        distance = {-most, most};
      }
    }
    permute(band.loops.begin());
  }
}

void DistanceTable::rename(const Ptr<Var>& loop, const Ptr<Var>& renamed) {
  for (Band& band : bands_) {
    if (const int level = band.find(loop); level >= 0) {
      band.loops[static_cast<std::size_t>(level)] = renamed;
    }
  }
}

}  // namespace loopsmith
