// SPDX-License-Identifier: Apache-2.0
// What a condition teaches.
#include <algorithm>
#include <array>
#include <span>

#include "loopsmith/arith/simplifier.h"

namespace loopsmith::arith {
namespace {
/// Of longer conjunctions, the rest teaches nothing.
constexpr int max_conjuncts = 64;
}  // namespace

void Simplifier::assume_bound(Term term, const ConstIntBound& bound) {
  const Fact* known = knowledge_.facts.find(term);
  const ConstIntBound before = known ? known->bound : ConstIntBound();
  const ConstIntBound both = intersect(before, bound);
  if (both.is_empty() || both == before) return;  // What was derived so far still holds.
  knowledge_.facts.change(term, [&](Fact& fact) { fact.bound = both; });
  // x // 4 >= 2 tells of x.
  const TermNode node = terms_[term];
  const bool is_quotient = node.kind == Kind::floordiv && terms_.is_constant(node.b) &&
                           terms_[node.b].value > 0 && !terms_.is_constant(node.a);
  if (!is_quotient) return;
  const std::int64_t divisor = terms_[node.b].value;
  const ConstIntBound dividend = add(multiply(both, point(divisor)), {0, divisor - 1});
  assume_bound(node.a, dividend);
  if (!terms_.type(node.a).is_index()) return;
  const Offset sum = split_offset(terms_, node.a);
  if (!terms_.is_constant(sum.rest)) {
    assume_bound(sum.rest, subtract(dividend, point(sum.offset)));
  }
}

void Simplifier::assume_truth(Term condition, bool truth) {
  knowledge_.facts.change(condition, [&](Fact& fact) { fact.truth = truth ? 1 : 0; });
}

void Simplifier::assume(Term condition) {
  // Conjuncts are taken apart without recursion, and not without limit.
  std::vector<Term> open{condition};
  for (int count = 0; !open.empty() && count < max_conjuncts; ++count) {
    const Term next = open.back();
    open.pop_back();
    const TermNode node = terms_[next];
    if (node.kind == Kind::constant || node.has_effect) continue;
    if (node.kind == Kind::and_) {
      open.push_back(node.b);
      open.push_back(node.a);
    } else if (terms_.is_call(next, op("likely"))) {
      open.push_back(terms_.arguments(next)[0]);
    } else if (node.kind == Kind::not_ && terms_[node.a].kind == Kind::or_) {
      open.push_back(negated(terms_[node.a].b));
      open.push_back(negated(terms_[node.a].a));
    } else {
      assume_literal(next);
    }
  }
}

void Simplifier::assume_literal(Term condition) {
  // Both forms are derived before either is assumed, which would make them constants.
  const Term simple = canonical(condition);
  const std::array<Term, 3> all{condition, simple, rewrite(simple)};
  std::array<Term, 3> forms{};
  const auto none = std::unique_copy(all.begin(), all.end(), forms.begin());
  const std::span<const Term> distinct(forms.begin(), none);
  for (const Term form : distinct) {
    if (is_comparison(terms_[form].kind)) assume_comparison(terms_[form]);
  }
  for (const Term form : distinct) {
    if (terms_.is_constant(form)) continue;
    const Term opposite = negated(form);
    assume_truth(form, true);
    assume_truth(opposite, false);
  }
}

void Simplifier::assume_comparison(TermNode node) {
  if (!terms_.type(node.a).is_integer()) return;
  switch (node.kind) {
    case Kind::lt: return assume_at_most(node.a, node.b, -1);
    case Kind::le: return assume_at_most(node.a, node.b, 0);
    case Kind::eq:
      assume_at_most(node.a, node.b, 0);
      assume_at_most(node.b, node.a, 0);
      assume_congruent(node.a, node.b);
      assume_congruent(node.b, node.a);
      return;
    case Kind::ne: return assume_different(node.a, node.b);
    default: return;
  }
}

/// a - b <= at_most.
void Simplifier::assume_at_most(Term a, Term b, std::int64_t at_most) {
  const ConstIntBound bound_a = knowledge_.bound(a);
  const ConstIntBound bound_b = knowledge_.bound(b);
  const auto bound_above = [&](Term term, std::int64_t largest) {
    if (!terms_.is_constant(term)) assume_bound(term, {ConstIntBound::neg_inf, largest});
  };
  const auto bound_below = [&](Term term, std::int64_t smallest) {
    if (!terms_.is_constant(term)) assume_bound(term, {smallest, ConstIntBound::pos_inf});
  };
  bound_above(a, add(bound_b, point(at_most)).max_value);
  bound_below(b, subtract(bound_a, point(at_most)).min_value);
  if (!terms_.type(a).is_index()) return;

  // The same of what varies: (x + 3) < 8 tells of x.
  const Offset left = split_offset(terms_, a);
  const Offset right = split_offset(terms_, b);
  const ConstIntBound below_a = subtract(add(bound_b, point(at_most)), point(left.offset));
  const ConstIntBound above_b = subtract(subtract(bound_a, point(at_most)), point(right.offset));
  bound_above(left.rest, below_a.max_value);
  bound_below(right.rest, above_b.min_value);
  if (terms_.is_constant(left.rest) || terms_.is_constant(right.rest)) return;
  const ConstIntBound limit =
      add(point(at_most), subtract(point(right.offset), point(left.offset)));
  knowledge_.facts.add_difference(left.rest, right.rest, limit.max_value);
}

/// a == b: `a` has the remainders of `b`, and x % c1 == c2 tells of x.
void Simplifier::assume_congruent(Term a, Term b) {
  const auto learn = [&](Term term, const ModularSet& set) {
    if (terms_.is_constant(term)) return;
    knowledge_.facts.change(term, [&](Fact& fact) { fact.modular = intersect(fact.modular, set); });
  };
  learn(a, knowledge_.modular(b));
  const TermNode node = terms_[a];
  const bool is_remainder = node.kind == Kind::floormod || node.kind == Kind::mod;
  if (is_remainder && terms_.is_constant(node.b) && terms_.is_constant(b)) {
    // However the quotient is rounded, x and c2 differ by a multiple of c1.
    const std::int64_t divisor = terms_[node.b].value;
    if (divisor > 0) learn(node.a, modular(divisor, terms_[b].value));
  }
}

/// a != b: at the end of its range, a value that it does not have moves the end.
void Simplifier::assume_different(Term a, Term b) {
  if (!terms_.is_constant(b)) return;
  const std::int64_t value = terms_[b].value;
  const ConstIntBound bound = knowledge_.bound(a);
  if (bound.min_value == value)
    assume_bound(a, {add(point(value), point(1)).min_value, ConstIntBound::pos_inf});
  if (bound.max_value == value)
    assume_bound(a, {ConstIntBound::neg_inf, subtract(point(value), point(1)).max_value});
}

}  // namespace loopsmith::arith
