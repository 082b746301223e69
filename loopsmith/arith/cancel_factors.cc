// SPDX-License-Identifier: Apache-2.0
// Divisions of products by products.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

#include "loopsmith/arith/simplifier.h"

namespace loopsmith::arith {
namespace {

using Factors = std::vector<Term>;

/// The factors of a product, in the order of their numbers.
Factors factors_of(const Terms& terms, Term term) {
  auto product = product_of(terms, term);
  if (!product || product->constant != 1) return {term};
  std::ranges::sort(product->factors);
  return std::move(product->factors);
}

Factors common_factors(const Factors& a, const Factors& b) {
  Factors both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both;
}

Factors without(const Factors& all, const Factors& some) {
  Factors rest;
  std::ranges::set_difference(all, some, std::back_inserter(rest));
  return rest;
}

}  // namespace

/// Of two terms, or of what two products have in common times such a difference: n * x - n * y is
/// n * (x - y).
ConstIntBound Simplifier::range_of_difference(Term a, Term b) {
  ConstIntBound range{};
  const std::int64_t most = knowledge_.largest_difference(a, b);
  const std::int64_t least = knowledge_.largest_difference(b, a);
  if (most != ConstIntBound::pos_inf) range.max_value = most;
  if (least != ConstIntBound::pos_inf) range.min_value = -least;
  if (terms_[a].kind != Kind::mul || terms_[b].kind != Kind::mul) return range;
  const Factors first = factors_of(terms_, a), second = factors_of(terms_, b);
  const Factors common = common_factors(first, second);
  const Factors x = without(first, common), y = without(second, common);
  if (common.empty() || x.size() != 1 || y.size() != 1) return range;
  ConstIntBound scale = point(1);
  for (const Term factor : common) scale = multiply(scale, knowledge_.bound(factor));
  return intersect(range, multiply(scale, range_of_difference(x[0], y[0])));
}

Sum Simplifier::monomial(DataType type, std::span<const Term> factors, std::int64_t scale) {
  if (factors.empty()) return sum_of_constant(scale);
  Term index = factors[0];
  for (const Term factor : factors.subspan(1)) index = terms_.make(Kind::mul, type, index, factor);
  return sum_of_piece({index, false, 1, Piece::no_upper, scale});
}

/// (f * a) // (f * b) as a // b, and (f * a) % (f * b) as f * (a % b), where f is what a product
/// and all terms of a sum have in common. A divisor is never 0.
std::optional<Sum> Simplifier::without_common_factors(const TermNode& node, const Sum& dividend,
                                                      const Sum& divisor) {
  if (divisor.count != 1 || divisor.base != 0 || dividend.count == 0 || dividend.base != 0) {
    return std::nullopt;
  }
  const Piece below = pieces_[divisor.first];
  const std::vector<Piece> above(pieces_.begin() + dividend.first,
                                 pieces_.begin() + dividend.first + dividend.count);
  const auto is_whole = [](const Piece& piece) { return piece.is_whole(); };
  if (!is_whole(below) || !std::ranges::all_of(above, is_whole)) return std::nullopt;

  const Factors divisors = factors_of(terms_, below.index);
  Factors common = divisors;
  std::int64_t scale = std::abs(below.scale);
  for (const Piece& piece : above) {
    common = common_factors(common, factors_of(terms_, piece.index));
    scale = std::gcd(scale, piece.scale);
  }
  if (common.empty() && scale == 1) return std::nullopt;

  Sum numerator = sum_of_constant(0);
  for (const Piece& piece : above) {
    const Factors rest = without(factors_of(terms_, piece.index), common);
    const auto sum = add_scaled(numerator, monomial(node.type, rest, piece.scale / scale), 1);
    if (!sum) return std::nullopt;
    numerator = *sum;
  }
  const Sum denominator = monomial(node.type, without(divisors, common), below.scale / scale);
  const Term a = term_of(node.type, numerator);
  const Term b = term_of(node.type, denominator);
  if (a == Term::none || b == Term::none) return std::nullopt;
  TermNode reduced = node;
  reduced.a = a;
  reduced.b = b;
  const std::optional<Sum> result = division(reduced);
  if (!result || (node.kind != Kind::mod && node.kind != Kind::floormod)) return result;
  const Term remainder = term_of(node.type, *result);
  const Term factor = term_of(node.type, monomial(node.type, common, scale));
  if (remainder == Term::none || factor == Term::none) return std::nullopt;
  TermNode times = node;
  times.kind = Kind::mul;
  times.a = remainder;
  times.b = factor;
  return product(times);
}

/// (q * d + r) // d as q + r // d, and (q * d + r) % d as r % d, for a sum d of several terms,
/// where q is a number and r >= 0 has fewer terms. A division that rounds to zero asks for r = 0.
std::optional<Sum> Simplifier::without_multiple(const TermNode& node, const Sum& dividend,
                                                const Sum& divisor) {
  const bool has_terms = divisor.count > 1 || (divisor.count == 1 && divisor.base != 0);
  if (!has_terms || dividend.count < divisor.count) return std::nullopt;
  const Piece first = pieces_[divisor.first];
  const auto begin = pieces_.begin() + dividend.first;
  const auto same = std::find_if(begin, begin + dividend.count,
                                 [&](const Piece& piece) { return piece.is_like(first); });
  if (same == begin + dividend.count || same->scale % first.scale != 0) return std::nullopt;
  const std::int64_t quotient = same->scale / first.scale;
  const auto rest = scaled(divisor, -quotient);
  const auto remainder = rest ? add_scaled(dividend, *rest, 1) : rest;
  if (!remainder || remainder->count + divisor.count > dividend.count) return std::nullopt;
  const bool is_remainder = node.kind == Kind::floormod || node.kind == Kind::mod;
  const bool is_exact = remainder->is_constant() && remainder->base == 0;
  if (is_exact) return sum_of_constant(is_remainder ? 0 : quotient);
  if (node.kind != Kind::floordiv && node.kind != Kind::floormod) return std::nullopt;
  if (bound_of(node.type, *remainder).min_value < 0) return std::nullopt;
  TermNode reduced = node;
  reduced.a = term_of(node.type, *remainder);
  if (reduced.a == Term::none) return std::nullopt;
  const auto result = division(reduced);
  return result && !is_remainder ? add_scaled(*result, sum_of_constant(quotient), 1) : result;
}

}  // namespace loopsmith::arith
