// SPDX-License-Identifier: Apache-2.0
// Quotients and remainders of sums of digits. Both are exact as values; whether digits are complete
// is asked when a map is checked.
#include <algorithm>
#include <numeric>

#include "loopsmith/arith/iter_map/reader.h"

namespace loopsmith::arith {
namespace {

bool have_constant_scales(const std::vector<IterSplitExpr>& args) {
  return std::all_of(args.begin(), args.end(),
                     [](const IterSplitExpr& arg) { return arg.scale.is_constant(); });
}

}  // namespace

/// (a * k * d + rest + base) // d is a * k + (rest + base % d) // d + base // d.
Division IterReader::divide(IterSumExpr dividend, const SymbolicInt& divisor) {
  if (divisor.is(1)) return {std::move(dividend), {}};
  dividend = constrained(std::move(dividend));
  Division result;
  std::vector<IterSplitExpr> rest;
  for (IterSplitExpr& arg : dividend.args) {
    if (auto multiple = arithmetic_.quotient(arg.scale, divisor)) {
      arg.scale = *multiple;
      add_term(result.quotient.args, std::move(arg));
    } else {
      rest.push_back(std::move(arg));
    }
  }
  if (rest.empty()) {
    result.quotient.base = arithmetic_.floor_quotient(dividend.base, divisor);
    result.remainder.base = arithmetic_.floor_remainder(dividend.base, divisor);
    return result;
  }
  SymbolicInt offset = 0;
  if (auto multiple = arithmetic_.quotient(dividend.base, divisor)) {
    result.quotient.base = *multiple;
  } else {
    offset = arithmetic_.floor_remainder(dividend.base, divisor);
    if (offset.is_constant()) {
      result.quotient.base = arithmetic_.floor_quotient(dividend.base, divisor);
    } else if (arithmetic_.at_most(0, dividend.base)) {
      offset = dividend.base;
    } else {
      fail("A dividend has a base whose remainder is not known.");
    }
  }
  for (const IterSplitExpr& arg : rest) {
    if (!arithmetic_.at_most(0, arg.scale)) fail("A dividend has a negative scale.");
  }
  if (!failed()) divide_rest(std::move(rest), offset, divisor, result);
  return result;
}

/// Adds (rest + offset) // divisor and its remainder to `result`. No scale is negative, nor is the
/// offset.
void IterReader::divide_rest(std::vector<IterSplitExpr> rest, const SymbolicInt& offset,
                             const SymbolicInt& divisor, Division& result) {
  if (rest.empty() || stays_below(rest, offset, divisor)) {
    IterSumExpr below{std::move(rest), offset};
    if (below.args.empty()) {
      result.quotient.base =
          arithmetic_.add(result.quotient.base, arithmetic_.floor_quotient(offset, divisor));
      below.base = arithmetic_.floor_remainder(offset, divisor);
    }
    result.remainder = sum(std::move(result.remainder), below);
    return;
  }
  if (divide_by_factor(rest, offset, divisor, result)) return;
  if (divide_above_digits(rest, offset, divisor, result)) return;
  IterSplitExpr digit = fuse(std::move(rest));
  if (!digit.scale.is(1)) fail("A scale and its divisor have no common factor.");
  if (!failed()) divide_digit(std::move(digit), offset, divisor, result);
}

bool IterReader::stays_below(const std::vector<IterSplitExpr>& rest, const SymbolicInt& offset,
                             const SymbolicInt& divisor) {
  SymbolicInt last = offset;
  for (const IterSplitExpr& arg : rest) {
    last =
        arithmetic_.add(last, arithmetic_.multiply(arg.scale, arithmetic_.subtract(arg.extent, 1)));
  }
  return arithmetic_.at_most(arithmetic_.add(last, 1), divisor);
}

/// (x * g + c) // (d * g) is (x + c // g) // d.
bool IterReader::divide_by_factor(std::vector<IterSplitExpr>& rest, const SymbolicInt& offset,
                                  const SymbolicInt& divisor, Division& result) {
  SymbolicInt factor = rest[0].scale;
  if (have_constant_scales(rest) && divisor.is_constant()) {
    for (const IterSplitExpr& arg : rest) {
      factor = std::gcd(factor.constant, arg.scale.constant);
    }
    factor = std::gcd(factor.constant, divisor.constant);
  } else if (rest.size() > 1) {
    return false;
  }
  if (factor.is(1)) return false;
  const auto reduced = arithmetic_.quotient(divisor, factor);
  if (!reduced) return false;
  for (IterSplitExpr& arg : rest) {
    const auto scale = arithmetic_.quotient(arg.scale, factor);
    if (!scale) return false;
    arg.scale = *scale;
  }
  Division inner;
  divide_rest(std::move(rest), arithmetic_.floor_quotient(offset, factor), *reduced, inner);
  result.quotient = sum(std::move(result.quotient), inner.quotient);
  inner.remainder = scaled(std::move(inner.remainder), factor);
  inner.remainder.base =
      arithmetic_.add(inner.remainder.base, arithmetic_.floor_remainder(offset, factor));
  result.remainder = sum(std::move(result.remainder), inner.remainder);
  return true;
}

/// (high * b + low) // (d * b) is high // d, where 0 <= low < b.
bool IterReader::divide_above_digits(std::vector<IterSplitExpr>& rest, const SymbolicInt& offset,
                                     const SymbolicInt& divisor, Division& result) {
  if (!have_constant_scales(rest) || !divisor.is_constant() || !offset.is_constant()) return false;
  sort(rest);
  for (std::size_t at = rest.size(); at-- > 1;) {
    const std::int64_t boundary = rest[at].scale.constant;
    if (boundary <= 1 || divisor.constant % boundary != 0) continue;
    const auto first = rest.begin() + static_cast<std::ptrdiff_t>(at);
    const bool are_multiples = std::all_of(first, rest.end(), [&](const IterSplitExpr& arg) {
      return arg.scale.constant % boundary == 0;
    });
    std::vector<IterSplitExpr> low(rest.begin(), first);
    const SymbolicInt low_offset = offset.constant % boundary;
    if (!are_multiples || !stays_below(low, low_offset, boundary)) continue;

    std::vector<IterSplitExpr> high(first, rest.end());
    for (IterSplitExpr& arg : high) arg.scale = arg.scale.constant / boundary;
    Division inner;
    divide_rest(std::move(high), offset.constant / boundary, divisor.constant / boundary, inner);
    result.quotient = sum(std::move(result.quotient), inner.quotient);
    result.remainder = sum(std::move(result.remainder), scaled(inner.remainder, boundary));
    result.remainder = sum(std::move(result.remainder), {std::move(low), low_offset});
    return true;
  }
  return false;
}

/// Splits one digit of scale 1 in two. Where the divisor does not divide its extent, the digit must
/// be the highest of its mark, which then counts as padded; so must be one with an offset.
void IterReader::divide_digit(IterSplitExpr digit, const SymbolicInt& offset,
                              const SymbolicInt& divisor, Division& result) {
  const bool is_padded = !arithmetic_.quotient(digit.extent, divisor);
  if (!offset.is(0) || (is_padded && !is_top(arithmetic_, digit))) {
    if (!offset.is_constant()) return fail("A dividend has a base whose size is not known.");
    IterMark mark;
    mark.extent = arithmetic_.add(digit.extent, offset);
    mark.left_pad = offset.constant;
    mark.sum = {{digit}, offset};
    const SymbolicInt extent = mark.extent;
    digit = {.source = mark_of(std::move(mark)), .extent = extent};
  }
  IterSplitExpr high = digit;
  high.lower_factor = arithmetic_.multiply(digit.lower_factor, divisor);
  high.extent = arithmetic_.ceil_quotient(digit.extent, divisor);
  IterSplitExpr low = std::move(digit);
  low.extent = divisor;
  add_term(result.quotient.args, std::move(high));
  add_term(result.remainder.args, std::move(low));
}

}  // namespace loopsmith::arith
