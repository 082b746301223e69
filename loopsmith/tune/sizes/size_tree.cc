// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/sizes/size_tree.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "loopsmith/support/error.h"
#include "loopsmith/support/json.h"

namespace loopsmith::tune {
namespace {

/// A split that saves less than this share of the time is left out.
constexpr double split_gain = 0.005;

/// Which points come to a part of the tree.
using Places = std::vector<std::size_t>;

/// Points, and what each variant costs.
struct Table {
  const std::vector<Sizes>& points;
  const std::vector<std::vector<double>>& costs;

  /// The variant that costs least over some points, and how much.
  std::pair<int, double> cheapest(const Places& places) const {
    std::pair<int, double> found = {0, std::numeric_limits<double>::infinity()};
    for (std::size_t variant = 0; variant < costs.front().size(); ++variant) {
      const double cost = cost_of(places, [&](std::size_t) { return variant; });
      if (cost < found.second) found = {static_cast<int>(variant), cost};
    }
    return found;
  }

  /// What points cost with the variants that are chosen for them.
  template <class Choose>
  double cost_of(const Places& places, Choose&& choose) const {
    double sum = 0;
    for (const std::size_t place : places) sum += costs[place][choose(place)];
    return sum;
  }

  double least_cost(const Places& places) const {
    double sum = 0;
    for (const std::size_t place : places) sum += std::ranges::min(costs[place]);
    return sum;
  }

  /// The points where a size is below a threshold, and the others.
  std::pair<Places, Places> divided(const Places& places, const std::string& name,
                                    std::int64_t threshold) const {
    std::pair<Places, Places> parts;
    for (const std::size_t place : places) {
      (points[place].at(name) < threshold ? parts.first : parts.second).push_back(place);
    }
    return parts;
  }

  SizeTree grown(const Places& places) const {
    const auto [variant, cost] = cheapest(places);
    if (cost <= least_cost(places) * (1 + 1e-9)) return leaf(variant);
    SizeTree split;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [name, unused] : points.front()) {
      std::set<std::int64_t> values;
      for (const std::size_t place : places) values.insert(points[place].at(name));
      for (auto low = values.begin(), high = std::next(low); high != values.end(); ++low, ++high) {
        const double middle =
            std::nearbyint(std::sqrt(static_cast<double>(*low) * static_cast<double>(*high)));
        const auto threshold = std::clamp(static_cast<std::int64_t>(middle), *low + 1, *high);
        const auto [below, above] = divided(places, name, threshold);
        const double after = cheapest(below).second + cheapest(above).second;
        if (after >= least && !split.name.empty()) continue;
        least = after;
        split.name = name;
        split.threshold = threshold;
      }
    }
    if (split.name.empty()) return leaf(variant);
    const auto [below, above] = divided(places, split.name, split.threshold);
    split.parts = {grown(below), grown(above)};
    return split;
  }

  SizeTree pruned(SizeTree tree, const Places& places, double tolerance) const {
    if (tree.is_leaf()) return tree;
    const auto [below, above] = divided(places, tree.name, tree.threshold);
    tree.parts = {pruned(std::move(tree.parts[0]), below, tolerance),
                  pruned(std::move(tree.parts[1]), above, tolerance)};
    const auto [variant, cost] = cheapest(places);
    const double with_parts = cost_of(places, [&](std::size_t place) {
      return static_cast<std::size_t>(tree.decide(points[place]));
    });
    return cost - with_parts <= tolerance ? leaf(variant) : tree;
  }

  static SizeTree leaf(int variant) { return {.variant = variant}; }
};

std::string indented(const std::string& text) {
  std::string made = "  ";
  for (const char each : text) {
    made += each;
    if (each == '\n') made += "  ";
  }
  return made;
}

SizeTree tree_of(const JsonValue& json) {
  if (const auto* variant = json.as<std::int64_t>(); variant && *variant >= 0) {
    return {.variant = static_cast<int>(*variant)};
  }
  const auto* parts = json.as<JsonValue::List>();
  const bool is_split = parts && parts->size() == 4;
  const auto* name = is_split ? (*parts)[0].as<std::string>() : nullptr;
  const auto* threshold = is_split ? (*parts)[1].as<std::int64_t>() : nullptr;
  require(name && threshold, ErrorKind::format, "tree_is_of_sizes",
          hint("a tree is a variant, or [size, threshold, below, above]"), {},
          "tune: what decides between variants is no tree over sizes");
  return {.name = *name,
          .threshold = *threshold,
          .parts = {tree_of((*parts)[2]), tree_of((*parts)[3])}};
}

}  // namespace

int SizeTree::decide(const Sizes& sizes) const {
  if (is_leaf()) return variant;
  return parts[sizes.at(name) < threshold ? 0 : 1].decide(sizes);
}

std::string SizeTree::text() const {
  if (is_leaf()) return fmt::format("variant {}", variant);
  return fmt::format("if {} < {}:\n{}\nelse:\n{}", name, threshold, indented(parts[0].text()),
                     indented(parts[1].text()));
}

std::string SizeTree::as_json() const {
  if (is_leaf()) return std::to_string(variant);
  std::string text = "[";
  append_json(text, name);
  return text + fmt::format(", {}, {}, {}]", threshold, parts[0].as_json(), parts[1].as_json());
}

SizeTree SizeTree::from_json(std::string_view text) {
  return tree_of(parse_json(text, "tree of sizes"));
}

SizeTree fitted_tree(const std::vector<Sizes>& points,
                     const std::vector<std::vector<double>>& costs) {
  const Table table{points, costs};
  Places all(points.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return table.pruned(table.grown(all), all, split_gain * table.least_cost(all));
}

}  // namespace loopsmith::tune
