// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/swizzle.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

bool is_xor(const Expr& expr) {
  const auto* made = expr.as<Call>();
  return made && made->op == op("bitwise_xor");
}

/// What may be swizzles in a map.
std::vector<Expr> swizzles_of(const IndexMap& map) {
  std::vector<Expr> found;
  for (const Expr& index : map.final_indices) {
    pre_order_visit(index, [&](const Ref& ref) {
      const Expr expr = Expr::from(ref);
      if (!expr.defined() || !(expr.is<FloorMod>() || is_xor(expr))) return true;
      const auto is_same = [&](const Expr& known) { return structural_equal(known, expr); };
      if (std::ranges::none_of(found, is_same)) found.push_back(expr);
      return true;
    });
  }
  return found;
}

/// A summand: `scale * value`.
struct Summand {
  Expr value;
  std::int64_t scale;
};

void add_summands(const Expr& expr, std::int64_t scale, std::vector<Summand>& summands) {
  const auto* sum = expr.as<Add>();
  const auto* difference = expr.as<Sub>();
  const auto* product = expr.as<Mul>();
  if (sum || difference) {
    add_summands(sum ? sum->a : difference->a, scale, summands);
    add_summands(sum ? sum->b : difference->b, sum ? scale : -scale, summands);
  } else if (const std::int64_t* factor = product ? as_int(product->b) : nullptr) {
    std::int64_t all = 0;
    if (__builtin_mul_overflow(scale, *factor, &all)) return;
    summands.push_back({product->a, all});
  } else {
    summands.push_back({expr, scale});
  }
}

/// What a swizzle may be a permutation of: parts of a sum, operands of an exclusive or.
std::vector<Summand> candidates_of(const Expr& swizzle) {
  std::vector<Summand> candidates;
  if (const auto* remainder = swizzle.as<FloorMod>()) {
    add_summands(remainder->a, 1, candidates);
  } else {
    for (const Expr& operand : swizzle.as<Call>()->args) candidates.push_back({operand, 1});
  }
  return candidates;
}

/// The number from 1 to n - 1 by which `scale` has the product 1, modulo n; nullopt: there is none.
std::optional<std::int64_t> inverse_modulo(std::int64_t scale, std::int64_t n) {
  std::int64_t a = ((scale % n) + n) % n, b = n, x = 1, y = 0;  // a == x * scale, modulo n.
  while (a != 0 && b % a != 0) {
    const std::int64_t quotient = b / a;
    std::tie(a, b) = std::pair(b % a, a);
    std::tie(x, y) = std::pair(y - quotient * x, x);
  }
  if (a != 1) return std::nullopt;
  return ((x % n) + n) % n;
}

/// A box, and what is known of the indices that run through it.
class Box {
 public:
  Box(const IndexMap& map, std::span<const Ptr<Range>> ranges, Analyzer& outside)
      : map_(&map), ranges_(ranges), outside_(&outside) {
    for (std::size_t i = 0; i < ranges.size(); ++i) inside_.bind(map.initial_indices[i], ranges[i]);
  }

  /// The value of index `place` where the swizzle is `image`; null where it is none of this index.
  Expr value_before(const Expr& swizzle, std::size_t place, std::int64_t scale, const Expr& image) {
    const Ptr<Var>& index = map_->initial_indices[place];
    const Expr& extent = ranges_[place]->extent;
    if (!is_const_int(ranges_[place]->min, 0)) return {};
    if (const auto* remainder = swizzle.as<FloorMod>()) {
      const Expr rest = substitute(remainder->a, {{index, zero_of(index->dtype)}});
      const bool fits =
          structural_equal(remainder->b, extent) || outside_->can_prove_equal(remainder->b, extent);
      return fits ? unrotated(image, scale, rest, remainder->b) : Expr();
    }
    const auto& args = swizzle.as<Call>()->args;
    const Expr& other = args[0].same_as(index) ? args[1] : args[0];
    if (uses_variable(other, index) || other.dtype() != index->dtype) return {};
    const ConstIntBound bound = inside_.const_int_bound(other);
    if (bound.min_value < 0 || bound.max_value > max_period) return {};
    const auto period =
        static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bound.max_value) + 1));
    const Expr rest = floormod(extent, int_imm(extent.dtype(), period));
    if (!outside_->can_prove(rest == zero_of(extent.dtype()))) return {};
    return call(op("bitwise_xor"), {image, other});
  }

  Expr simplify(const Expr& expr) { return inside_.simplify(expr); }

 private:
  static constexpr std::int64_t max_period = std::int64_t{1} << 30;

  /// x where (scale * x + rest) % n is `image`.
  static Expr unrotated(const Expr& image, std::int64_t scale, const Expr& rest, const Expr& n) {
    if (scale == 1) return floormod(image - rest, n);
    if (scale == -1) return floormod(rest - image, n);
    const std::int64_t* period = as_int(n);
    if (!period || *period < 1 || *period > max_period) return {};
    const auto inverse = inverse_modulo(scale, *period);
    if (!inverse) return {};
    return floormod(floormod(image - rest, n) * int_imm(n.dtype(), *inverse), n);
  }

  const IndexMap* map_;
  std::span<const Ptr<Range>> ranges_;
  Analyzer* outside_;
  Analyzer inside_;
};

std::optional<std::size_t> place_of(const IndexMap& map, const Expr& index) {
  const auto found = std::ranges::find_if(map.initial_indices,
                                          [&](const Ptr<Var>& one) { return one.same_as(index); });
  if (found == map.initial_indices.end()) return std::nullopt;
  return static_cast<std::size_t>(found - map.initial_indices.begin());
}

/// How often a variable stands in an expression.
std::size_t count_uses(const Expr& expr, const Ptr<Var>& variable) {
  std::size_t count = 0;
  pre_order_visit(expr, [&](const Ref& ref) {
    count += ref.same_as(variable) ? 1 : 0;
    return true;
  });
  return count;
}

/// The map with `variable` in the place of a swizzle.
IndexMap replaced(const IndexMap& map, const Expr& swizzle, const Ptr<Var>& variable) {
  IndexMap result = map;
  Rewriter rewrite;
  const auto renewed = [&](const Expr& made) {
    return structural_equal(made, swizzle) ? Expr(variable) : made;
  };
  rewrite.on<FloorMod>([&](const FloorMod& node) { return renewed(rewrite.children(node)); });
  rewrite.on<Call>([&](const Call& node) { return renewed(rewrite.children(node)); });
  for (Expr& index : result.final_indices) index = rewrite(index);
  return result;
}

/// Takes out a swizzle of a whole index.
std::optional<Unswizzled> of_index(const IndexMap& map, std::span<const Ptr<Range>> ranges,
                                   Analyzer& analyzer) {
  Box box(map, ranges, analyzer);
  for (const Expr& swizzle : swizzles_of(map)) {
    for (const auto& [value, scale] : candidates_of(swizzle)) {
      const auto place = place_of(map, value);
      if (!place || count_uses(swizzle, map.initial_indices[*place]) != 1) continue;
      const Ptr<Var>& old = map.initial_indices[*place];
      const Ptr<Var> image = var(old->name, old->dtype);
      const Expr before = box.value_before(swizzle, *place, scale, image);
      if (!before.defined()) continue;
      Unswizzled made{replaced(map, swizzle, image), {ranges.begin(), ranges.end()}, {}};
      const bool is_left = std::ranges::any_of(
          made.map.final_indices, [&](const Expr& index) { return uses_variable(index, old); });
      if (is_left) continue;
      made.back.assign(map.initial_indices.begin(), map.initial_indices.end());
      made.back[*place] = before;
      made.map.initial_indices[*place] = image;
      return made;
    }
  }
  return std::nullopt;
}

/// The digit (index // lower) % extent.
struct Digit {
  std::size_t place;
  std::int64_t lower;
  std::int64_t extent;
};

/// `expr` as a digit of an index that is cut by it into whole parts.
std::optional<Digit> digit_of(const IndexMap& map, std::span<const Ptr<Range>> ranges, Expr expr) {
  std::int64_t modulus = 0, lower = 1;
  if (const auto* outer = expr.as<FloorMod>(); outer && as_int(outer->b)) {
    modulus = *as_int(outer->b);
    expr = outer->a;
  }
  if (const auto* inner = expr.as<FloorDiv>(); inner && as_int(inner->b)) {
    lower = *as_int(inner->b);
    expr = inner->a;
    if (const auto* low = expr.as<FloorMod>(); low && as_int(low->b) && modulus == 0) {
      if (lower < 1 || *as_int(low->b) % lower != 0) return std::nullopt;
      modulus = *as_int(low->b) / lower;
      expr = low->a;
    }
  }
  const auto place = place_of(map, expr);
  if (!place || !is_const_int(ranges[*place]->min, 0)) return std::nullopt;
  const std::int64_t* all = as_int(ranges[*place]->extent);
  if (!all || *all < 1 || lower < 1 || *all % lower != 0) return std::nullopt;
  if (modulus == 0) modulus = *all / lower;
  if (modulus < 1 || (*all / lower) % modulus != 0) return std::nullopt;
  if (lower == 1 && modulus == *all) return std::nullopt;  // It is all of the index.
  return Digit{*place, lower, modulus};
}

/// The map of the digits of an index in its place: those above one, it, and those below.
Unswizzled in_digits(const IndexMap& map, std::span<const Ptr<Range>> ranges, const Digit& digit) {
  const Ptr<Var>& index = map.initial_indices[digit.place];
  const DataType type = index->dtype;
  const std::int64_t above = *as_int(ranges[digit.place]->extent) / (digit.lower * digit.extent);
  Unswizzled made{map, {ranges.begin(), ranges.end()}, {}};
  made.back.assign(map.initial_indices.begin(), map.initial_indices.end());
  auto& initial = made.map.initial_indices;
  const auto at = static_cast<std::ptrdiff_t>(digit.place);
  initial.erase(initial.begin() + at);
  made.ranges.erase(made.ranges.begin() + at);
  Expr value = int_imm(type, 0);
  std::int64_t weight = 1;
  for (const std::int64_t extent : {digit.lower, digit.extent, above}) {
    if (extent > 1) {
      const Ptr<Var> part = var(index->name, type);
      value = part * int_imm(type, weight) + value;
      initial.insert(initial.begin() + at, part);
      made.ranges.insert(made.ranges.begin() + at, range(int_imm(type, 0), int_imm(type, extent)));
    }
    weight *= extent;
  }
  made.back[digit.place] = value;
  Analyzer inside;
  for (std::size_t i = 0; i < initial.size(); ++i) inside.bind(initial[i], made.ranges[i]);
  for (Expr& one : made.map.final_indices) {
    one = inside.simplify(substitute(one, {{index, value}}));
  }
  return made;
}

}  // namespace

std::optional<Unswizzled> without_swizzle(const IndexMap& map, std::span<const Ptr<Range>> ranges,
                                          Analyzer& analyzer) {
  if (auto made = of_index(map, ranges, analyzer)) return made;
  for (const Expr& swizzle : swizzles_of(map)) {
    for (const Summand& candidate : candidates_of(swizzle)) {
      const auto digit = digit_of(map, ranges, candidate.value);
      if (!digit) continue;
      const Unswizzled cut = in_digits(map, ranges, *digit);
      auto made = of_index(cut.map, cut.ranges, analyzer);
      if (!made) continue;
      Substitution digits;
      for (std::size_t i = 0; i < made->back.size(); ++i) {
        digits[cut.map.initial_indices[i]] = made->back[i];
      }
      std::vector<Expr> back;
      for (const Expr& index : cut.back) back.push_back(substitute(index, digits));
      made->back = std::move(back);
      return made;
    }
  }
  return std::nullopt;
}

}  // namespace loopsmith
