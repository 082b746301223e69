// SPDX-License-Identifier: Apache-2.0
// What the facts leave no choice about.
#include <cstdlib>

#include "loopsmith/arith/simplifier.h"

namespace loopsmith::arith {

/// The constant that the facts leave as its only value; else the term.
Term Simplifier::decide(Term term) {
  const TermNode node = terms_[term];
  if (!node.type.is_integer() || node.has_effect) return term;
  if (const Fact* fact = knowledge_.facts.find(term); fact && fact->truth >= 0) {
    return terms_.boolean_of(fact->truth != 0, node.type.lanes);
  }
  if (is_comparison(node.kind)) {
    const Term answer = decide_comparison(node);
    return answer == Term::none ? term : answer;
  }
  if (node.kind == Kind::min || node.kind == Kind::max) {
    const auto is_at_most = [&](Term a, Term b) {
      const Term answer = decide_comparison(
          {.kind = Kind::le, .type = boolean.with_lanes(node.type.lanes), .a = a, .b = b});
      return answer != Term::none && terms_[answer].value != 0;
    };
    if (is_at_most(node.a, node.b)) return node.kind == Kind::min ? node.a : node.b;
    if (is_at_most(node.b, node.a)) return node.kind == Kind::min ? node.b : node.a;
    return term;
  }
  const ConstIntBound bound = knowledge_.bound(term);
  if (!bound.is_point() || !fits(node.type, bound.min_value)) return term;
  return terms_.constant(node.type, bound.min_value);
}

Term Simplifier::decide_comparison(const TermNode& node) {
  const auto answer = [&](bool value) { return terms_.boolean_of(value, node.type.lanes); };
  const DataType type = terms_.type(node.a);
  if (!type.is_integer()) return Term::none;
  if (node.a == node.b) return answer(node.kind == Kind::eq || node.kind == Kind::le);
  // Differences, where subtraction cannot wrap.
  ConstIntBound range{};
  ModularSet set{};
  if (type.is_index() && type.is_scalar()) {
    if (const auto difference = add_scaled(sum_of(node.a), sum_of(node.b), -1)) {
      range = bound_of(type, *difference);
      set = modular_of(*difference);
      range = intersect(range, range_of_pair(*difference));
    }
  } else {
    set = subtract(knowledge_.modular(node.a), knowledge_.modular(node.b));
  }
  if (node.kind == Kind::lt || node.kind == Kind::le) {
    const std::int64_t limit = node.kind == Kind::lt ? -1 : 0;
    if (range.max_value <= limit || knowledge_.largest_difference(node.a, node.b) <= limit) {
      return answer(true);
    }
    if (range.min_value > limit || knowledge_.largest_difference(node.b, node.a) < -limit) {
      return answer(false);
    }
    return Term::none;
  }
  const ConstIntBound a = knowledge_.bound(node.a);
  const ConstIntBound b = knowledge_.bound(node.b);
  const auto decide_equal = [&]() -> std::optional<bool> {
    if (intersect(a, b).is_empty() || !range.contains(0)) return false;
    if (range == point(0)) return true;
    if (!set.contains(0)) return false;
    if (knowledge_.largest_difference(node.a, node.b) < 0 ||
        knowledge_.largest_difference(node.b, node.a) < 0) {
      return false;
    }
    return std::nullopt;
  };
  const auto equal = decide_equal();
  return equal ? answer(*equal == (node.kind == Kind::eq)) : Term::none;
}

ConstIntBound Simplifier::range_of_pair(const Sum& sum) {
  ConstIntBound range{};
  if (sum.count != 2) return range;
  const Piece first = pieces_[sum.first], second = pieces_[sum.first + 1];
  if (!first.is_whole() || !second.is_whole() || first.scale + second.scale != 0 ||
      std::abs(first.scale) != 1) {
    return range;
  }
  const Term plus = first.scale == 1 ? first.index : second.index;
  const Term minus = first.scale == 1 ? second.index : first.index;
  return add(range_of_difference(plus, minus), point(sum.base));
}

Term Simplifier::negated(Term condition) {
  const TermNode node = terms_[condition];
  const bool is_exact = !is_comparison(node.kind) || terms_.type(node.a).is_integer();
  switch (node.kind) {
    case Kind::constant: return terms_.boolean_of(node.value == 0, node.type.lanes);
    case Kind::not_: return node.a;
    case Kind::eq: return terms_.make(Kind::ne, node.type, node.a, node.b);
    case Kind::ne: return terms_.make(Kind::eq, node.type, node.a, node.b);
    case Kind::lt:
    case Kind::le: {
      // Not for floats: NaN is neither less nor at least.
      if (!is_exact) break;
      const bool was_less = node.kind == Kind::lt;
      const DataType type = terms_.type(node.a);
      // not (c < x) is x < c + 1, and not (x < c) is c - 1 < x, so that all bounds are strict.
      if (was_less && type.is_index() && form_ == Form::normal) {
        const auto shifted = [&](Term constant, Kind by) -> Term {
          const auto value = fold_constants(by, type, terms_[constant].value, 1);
          return value ? terms_.constant(type, *value) : Term::none;
        };
        if (terms_.is_constant(node.a)) {
          if (const Term limit = shifted(node.a, Kind::add); limit != Term::none) {
            return terms_.make(Kind::lt, node.type, node.b, limit);
          }
        } else if (terms_.is_constant(node.b)) {
          if (const Term limit = shifted(node.b, Kind::sub); limit != Term::none) {
            return terms_.make(Kind::lt, node.type, limit, node.a);
          }
        }
      }
      return terms_.make(was_less ? Kind::le : Kind::lt, node.type, node.b, node.a);
    }
    case Kind::broadcast: return terms_.make(Kind::broadcast, node.type, negated(node.a));
    default: break;
  }
  return terms_.make(Kind::not_, node.type, condition);
}

}  // namespace loopsmith::arith
