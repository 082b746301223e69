// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/sizes/size_conditions.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "loopsmith/ir/operators.h"
#include "loopsmith/tune/sizes/sizes.h"

namespace loopsmith::tune {
namespace {

/// The values of a size from `low` to below `high`.
struct Bounds {
  static constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

  std::int64_t low = lowest;
  std::int64_t high = highest;

  bool operator==(const Bounds&) const = default;
};

/// Sizes that are within their bounds; those without a name here may have any value.
using Box = std::map<std::string, Bounds>;

Bounds bounds_of(const Box& box, const std::string& name) {
  const auto found = box.find(name);
  return found == box.end() ? Bounds() : found->second;
}

Box with_bounds(Box box, const std::string& name, Bounds bounds) {
  if (bounds == Bounds()) {
    box.erase(name);
  } else {
    box[name] = bounds;
  }
  return box;
}

bool contains(const Box& box, const Box& other) {
  return std::ranges::all_of(box, [&](const auto& each) {
    const Bounds inner = bounds_of(other, each.first);
    return each.second.low <= inner.low && inner.high <= each.second.high;
  });
}

bool contains(const std::vector<Box>& boxes, const Box& other) {
  return std::ranges::any_of(boxes, [&](const Box& box) { return contains(box, other); });
}

/// The paths to each variant that some sizes take.
void add_paths(const SizeTree& tree, const PrimFunc& func, const Box& path,
               std::map<int, std::vector<Box>>& paths) {
  if (tree.is_leaf()) {
    paths[tree.variant].push_back(path);
    return;
  }
  size_variable(func, tree.name);
  Bounds below = bounds_of(path, tree.name), above = below;
  below.high = std::min(below.high, tree.threshold);
  above.low = std::max(above.low, tree.threshold);
  if (below.low < below.high) {
    add_paths(tree.parts[0], func, with_bounds(path, tree.name, below), paths);
  }
  if (above.low < above.high) {
    add_paths(tree.parts[1], func, with_bounds(path, tree.name, above), paths);
  }
}

/// Two boxes as one, where they differ in one size and touch there, or one is within the other.
std::optional<Box> united(const Box& first, const Box& second) {
  if (contains(first, second)) return first;
  if (contains(second, first)) return second;
  for (const auto& [name, own] : first) {
    const Bounds other = bounds_of(second, name);
    const bool touch = own.low <= other.high && other.low <= own.high;
    if (!touch || with_bounds(first, name, {}) != with_bounds(second, name, {})) continue;
    return with_bounds(first, name, {std::min(own.low, other.low), std::max(own.high, other.high)});
  }
  return {};
}

std::vector<Box> united(std::vector<Box> boxes) {
  for (std::size_t i = 0; i < boxes.size();) {
    bool is_new = false;
    for (std::size_t k = i + 1; k < boxes.size() && !is_new; ++k) {
      if (auto both = united(boxes[i], boxes[k])) {
        boxes[i] = *std::move(both);
        boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(k));
        is_new = true;
      }
    }
    i = is_new ? 0 : i + 1;  // It may touch others now.
  }
  return boxes;
}

/// The box without the bounds that keep out nothing but what others take.
Box widened(Box box, const std::vector<Box>& taken) {
  const Box before = box;
  for (const auto& [name, bounds] : before) {
    Bounds kept = bounds;
    const auto is_taken = [&](Bounds out) { return contains(taken, with_bounds(box, name, out)); };
    if (kept.low != Bounds::lowest && is_taken({Bounds::lowest, kept.low})) {
      kept.low = Bounds::lowest;
    }
    if (kept.high != Bounds::highest && is_taken({kept.high, Bounds::highest})) {
      kept.high = Bounds::highest;
    }
    box = with_bounds(std::move(box), name, kept);
  }
  return box;
}

Expr condition_of(const Box& box, const PrimFunc& func) {
  Expr all;
  const auto add = [&](const Expr& one) { all = all.defined() ? all && one : one; };
  for (const auto& [name, bounds] : box) {
    const Expr size = size_variable(func, name);
    if (bounds.low != Bounds::lowest) add(size >= int_imm(size.dtype(), bounds.low));
    if (bounds.high != Bounds::highest) add(size < int_imm(size.dtype(), bounds.high));
  }
  return all;
}

}  // namespace

std::vector<VariantCondition> size_conditions(const SizeTree& tree, const PrimFunc& func) {
  std::map<int, std::vector<Box>> paths;
  add_paths(tree, func, {}, paths);
  std::vector<VariantCondition> conditions;
  std::vector<Box> taken;
  for (const auto& [variant, boxes] : paths) {
    Expr any;
    std::vector<Box> own;
    for (const Box& box : united(boxes)) own.push_back(widened(box, taken));
    for (const Box& box : united(std::move(own))) {
      const Expr one = condition_of(box, func);
      any = any.defined() ? any || one : one;
      taken.push_back(box);
    }
    conditions.push_back({variant, any});
  }
  conditions.back().condition = Expr();
  return conditions;
}

}  // namespace loopsmith::tune
