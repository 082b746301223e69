// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/index_ratio.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace loopsmith {
namespace {

bool is_of_one_atom(const IndexTerm& a, IndexTerm b) {
  b.coefficient = a.coefficient;
  return same_term(a, b);
}

}  // namespace

std::optional<std::pair<std::int64_t, std::int64_t>> index_ratio(const IndexForm& sum,
                                                                 const IndexForm& index) {
  for (const IndexTerm& term : index.terms) {
    for (const IndexTerm& other : sum.terms) {
      if (!is_of_one_atom(term, other)) continue;
      if ((term.coefficient > 0) != (other.coefficient > 0)) continue;
      const std::int64_t common = std::gcd(term.coefficient, other.coefficient);
      return std::pair(std::abs(term.coefficient) / common, std::abs(other.coefficient) / common);
    }
  }
  return {};
}

std::optional<IndexForm> index_difference(IndexForm a, std::int64_t by, const IndexForm& b,
                                          std::int64_t times) {
  bool overflows = __builtin_mul_overflow(a.constant, by, &a.constant);
  for (IndexTerm& term : a.terms) {
    overflows |= __builtin_mul_overflow(term.coefficient, by, &term.coefficient);
  }
  const auto take = [&](std::int64_t& from, std::int64_t value) {
    std::int64_t product = 0;
    overflows |= __builtin_mul_overflow(value, times, &product) ||
                 __builtin_sub_overflow(from, product, &from);
  };
  take(a.constant, b.constant);
  for (const IndexTerm& term : b.terms) {
    auto found = std::ranges::find_if(
        a.terms, [&](const IndexTerm& other) { return is_of_one_atom(term, other); });
    if (found == a.terms.end()) {
      a.terms.push_back(term);
      a.terms.back().coefficient = 0;
      found = a.terms.end() - 1;
    }
    take(found->coefficient, term.coefficient);
  }
  std::erase_if(a.terms, [](const IndexTerm& term) { return term.coefficient == 0; });
  return overflows ? std::nullopt : std::optional(std::move(a));
}

}  // namespace loopsmith
