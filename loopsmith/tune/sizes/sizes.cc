// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/sizes/sizes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith::tune {
namespace {

/// So many values of a range are weighed at most; of more, evenly spaced ones.
constexpr std::int64_t max_weighed = 4096;

SizeWeights weights_of(const std::string& name, const SizeSpec& spec) {
  if (const auto* size = std::get_if<std::int64_t>(&spec)) return {{*size, 1.0}};
  const auto* range = std::get_if<SizeRange>(&spec);
  SizeWeights weights = range ? range->drawn(drawn_points) : std::get<SizeWeights>(spec);
  double sum = 0;
  bool are_shares = true;
  for (const auto& [size, weight] : weights) {
    are_shares = are_shares && std::isfinite(weight) && weight >= 0;
    sum += weight;
  }
  require(are_shares && sum > 0, "weights_are_shares", hint("say how often each value is met"),
          "tune: the weights of size {} are {}, expected numbers that are not negative, one of "
          "them positive",
          name, weights);
  return weights;
}

using Choices = std::vector<std::pair<std::string, SizeWeights>>;

/// Every choice of each size.
std::vector<DrawnSizes> grid_of(const Choices& choices) {
  std::vector<DrawnSizes> points = {{}};
  for (const auto& [name, weights] : choices) {
    std::vector<DrawnSizes> more;
    for (const DrawnSizes& point : points) {
      for (const auto& [size, weight] : weights) {
        DrawnSizes made = point;
        made.sizes[name] = size;
        made.weight *= weight;
        more.push_back(std::move(made));
      }
    }
    points = std::move(more);
  }
  return points;
}

/// The smallest, the largest, and others at random.
std::vector<DrawnSizes> random_points(const Choices& choices, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<DrawnSizes> points(2);
  for (const auto& [name, weights] : choices) {
    points[0].sizes[name] = weights.begin()->first;
    points[1].sizes[name] = weights.rbegin()->first;
  }
  std::set<Sizes> known = {points[0].sizes, points[1].sizes};
  for (std::size_t i = points.size(); i < drawn_points; ++i) {
    Sizes sizes;
    for (const auto& [name, weights] : choices) {
      std::vector<double> shares;
      for (const auto& each : weights) shares.push_back(each.second);
      std::discrete_distribution<int> choose(shares.begin(), shares.end());
      sizes[name] = std::next(weights.begin(), choose(random))->first;
    }
    if (known.insert(sizes).second) points.push_back({std::move(sizes)});
  }
  return points;
}

}  // namespace

std::string sizes_text(const Sizes& sizes) {
  std::vector<std::string> parts;
  for (const auto& [name, size] : sizes) parts.push_back(fmt::format("{}={}", name, size));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::pair<std::string, Expr>> size_variables(const PrimFunc& func) {
  std::vector<std::pair<std::string, Expr>> found;
  const auto add = [&](const Expr& extent) {
    const auto* variable = extent.as<Var>();
    if (!variable || !(extent.dtype().is_int() || extent.dtype().is_uint())) return;
    const auto is_same = [&](const auto& each) { return each.first == variable->name; };
    if (std::ranges::none_of(found, is_same)) found.emplace_back(variable->name, extent);
  };
  for (std::size_t k = 0; k < func.params.size(); ++k) {
    if (!func.buffer_map[k].defined()) {
      add(func.params[k]);
      continue;
    }
    for (const Expr& extent : func.buffer_map[k]->shape) add(extent);
  }
  return found;
}

Expr size_variable(const PrimFunc& func, const std::string& name) {
  std::vector<std::string> names;
  for (auto& [each, variable] : size_variables(func)) {
    if (each == name) return variable;
    names.push_back(each);
  }
  fail(ErrorKind::user, "size_is_known", hint("name the sizes as the function's tensors do"), {},
       "tune: the function has no size {}; it has {}", name,
       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

Sizes sizes_of(const PrimFunc& func, const std::vector<NDArray>& arguments) {
  Sizes sizes;
  for (std::size_t k = 0; k < std::min(func.params.size(), arguments.size()); ++k) {
    const Ptr<Buffer>& buffer = func.buffer_map[k];
    if (!buffer || buffer->shape.size() != arguments[k].shape().size()) continue;
    for (std::size_t axis = 0; axis < buffer->shape.size(); ++axis) {
      const auto* size = buffer->shape[axis].as<Var>();
      if (size) sizes.emplace(size->name, arguments[k].shape()[axis]);
    }
  }
  return sizes;
}

Ptr<PrimFunc> with_sizes(const Ptr<PrimFunc>& func, const Sizes& sizes) {
  Substitution values;
  for (const auto& [name, variable] : size_variables(*func)) {
    const auto found = sizes.find(name);
    if (found != sizes.end()) values.emplace(variable, int_imm(variable.dtype(), found->second));
  }
  return values.empty() ? func : with_body(func, substitute(func->body, values));
}

SizeRange::SizeRange(std::int64_t low, std::int64_t high, std::int64_t step,
                     std::function<double(std::int64_t)> weight)
    : low_(low), high_(high), step_(step), weight_(std::move(weight)) {
  require(1 <= low && low <= high && step >= 1, ErrorKind::bounds, "range_has_sizes",
          hint("give 1 <= low <= high, and a step of 1 or more"), {},
          "SizeRange: {} to {} by {} has no sizes", low, high, step);
}

std::int64_t SizeRange::rounded(double value) const {
  const double steps =
      std::nearbyint((value - static_cast<double>(low_)) / static_cast<double>(step_));
  return low_ + std::min(static_cast<std::int64_t>(steps), (high_ - low_) / step_) * step_;
}

SizeWeights SizeRange::drawn(std::size_t count) const {
  const double ratio = static_cast<double>(high_) / static_cast<double>(low_);
  SizeWeights weights;
  for (std::size_t i = 0; i < count; ++i) {
    const double share =
        static_cast<double>(i) / static_cast<double>(std::max<std::size_t>(count - 1, 1));
    weights.emplace(rounded(static_cast<double>(low_) * std::pow(ratio, share)), 0.0);
  }
  const std::int64_t values = (high_ - low_) / step_ + 1;
  const std::int64_t stride = (values + max_weighed - 1) / max_weighed * step_;
  auto nearest = weights.begin();
  for (std::int64_t value = low_; value <= high_; value += stride) {
    // It is of the next one from their geometric mean on.
    for (auto next = std::next(nearest); next != weights.end(); next = std::next(nearest)) {
      const auto square = static_cast<double>(value) * static_cast<double>(value);
      if (square < static_cast<double>(nearest->first) * static_cast<double>(next->first)) break;
      nearest = next;
    }
    nearest->second += weight_ ? weight_(value) : 1.0 / static_cast<double>(value);
  }
  return weights;
}

std::vector<DrawnSizes> drawn_sizes(const PrimFunc& func,
                                    const std::map<std::string, SizeSpec>& specs,
                                    std::uint64_t seed) {
  Choices choices;
  std::size_t combinations = 1;
  for (const auto& [name, spec] : specs) {
    size_variable(func, name);
    choices.emplace_back(name, weights_of(name, spec));
    combinations *= choices.back().second.size();
  }
  std::vector<DrawnSizes> points =
      combinations <= drawn_points ? grid_of(choices) : random_points(choices, seed);
  std::erase_if(points, [](const DrawnSizes& point) { return point.weight <= 0; });
  double sum = 0;
  for (const DrawnSizes& point : points) sum += point.weight;
  for (DrawnSizes& point : points) point.weight /= sum;
  return points;
}

}  // namespace loopsmith::tune
