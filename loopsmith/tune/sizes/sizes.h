// SPDX-License-Identifier: Apache-2.0
// Symbolic sizes: which there are, what calls will have, and how often.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/runtime/ndarray.h"

namespace loopsmith::tune {

/// Values of symbolic sizes, by name.
using Sizes = std::map<std::string, std::int64_t>;
/// What a line says of them: `m=64, n=2`.
std::string sizes_text(const Sizes& sizes);
/// How often each value of a size is met.
using SizeWeights = std::map<std::int64_t, double>;

/// The symbolic sizes and the whole numbers among a function's parameters, by name, in their order.
std::vector<std::pair<std::string, Expr>> size_variables(const PrimFunc& func);
/// The one of that name. Throws a UserError where there is none.
Expr size_variable(const PrimFunc& func, const std::string& name);

/// The symbolic sizes that arguments have.
Sizes sizes_of(const PrimFunc& func, const std::vector<NDArray>& arguments);
/// The function whose body has some sizes as numbers.
Ptr<PrimFunc> with_sizes(const Ptr<PrimFunc>& func, const Sizes& sizes);

/// The values of a symbolic size, both ends included.
class SizeRange {
 public:
  /// All values are `low` plus a multiple of `step`. `weight` says how often one is met, beside
  /// others; without, every doubling as often as the one before. Throws a UserError where there is
  /// no value, or one below 1.
  SizeRange(std::int64_t low, std::int64_t high, std::int64_t step = 1,
            std::function<double(std::int64_t)> weight = {});

  std::int64_t low() const { return low_; }
  std::int64_t high() const { return high_; }
  std::int64_t step() const { return step_; }
  /// Some of the values, spaced by equal ratios, both ends among them; the weight of each is that
  /// of the values nearest to it.
  SizeWeights drawn(std::size_t count) const;

 private:
  std::int64_t rounded(double value) const;

  std::int64_t low_, high_, step_;
  std::function<double(std::int64_t)> weight_;
};

/// A size, a range of sizes, or sizes with their weights.
using SizeSpec = std::variant<std::int64_t, SizeRange, SizeWeights>;

/// Values of all symbolic sizes, and how often they are met.
struct DrawnSizes {
  Sizes sizes;
  double weight = 1;
};

/// So many sizes are drawn, about.
inline constexpr std::size_t drawn_points = 8;

/// Some sizes of ranges: a grid of all where it is small, else random ones. Their weights add up to
/// 1. Throws a UserError where a size is none of the function's, or a weight is no share.
std::vector<DrawnSizes> drawn_sizes(const PrimFunc& func,
                                    const std::map<std::string, SizeSpec>& specs,
                                    std::uint64_t seed);

}  // namespace loopsmith::tune
