// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/const_int_bound.h"

#include <algorithm>
#include <array>

namespace loopsmith {

bool ConstIntBound::contains(std::int64_t value) const {
  const bool above = min_value == neg_inf || value >= min_value;
  return above && (max_value == pos_inf || value <= max_value);
}

namespace arith {
namespace {

using Wide = __int128;
constexpr std::int64_t pos_inf = ConstIntBound::pos_inf;
constexpr std::int64_t neg_inf = ConstIntBound::neg_inf;

bool is_infinite(std::int64_t end) {
  return end == pos_inf || end == neg_inf;
}

/// The interval of these ends. A lower end is never +inf, an upper end never -inf, so that sums of
/// ends always mean something.
ConstIntBound between(Wide low, Wide high) {
  return {static_cast<std::int64_t>(std::clamp<Wide>(low, neg_inf, pos_inf - 1)),
          static_cast<std::int64_t>(std::clamp<Wide>(high, neg_inf + 1, pos_inf))};
}

ConstIntBound hull(const std::array<Wide, 4>& corners) {
  const auto [low, high] = std::minmax_element(corners.begin(), corners.end());
  return between(*low, *high);
}

Wide sum(std::int64_t a, std::int64_t b) {
  if (is_infinite(a)) return a;
  if (is_infinite(b)) return b;
  return Wide{a} + b;
}

ConstIntBound whole(const ConstIntBound& a) {
  return a.is_empty() ? ConstIntBound{} : a;
}

/// What a divisor may be, which is not 0: nothing where it can only be that.
ConstIntBound divisor(const ConstIntBound& b) {
  const ConstIntBound any = whole(b);
  return {any.min_value == 0 ? 1 : any.min_value, any.max_value == 0 ? -1 : any.max_value};
}

/// `a` divided by a `b` of one sign. With `toward_zero` false, rounded down.
ConstIntBound divide_one_sign(const ConstIntBound& a, const ConstIntBound& b, bool toward_zero) {
  const auto corner = [&](std::int64_t x, std::int64_t y) -> Wide {
    if (is_infinite(y)) {
      // x / y tends to 0, and when rounded down it may stay at -1 for ever.
      if (is_infinite(x)) return (x > 0) == (y > 0) ? pos_inf : neg_inf;
      return toward_zero || x == 0 || (x > 0) == (y > 0) ? 0 : -1;
    }
    if (is_infinite(x)) return (x > 0) == (y > 0) ? pos_inf : neg_inf;
    const Wide quotient = Wide{x} / y;
    const bool round_down = !toward_zero && Wide{x} % y != 0 && (x < 0) != (y < 0);
    return quotient - (round_down ? 1 : 0);
  };
  ConstIntBound result = hull({corner(a.min_value, b.min_value), corner(a.min_value, b.max_value),
                               corner(a.max_value, b.min_value), corner(a.max_value, b.max_value)});
  // An infinite numerator over an infinite divisor may be anything between.
  if ((is_infinite(a.min_value) || is_infinite(a.max_value)) &&
      (is_infinite(b.min_value) || is_infinite(b.max_value))) {
    result = unite(result, point(0));
    if (!toward_zero) result = unite(result, point(-1));
  }
  return result;
}

ConstIntBound divide(const ConstIntBound& a, const ConstIntBound& b, bool toward_zero) {
  const ConstIntBound positive = intersect(b, {1, pos_inf});
  const ConstIntBound negative = intersect(b, {neg_inf, -1});
  if (positive.is_empty() && negative.is_empty()) return {};
  if (positive.is_empty()) return divide_one_sign(a, negative, toward_zero);
  if (negative.is_empty()) return divide_one_sign(a, positive, toward_zero);
  return unite(divide_one_sign(a, negative, toward_zero),
               divide_one_sign(a, positive, toward_zero));
}

}  // namespace

ConstIntBound point(std::int64_t value) {
  return between(value, value);
}

ConstIntBound all_of(DataType type) {
  if (!type.is_integer()) return {};
  if (type.bits == 64) return type.is_uint() ? ConstIntBound{0, pos_inf} : ConstIntBound{};
  return {min_int(type), max_int(type)};
}

ConstIntBound unite(const ConstIntBound& a, const ConstIntBound& b) {
  return {std::min(a.min_value, b.min_value), std::max(a.max_value, b.max_value)};
}

ConstIntBound intersect(const ConstIntBound& a, const ConstIntBound& b) {
  return {std::max(a.min_value, b.min_value), std::min(a.max_value, b.max_value)};
}

ConstIntBound add(const ConstIntBound& left, const ConstIntBound& right) {
  const ConstIntBound a = whole(left);
  const ConstIntBound b = whole(right);
  return between(sum(a.min_value, b.min_value), sum(a.max_value, b.max_value));
}

ConstIntBound subtract(const ConstIntBound& a, const ConstIntBound& b) {
  return add(a, {-b.max_value, -b.min_value});
}

ConstIntBound multiply(const ConstIntBound& left, const ConstIntBound& right) {
  const ConstIntBound a = whole(left);
  const ConstIntBound b = whole(right);
  return hull({Wide{a.min_value} * b.min_value, Wide{a.min_value} * b.max_value,
               Wide{a.max_value} * b.min_value, Wide{a.max_value} * b.max_value});
}

ConstIntBound minimum(const ConstIntBound& left, const ConstIntBound& right) {
  const ConstIntBound a = whole(left);
  const ConstIntBound b = whole(right);
  return {std::min(a.min_value, b.min_value), std::min(a.max_value, b.max_value)};
}

ConstIntBound maximum(const ConstIntBound& left, const ConstIntBound& right) {
  const ConstIntBound a = whole(left);
  const ConstIntBound b = whole(right);
  return {std::max(a.min_value, b.min_value), std::max(a.max_value, b.max_value)};
}

ConstIntBound floor_divide(const ConstIntBound& a, const ConstIntBound& b) {
  return divide(whole(a), whole(b), false);
}

ConstIntBound trunc_divide(const ConstIntBound& a, const ConstIntBound& b) {
  return divide(whole(a), whole(b), true);
}

ConstIntBound floor_modulo(const ConstIntBound& left, const ConstIntBound& right) {
  const ConstIntBound a = whole(left);
  const ConstIntBound b = divisor(right);
  if (b.is_empty()) return {};
  if (b.min_value > 0) {
    if (a.is_non_negative()) {
      return a.max_value < b.min_value
                 ? a
                 : ConstIntBound{0, std::min(a.max_value,
                                             b.max_value == pos_inf ? pos_inf : b.max_value - 1)};
    }
    // The same period throughout: no wrap inside.
    if (b.is_point() && !is_infinite(a.min_value) && !is_infinite(a.max_value) &&
        floor_quotient(a.min_value, b.min_value) == floor_quotient(a.max_value, b.min_value)) {
      return {floor_remainder(a.min_value, b.min_value), floor_remainder(a.max_value, b.min_value)};
    }
    return {0, b.max_value == pos_inf ? pos_inf : b.max_value - 1};
  }
  return between(b.min_value >= 0         ? Wide{0}
                 : b.min_value == neg_inf ? Wide{neg_inf}
                                          : Wide{b.min_value} + 1,
                 b.max_value <= 0         ? Wide{0}
                 : b.max_value == pos_inf ? Wide{pos_inf}
                                          : Wide{b.max_value} - 1);
}

ConstIntBound trunc_modulo(const ConstIntBound& left, const ConstIntBound& right) {
  const ConstIntBound a = whole(left);
  const ConstIntBound b = divisor(right);
  if (b.is_empty()) return {};
  if (a.is_non_negative() && b.min_value > 0 && a.max_value < b.min_value) return a;
  // |result| < max |b|, with the sign of a.
  const Wide widest = std::max(-Wide{b.min_value}, Wide{b.max_value});
  const Wide limit = widest >= pos_inf ? Wide{pos_inf} : std::max<Wide>(widest - 1, 0);
  return between(a.is_non_negative() ? 0 : std::max<Wide>(a.min_value, -limit),
                 a.max_value <= 0 ? 0 : std::min<Wide>(a.max_value, limit));
}

}  // namespace arith
}  // namespace loopsmith
