// SPDX-License-Identifier: Apache-2.0
// Indices are taken never to overflow, so all forms of one are as good. What a program reads may be
// any value of its type: there, a form must not overflow where the one that was written did not.
// Sums and products that are only added and multiplied may, as the excess cancels.
#include <algorithm>
#include <array>

#include "loopsmith/arith/simplifier.h"

namespace loopsmith::arith {
namespace {

/// A larger form counts as one that overflows.
constexpr int max_visited = 32;

constexpr bool keeps_excess(Kind kind) {
  return kind == Kind::add || kind == Kind::sub || kind == Kind::mul;
}

bool is_choice(Kind kind) {
  return kind == Kind::select || kind == Kind::if_then_else;
}

/// The operands of what was written, and theirs where they are no sums: those did not overflow.
std::array<Term, 6> written(const Terms& terms, const TermNode& node) {
  std::array<Term, 6> result{node.a, node.b};  // The rest: none.
  std::size_t count = 2;
  for (const Term operand : {node.a, node.b}) {
    if (operand == Term::none) continue;
    const TermNode& inner = terms[operand];
    const bool has_operands = is_binary(inner.kind) && !keeps_excess(inner.kind);
    if (!has_operands && inner.kind != Kind::mul) continue;
    result[count++] = inner.a;
    result[count++] = inner.b;
  }
  return result;
}

}  // namespace

/// Whether bounds leave it open that a sum or product leaves its type.
bool Simplifier::may_overflow(Term term) {
  const TermNode node = terms_[term];
  if (!node.type.is_index() || !keeps_excess(node.kind)) return false;
  const ConstIntBound bound = knowledge_.bound(term), all = all_of(node.type);
  if (bound.min_value == ConstIntBound::neg_inf || bound.max_value == ConstIntBound::pos_inf) {
    return true;
  }
  return bound.min_value < all.min_value || bound.max_value > all.max_value;
}

/// Whether a divisor that was read may be 0, where the quotient is 0.
bool Simplifier::may_be_zero(Term divisor) {
  const TermNode& node = terms_[divisor];
  return node.is_data && node.type.is_integer() && knowledge_.bound(divisor).contains(0);
}

bool Simplifier::data_may_overflow(Term term) {
  int visited = 0;
  const auto visit = [&](auto& self, Term each) -> bool {
    if (each == Term::none || !terms_[each].is_data) return false;
    const TermNode node = terms_[each];
    if (node.kind == Kind::variable || node.kind == Kind::load) return false;
    const bool is_known = node.kind != Kind::other && node.kind != Kind::call;
    if (!is_known || ++visited > max_visited || may_overflow(each)) return true;
    return self(self, node.a) || self(self, node.b) || self(self, node.c);
  };
  return visit(visit, term);
}

/// Whether `after` may overflow where `before` did not.
bool Simplifier::overflows_anew(const TermNode& before, Term after) {
  const bool is_data =
      terms_[before.a].is_data || (before.b != Term::none && terms_[before.b].is_data);
  if (!is_data) return false;
  const auto originals = written(terms_, before);
  // x % y - x is -(x // y) * y, but for y = 0.
  const auto has_no_quotient = [&](Term term) {
    return term != Term::none && is_division(terms_[term].kind) && may_be_zero(terms_[term].b);
  };
  if (std::ranges::any_of(originals, has_no_quotient)) return true;
  int visited = 0;
  // `cancels`: what it exceeds its type by does no harm.
  const auto visit = [&](auto& self, Term term, bool cancels) -> bool {
    const TermNode node = terms_[term];
    if (!is_binary(node.kind) && !is_choice(node.kind) && node.kind != Kind::cast &&
        node.kind != Kind::not_) {
      return false;
    }
    if (std::ranges::find(originals, term) != originals.end()) return false;
    if (++visited > max_visited || (!cancels && may_overflow(term))) return true;
    const bool passes = keeps_excess(node.kind);
    if (is_choice(node.kind)) {
      return self(self, node.a, false) || self(self, node.b, cancels) ||
             self(self, node.c, cancels);
    }
    return self(self, node.a, passes) || (node.b != Term::none && self(self, node.b, passes));
  };
  return visit(visit, after, true);
}

/// The same of a quotient or remainder: what is divided is the dividend, or was divided in it.
bool Simplifier::overflows_anew(DataType type, const Sum& dividend, const Sum& after) {
  Term whole = Term::none;
  const auto was_divided = [&](Term index) {
    for (std::uint32_t i = 0; i < dividend.count; ++i) {
      const Piece& piece = pieces_[dividend.first + i];
      if (!piece.is_whole() && piece.index == index) return true;
    }
    if (whole == Term::none) whole = term_of(type, dividend);
    return index == whole;
  };
  for (std::uint32_t i = 0; i < after.count; ++i) {
    const Piece piece = pieces_[after.first + i];
    if (!piece.is_whole() && may_overflow(piece.index) && !was_divided(piece.index)) return true;
  }
  return false;
}

}  // namespace loopsmith::arith
