// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/linear.h"

#include <algorithm>

namespace loopsmith::dependence {

std::int64_t Linear::coefficient(Symbol symbol) const {
  for (const Term& term : terms) {
    if (term.symbol == symbol) return term.coefficient;
  }
  return 0;
}

Linear linear_of(Symbol symbol) {
  return {0, {{symbol, 1}}};
}

std::optional<Linear> sum(const Linear& a, const Linear& b, std::int64_t factor) {
  Linear result;
  const auto scaled = [&](std::int64_t value, std::int64_t onto, std::int64_t& out) {
    std::int64_t part = 0;
    return !__builtin_mul_overflow(value, factor, &part) &&
           !__builtin_add_overflow(onto, part, &out);
  };
  if (!scaled(b.constant, a.constant, result.constant)) return std::nullopt;
  result.terms.reserve(a.terms.size() + b.terms.size());
  auto left = a.terms.begin();
  for (auto right = b.terms.begin(); left != a.terms.end() || right != b.terms.end();) {
    if (right == b.terms.end() || (left != a.terms.end() && left->symbol < right->symbol)) {
      result.terms.push_back(*left++);
      continue;
    }
    const bool both = left != a.terms.end() && left->symbol == right->symbol;
    std::int64_t coefficient = 0;
    if (!scaled(right->coefficient, both ? left->coefficient : 0, coefficient)) return std::nullopt;
    if (coefficient != 0) result.terms.push_back({right->symbol, coefficient});
    if (both) ++left;
    ++right;
  }
  return result;
}

std::optional<Linear> product(const Linear& a, std::int64_t factor) {
  return sum({}, a, factor);
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t divisor) {
  return a / divisor - (a % divisor < 0 ? 1 : 0);
}

std::int64_t ceil_quotient(std::int64_t a, std::int64_t divisor) {
  return a / divisor + (a % divisor > 0 ? 1 : 0);
}

}  // namespace loopsmith::dependence
