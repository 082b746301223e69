// SPDX-License-Identifier: Apache-2.0
// Canonical sums divided by constants: quotients and remainders, rounded down or to zero.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "loopsmith/arith/simplifier.h"

namespace loopsmith::arith {

/// Looks for a place value g that divides `divisor`, such that sum = high * g + low, 0 <= low < g.
/// The largest one is taken.
std::int64_t Simplifier::split_by_digit(const Sum& sum, std::int64_t divisor, Sum& high, Sum& low) {
  std::array<std::int64_t, 8> places{};
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < sum.count && count < places.size(); ++i) {
    const std::int64_t place = std::gcd(divisor, pieces_[sum.first + i].scale);
    if (place > 1) places[count++] = place;
  }
  std::sort(places.begin(), places.begin() + count, std::greater<>());
  const auto* end = std::unique(places.begin(), places.begin() + count);
  for (const auto* place = places.begin(); place != end; ++place) {
    low = pieces_where(sum, *place, false);
    low.base = floor_remainder(sum.base, *place);
    const ConstIntBound range = bound_of(low);
    if (range.min_value < 0 || range.max_value >= *place) continue;
    high = pieces_where(sum, *place, true);
    high.base = sum.base - low.base;
    high = divided_exactly(high, *place);
    return *place;
  }
  return 0;
}

std::optional<Sum> Simplifier::floor_divided(DataType type, const Sum& sum, std::int64_t divisor) {
  if (divisor == 1) return sum;
  Sum rest = pieces_where(sum, divisor, false);
  Sum exact = pieces_where(sum, divisor, true);
  // A constant below the divisor stays inside, as it was written: (n - 1) // 4.
  exact.base =
      rest.count == 0 ? floor_quotient(sum.base, divisor) * divisor : sum.base / divisor * divisor;
  rest.base = sum.base - exact.base;
  exact = divided_exactly(exact, divisor);
  if (rest.count == 0) return exact;

  const ConstIntBound range = bound_of(rest);
  const bool is_finite =
      range.min_value != ConstIntBound::neg_inf && range.max_value != ConstIntBound::pos_inf;
  if (is_finite) {
    const std::int64_t quotient = floor_quotient(range.min_value, divisor);
    if (quotient == floor_quotient(range.max_value, divisor)) {
      return add_scaled(exact, Sum{0, 0, quotient}, 1);
    }
  }
  Sum high;
  Sum low;
  if (const std::int64_t place = split_by_digit(rest, divisor, high, low)) {
    const auto quotient = floor_divided(type, high, divisor / place);
    return quotient ? add_scaled(exact, *quotient, 1) : std::nullopt;
  }
  Piece piece = pieces_[rest.first];
  if (rest.count == 1 && rest.base == 0 && piece.scale == 1 && !piece.rounds_to_zero) {
    const auto lower = scaled_sum(0, piece.lower, divisor);
    if (lower && (piece.upper == Piece::no_upper || piece.upper % *lower == 0)) {
      piece.lower = *lower;
      return add_scaled(exact, sum_of_piece(piece), 1);
    }
  }
  const Term index = term_of(type, rest);
  if (index == Term::none) return std::nullopt;
  return add_scaled(exact, sum_of_piece({index, false, divisor, Piece::no_upper, 1}), 1);
}

std::optional<Sum> Simplifier::floor_reduced(DataType type, const Sum& sum, std::int64_t divisor) {
  if (divisor == 1) return Sum{};
  Sum rest = pieces_where(sum, divisor, false);
  for (std::uint32_t i = 0; i < rest.count; ++i) pieces_[rest.first + i].scale %= divisor;
  rest.base = rest.count == 0 ? floor_remainder(sum.base, divisor) : sum.base % divisor;
  if (rest.count == 1 && rest.base == 0) {
    // -3 of 4 is 1; but -1 of 4 stays, which is no simpler as 3. In a sum, another sign may lead
    // out of the type.
    std::int64_t& scale = pieces_[rest.first].scale;
    if (scale <= -(divisor - divisor / 2)) scale += divisor;
  }
  if (rest.count == 0) return rest;

  const ConstIntBound range = bound_of(rest);
  const bool is_finite =
      range.min_value != ConstIntBound::neg_inf && range.max_value != ConstIntBound::pos_inf;
  if (is_finite) {
    const std::int64_t quotient = floor_quotient(range.min_value, divisor);
    if (quotient == floor_quotient(range.max_value, divisor)) {
      const auto base = scaled_sum(rest.base, quotient, -divisor);
      if (!base) return std::nullopt;
      rest.base = *base;
      return rest;
    }
  }
  Sum high;
  Sum low;
  if (const std::int64_t place = split_by_digit(rest, divisor, high, low)) {
    const auto remainder = floor_reduced(type, high, divisor / place);
    return remainder ? add_scaled(low, *remainder, place) : std::nullopt;
  }
  Piece piece = pieces_[rest.first];
  if (rest.count == 1 && rest.base == 0 && piece.scale == 1 && !piece.rounds_to_zero) {
    const auto upper = scaled_sum(0, piece.lower, divisor);
    if (upper && (piece.upper == Piece::no_upper || piece.upper % *upper == 0)) {
      piece.upper = *upper;
      return sum_of_piece(piece);
    }
  }
  const Term index = term_of(type, rest);
  if (index == Term::none) return std::nullopt;
  return sum_of_piece({index, false, 1, divisor, 1});
}

std::optional<Sum> Simplifier::trunc_divided(DataType type, const Sum& sum, std::int64_t divisor) {
  const ConstIntBound range = bound_of(sum);
  if (range.min_value >= 0) return floor_divided(type, sum, divisor);
  if (range.max_value <= 0) {
    const auto opposite = scaled(sum, -1);
    const auto quotient = opposite ? floor_divided(type, *opposite, divisor) : std::nullopt;
    return quotient ? scaled(*quotient, -1) : std::nullopt;
  }
  if (sum.base % divisor == 0 && pieces_where(sum, divisor, false).count == 0) {
    return divided_exactly(sum, divisor);
  }
  Piece piece = pieces_[sum.first];
  if (sum.count == 1 && sum.base == 0 && piece.scale == 1 &&
      (piece.rounds_to_zero || piece.is_whole())) {
    const auto lower = scaled_sum(0, piece.lower, divisor);
    if (lower && (piece.upper == Piece::no_upper || piece.upper % *lower == 0)) {
      piece.lower = *lower;
      piece.rounds_to_zero = true;
      if (piece.lower == piece.upper) return Sum{};
      return sum_of_piece(piece);
    }
  }
  const Term index = term_of(type, sum);
  if (index == Term::none) return std::nullopt;
  return sum_of_piece({index, true, divisor, Piece::no_upper, 1});
}

std::optional<Sum> Simplifier::trunc_reduced(DataType type, const Sum& sum, std::int64_t divisor) {
  const ConstIntBound range = bound_of(sum);
  if (range.min_value >= 0) return floor_reduced(type, sum, divisor);
  if (range.max_value <= 0) {
    const auto opposite = scaled(sum, -1);
    const auto remainder = opposite ? floor_reduced(type, *opposite, divisor) : std::nullopt;
    return remainder ? scaled(*remainder, -1) : std::nullopt;
  }
  if (sum.base % divisor == 0 && pieces_where(sum, divisor, false).count == 0) return Sum{};
  Piece piece = pieces_[sum.first];
  if (sum.count == 1 && sum.base == 0 && piece.scale == 1 &&
      (piece.rounds_to_zero || piece.is_whole())) {
    const auto upper = scaled_sum(0, piece.lower, divisor);
    if (upper && (piece.upper == Piece::no_upper || piece.upper % *upper == 0)) {
      piece.upper = *upper;
      piece.rounds_to_zero = true;
      return sum_of_piece(piece);
    }
  }
  const Term index = term_of(type, sum);
  if (index == Term::none) return std::nullopt;
  return sum_of_piece({index, true, 1, divisor, 1});
}

}  // namespace loopsmith::arith
