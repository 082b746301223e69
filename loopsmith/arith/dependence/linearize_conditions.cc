// SPDX-License-Identifier: Apache-2.0
// Conditions as clauses of linear forms.
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "loopsmith/arith/dependence/linearize.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith::dependence {
namespace {

/// A clause of more alternatives than this is left out.
constexpr std::size_t max_alternatives = 8;

}  // namespace

bool Linearizer::add_clauses(const Expr& condition, bool holds, std::vector<Clause>& clauses) {
  return deep_call([&] {
    if (is_likely(condition)) return add_clauses(condition.as<Call>()->args[0], holds, clauses);
    if (const auto* negated = condition.as<Not>()) {
      return add_clauses(negated->a, !holds, clauses);
    }
    const auto both = holds ? operands_of<And>(condition) : operands_of<Or>(condition);
    if (both) {
      const bool is_left_exact = add_clauses(both->a, holds, clauses);
      return add_clauses(both->b, holds, clauses) && is_left_exact;
    }
    bool is_exact = true;
    auto pieces = alternatives(condition, holds, is_exact);
    if (!pieces) return false;
    clauses.push_back(*std::move(pieces));
    return is_exact;
  });
}

std::optional<Clause> Linearizer::alternatives(const Expr& condition, bool holds, bool& is_exact) {
  if (const auto* value = condition.as<IntImm>()) {
    // Nothing to hold, or one thing that cannot: -1 >= 0.
    if ((value->value != 0) == holds) return Clause{Conjunction{}};
    return Clause{Conjunction{{Linear{-1}}}};
  }
  const auto either = holds ? operands_of<Or>(condition) : operands_of<And>(condition);
  if (either) {
    Clause result;
    for (const Expr& side : {either->a, either->b}) {
      std::vector<Clause> clauses;
      is_exact = add_clauses(side, holds, clauses) && is_exact;
      // A side of which nothing is known may always hold.
      if (clauses.empty()) return std::nullopt;
      Clause pieces{Conjunction{}};
      for (const Clause& clause : clauses) {
        Clause grown;
        for (const Conjunction& piece : pieces) {
          for (const Conjunction& more : clause) {
            grown.push_back(piece);
            grown.back().insert(grown.back().end(), more.begin(), more.end());
          }
        }
        pieces = std::move(grown);
        if (pieces.size() > max_alternatives) return std::nullopt;
      }
      result.insert(result.end(), pieces.begin(), pieces.end());
    }
    if (result.size() > max_alternatives) return std::nullopt;
    return result;
  }

  // The difference of the sides of a comparison: a - b + shift >= 0, == 0 or != 0.
  const auto below = [&](const Expr& a, const Expr& b, bool strict) -> std::optional<Clause> {
    const auto left = linear(a), right = linear(b);
    if (!left || !right) return std::nullopt;
    auto form = sum(*right, *left, -1);
    if (form && strict) form = sum(*form, Linear{-1});
    if (!form) return std::nullopt;
    return Clause{Conjunction{{*form}}};
  };
  if (const auto lt = operands_of<LT>(condition)) {
    return holds ? below(lt->a, lt->b, true) : below(lt->b, lt->a, false);
  }
  if (const auto le = operands_of<LE>(condition)) {
    return holds ? below(le->a, le->b, false) : below(le->b, le->a, true);
  }
  if (const auto gt = operands_of<GT>(condition)) {
    return holds ? below(gt->b, gt->a, true) : below(gt->a, gt->b, false);
  }
  if (const auto ge = operands_of<GE>(condition)) {
    return holds ? below(ge->b, ge->a, false) : below(ge->a, ge->b, true);
  }
  auto equal = operands_of<EQ>(condition);
  const bool wants_equal = equal.has_value() == holds;
  if (!equal) equal = operands_of<NE>(condition);
  if (!equal) return std::nullopt;
  const auto left = linear(equal->a), right = linear(equal->b);
  if (!left || !right) return std::nullopt;
  const auto form = sum(*left, *right, -1);
  if (!form) return std::nullopt;
  if (wants_equal) return Clause{Conjunction{{*form, true}}};
  const Interval range = program_.range(*form);
  const auto above = sum(*form, Linear{-1}), under = sum(Linear{-1}, *form, -1);
  if (!above || !under) return std::nullopt;
  Clause result;
  if (range.max_value > 0) result.push_back({{*above}});
  if (range.min_value < 0) result.push_back({{*under}});
  if (result.empty()) result.push_back({{Linear{-1}}});
  return result;
}

}  // namespace loopsmith::dependence
