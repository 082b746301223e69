// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/index_form.h"

#include <algorithm>
#include <numeric>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/const_int_bound.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

using Kind = IndexTerm::Kind;

/// Extends [low, high] by factor * [min, max]; false when that is too large.
bool widen(std::int64_t& low, std::int64_t& high, std::int64_t factor, std::int64_t min,
           std::int64_t max) {
  std::int64_t a = 0, b = 0;
  if (__builtin_mul_overflow(factor, min, &a) || __builtin_mul_overflow(factor, max, &b)) {
    return false;
  }
  return !__builtin_add_overflow(low, std::min(a, b), &low) &&
         !__builtin_add_overflow(high, std::max(a, b), &high);
}

bool same(const Expr& a, const Expr& b) {
  return a.same_as(b) || (!a.is<Var>() && !b.is<Var>() && structural_equal(a, b));
}

bool same_atom(const IndexTerm& a, const IndexTerm& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Kind::variable) return a.atom.same_as(b.atom);
  return a.by == b.by && same(a.inner(), b.inner());
}

/// The bounded atom `inner // by` or `inner % by` of a sum with that range, if it has one.
IndexTerm digit(Kind kind, Expr inner, std::int64_t by, const IndexForm& of) {
  IndexTerm term;
  term.kind = kind;
  term.by = by;
  if (kind == Kind::quotient) {
    if (const auto range = of.range()) {
      term.is_bounded = true;
      term.min = arith::floor_quotient(range->first, by);
      term.max = arith::floor_quotient(range->second, by);
    }
    term.atom = make(FloorDiv{.a = inner, .b = int_imm(inner.dtype(), by)});
  } else {
    term.is_bounded = true;
    term.max = by - 1;
    term.atom = make(FloorMod{.a = inner, .b = int_imm(inner.dtype(), by)});
  }
  return term;
}

}  // namespace

bool any_variable(const IndexTerm& term, const std::function<bool(const Object*)>& visit) {
  if (term.inner().is<Var>()) return visit(term.inner().get());
  bool found = false;
  pre_order_visit(term.inner(), [&](const Ref& ref) {
    found = found || (ref.is<Var>() && visit(ref.get()));
    return !found;
  });
  return found;
}

bool same_term(const IndexTerm& a, const IndexTerm& b) {
  if (a.coefficient != b.coefficient || a.kind != b.kind) return false;
  if (a.atom.same_as(b.atom)) return true;
  return a.kind != IndexTerm::Kind::variable && structural_equal(a.atom, b.atom);
}

std::optional<std::pair<std::int64_t, std::int64_t>> IndexForm::range() const {
  std::int64_t low = constant, high = constant;
  for (const IndexTerm& term : terms) {
    if (!term.is_bounded || !widen(low, high, term.coefficient, term.min, term.max)) return {};
  }
  return std::pair{low, high};
}

void IndexForms::bind(const Ptr<Var>& var, const Expr& value) {
  bound_.push_back({var, value, read(value), {}});
}

const Expr& IndexForms::value_of(const Bound& bound) const {
  if (!bound.form) return bound.value;
  if (!bound.written.defined()) bound.written = write(*bound.form, bound.value.dtype());
  return bound.written;
}

bool IndexForms::bind_sum(const Ptr<Var>& var, const Expr& value) {
  auto form = read(value);
  if (!form) return false;
  bound_.push_back({var, value, std::move(form), {}});
  return true;
}

bool IndexForms::add_term(IndexForm& sum, IndexTerm term) const {
  if (term.coefficient == 0) return true;
  for (std::size_t i = 0; i < sum.terms.size(); ++i) {
    IndexTerm& known = sum.terms[i];
    if (!same_atom(known, term)) continue;
    if (__builtin_add_overflow(known.coefficient, term.coefficient, &known.coefficient)) {
      return false;
    }
    if (known.coefficient == 0) sum.terms.erase(sum.terms.begin() + static_cast<long>(i));
    return true;
  }
  if (sum.terms.empty()) sum.terms.reserve(4);  // Most sums have no more.
  sum.terms.push_back(std::move(term));
  // (x // c) * c + x % c is x.
  for (std::size_t i = 0; i + 1 < sum.terms.size(); ++i) {
    if (join_radix_terms(sum, i, sum.terms.size() - 1)) break;
  }
  return true;
}

bool IndexForms::join_radix_terms(IndexForm& sum, std::size_t i, std::size_t k) const {
  const bool in_order = sum.terms[i].kind == Kind::quotient;
  const IndexTerm& high = sum.terms[in_order ? i : k];
  const IndexTerm& low = sum.terms[in_order ? k : i];
  if (high.kind != Kind::quotient || low.kind != Kind::remainder) return false;
  if (high.by != low.by || !same(high.inner(), low.inner())) return false;
  std::int64_t weight = 0;
  if (__builtin_mul_overflow(low.coefficient, low.by, &weight)) return false;
  if (high.coefficient != weight) return false;
  const auto inner = read(high.inner());
  if (!inner) return false;
  const std::int64_t factor = low.coefficient;
  sum.terms.erase(sum.terms.begin() + static_cast<long>(std::max(i, k)));
  sum.terms.erase(sum.terms.begin() + static_cast<long>(std::min(i, k)));
  return add(sum, *inner, factor);
}

bool IndexForms::add(IndexForm& sum, const IndexForm& other, std::int64_t factor) const {
  std::int64_t constant = 0;
  if (__builtin_mul_overflow(other.constant, factor, &constant) ||
      __builtin_add_overflow(sum.constant, constant, &sum.constant)) {
    return false;
  }
  for (IndexTerm term : other.terms) {
    if (__builtin_mul_overflow(term.coefficient, factor, &term.coefficient)) return false;
    if (!add_term(sum, std::move(term))) return false;
  }
  return true;
}

bool IndexForms::read_into(IndexForm& sum, const Expr& expr, std::int64_t factor) const {
  if (const auto* constant = expr.as<IntImm>()) {
    return add(sum, {.terms = {}, .constant = constant->value}, factor);
  }
  if (expr.is<Var>()) {
    for (const Bound& bound : bound_) {
      if (bound.var.same_as(expr)) return bound.form && add(sum, *bound.form, factor);
    }
    IndexTerm term{.atom = expr, .coefficient = factor};
    for (const VarRange& range : ranges_) {
      if (range.var != expr.get()) continue;
      term.is_bounded = true;
      term.min = range.min;
      term.max = range.max;
      break;
    }
    return add_term(sum, std::move(term));
  }
  if (const auto* node = expr.as<Add>()) {
    return read_into(sum, node->a, factor) && read_into(sum, node->b, factor);
  }
  if (const auto* node = expr.as<Sub>()) {
    return read_into(sum, node->a, factor) && read_into(sum, node->b, -factor);
  }
  if (const auto* node = expr.as<Mul>()) {
    const bool is_left = node->a.is<IntImm>();
    const auto* constant = (is_left ? node->a : node->b).as<IntImm>();
    std::int64_t weight = 0;
    if (!constant || __builtin_mul_overflow(factor, constant->value, &weight)) return false;
    return read_into(sum, is_left ? node->b : node->a, weight);
  }
  if (const auto* node = expr.as<Cast>()) return read_cast(sum, *node, factor);
  const auto* division = expr.as<FloorDiv>();
  const auto* modulo = expr.as<FloorMod>();
  if (!division && !modulo) return false;
  const auto* by = (division ? division->b : modulo->b).as<IntImm>();
  if (!by || by->value <= 0) return false;
  const Expr& number = division ? division->a : modulo->a;
  if (const auto digit = digit_of_variable(expr, number, by->value)) {
    IndexTerm term = *digit;
    term.coefficient = factor;
    return add_term(sum, std::move(term));
  }
  IndexForm inner;
  if (!read_into(inner, number, 1)) return false;
  const auto result = division ? quotient(inner, by->value, expr.dtype())
                               : remainder(inner, by->value, expr.dtype());
  return result && add(sum, *result, factor);
}

std::optional<IndexTerm> IndexForms::digit_of_variable(const Expr& expr, const Expr& number,
                                                       std::int64_t by) const {
  const bool is_bound =
      std::ranges::any_of(bound_, [&](const Bound& bound) { return bound.var.same_as(number); });
  if (!number.is<Var>() || is_bound || by == 1) return {};
  IndexTerm term{.atom = expr, .by = by};
  term.kind = expr.is<FloorDiv>() ? Kind::quotient : Kind::remainder;
  const auto range = std::ranges::find(ranges_, number.get(), &VarRange::var);
  if (range != ranges_.end()) {
    term.is_bounded = true;
    term.min = arith::floor_quotient(range->min, by);
    term.max = arith::floor_quotient(range->max, by);
    if (term.min == term.max) return {};
  }
  if (term.kind == Kind::remainder) {
    term.is_bounded = true;
    term.min = 0;
    term.max = by - 1;
  }
  return term;
}

bool IndexForms::read_cast(IndexForm& sum, const Cast& node, std::int64_t factor) const {
  const DataType from = node.value.dtype(), to = node.dtype;
  if (!from.is_index() || !from.is_scalar() || !to.is_index()) return false;
  IndexForm inner;
  if (!read_into(inner, node.value, 1)) return false;
  if (to.bits < from.bits) {
    const auto range = inner.range();
    if (!range || range->first < min_int(to) || range->second > max_int(to)) return false;
  }
  return add(sum, inner, factor);
}

std::optional<IndexForm> IndexForms::read(const Expr& expr) const {
  if (!expr.dtype().is_index() || !expr.dtype().is_scalar()) return {};
  IndexForm form;
  const bool is_leaf = expr.is<Var>() || expr.is<IntImm>();
  const auto whole = [&] { return read_into(form, expr, 1); };
  if (!(is_leaf ? whole() : deep_call(whole))) return {};
  return form;
}

namespace {

/// A sum in two: `unit * high + low`, low within [0, unit).
struct Parts {
  IndexForm high;
  IndexForm low;
  std::int64_t unit;
};

/// The parts of `form` for the largest unit above 1 that divides `by`; nullopt when there is none.
std::optional<Parts> part(const IndexForm& form, std::int64_t by) {
  std::vector<std::int64_t> units;
  for (const IndexTerm& term : form.terms) {
    const std::int64_t unit = std::gcd(by, term.coefficient);
    if (unit > 1) units.push_back(unit);
  }
  std::ranges::sort(units, std::greater<>());
  for (const std::int64_t unit : units) {
    Parts parts{.high = {}, .low = {}, .unit = unit};
    parts.low.constant = arith::floor_remainder(form.constant, unit);
    parts.high.constant = arith::floor_quotient(form.constant, unit);
    for (const IndexTerm& term : form.terms) {
      const bool is_high = term.coefficient % unit == 0;
      IndexTerm& copy = (is_high ? parts.high : parts.low).terms.emplace_back(term);
      if (is_high) copy.coefficient /= unit;
    }
    const auto range = parts.low.range();
    if (range && range->first >= 0 && range->second < unit) return parts;
  }
  return {};
}

}  // namespace

std::optional<IndexForm> IndexForms::quotient(const IndexForm& form, std::int64_t by,
                                              DataType type) const {
  if (by == 1) return form;
  IndexForm whole;
  IndexForm rest;
  whole.constant = arith::floor_quotient(form.constant, by);
  rest.constant = arith::floor_remainder(form.constant, by);
  for (const IndexTerm& term : form.terms) {
    const bool is_whole = term.coefficient % by == 0;
    IndexTerm& copy = (is_whole ? whole : rest).terms.emplace_back(term);
    if (is_whole) copy.coefficient /= by;
  }
  const auto range = rest.range();
  if (range &&
      arith::floor_quotient(range->first, by) == arith::floor_quotient(range->second, by)) {
    whole.constant += arith::floor_quotient(range->first, by);
    return whole;
  }
  if (const auto parts = part(rest, by)) {
    const auto inner = quotient(parts->high, by / parts->unit, type);
    if (!inner || !add(whole, *inner, 1)) return {};
    return whole;
  }
  // (x // a) // b is x // (a * b).
  if (rest.terms.size() == 1 && rest.constant == 0 && rest.terms[0].kind == Kind::quotient &&
      rest.terms[0].coefficient == 1) {
    std::int64_t product = 0;
    const auto inner = read(rest.terms[0].inner());
    if (!inner || __builtin_mul_overflow(rest.terms[0].by, by, &product)) return {};
    const auto joined = quotient(*inner, product, type);
    if (!joined || !add(whole, *joined, 1)) return {};
    return whole;
  }
  if (!add_term(whole, digit(Kind::quotient, write(rest, type), by, rest))) return {};
  return whole;
}

std::optional<IndexForm> IndexForms::remainder(const IndexForm& form, std::int64_t by,
                                               DataType type) const {
  if (by == 1) return IndexForm{};
  IndexForm rest;
  rest.constant = arith::floor_remainder(form.constant, by);
  for (const IndexTerm& term : form.terms) {
    if (term.coefficient % by != 0) rest.terms.push_back(term);
  }
  const auto range = rest.range();
  if (range &&
      arith::floor_quotient(range->first, by) == arith::floor_quotient(range->second, by)) {
    rest.constant -= arith::floor_quotient(range->first, by) * by;
    return rest;
  }
  if (const auto parts = part(rest, by)) {
    const auto inner = remainder(parts->high, by / parts->unit, type);
    IndexForm result = parts->low;
    if (!inner || !add(result, *inner, parts->unit)) return {};
    return result;
  }
  // (x % a) % b is x % b where b divides a.
  if (rest.terms.size() == 1 && rest.constant == 0 && rest.terms[0].kind == Kind::remainder &&
      rest.terms[0].coefficient == 1 && rest.terms[0].by % by == 0) {
    const auto inner = read(rest.terms[0].inner());
    return inner ? remainder(*inner, by, type) : std::nullopt;
  }
  IndexForm result;
  if (!add_term(result, digit(Kind::remainder, write(rest, type), by, rest))) return {};
  return result;
}

Expr IndexForms::write(const IndexForm& form, DataType type) const {
  Expr sum;
  for (const IndexTerm& term : form.terms) {
    const bool is_negative = term.coefficient < 0 && sum.defined();
    const std::int64_t weight = is_negative ? -term.coefficient : term.coefficient;
    const Expr atom = term.atom.dtype() == type ? term.atom : cast(type, term.atom);
    Expr part = weight == 1 ? atom : Expr(make(Mul{.a = atom, .b = int_imm(type, weight)}));
    if (!sum.defined()) {
      sum = std::move(part);
    } else if (is_negative) {
      sum = make(Sub{.a = std::move(sum), .b = std::move(part)});
    } else {
      sum = make(Add{.a = std::move(sum), .b = std::move(part)});
    }
  }
  if (!sum.defined()) return int_imm(type, form.constant);
  if (form.constant < 0 && form.constant != INT64_MIN) {
    return make(Sub{.a = std::move(sum), .b = int_imm(type, -form.constant)});
  }
  if (form.constant == 0) return sum;
  return make(Add{.a = std::move(sum), .b = int_imm(type, form.constant)});
}

bool IndexForms::uses_bound(const Ref& expr) const {
  if (expr.is<IntImm>()) return false;
  const auto is_bound = [&](const Ref& ref) {
    return std::ranges::any_of(bound_, [&](const Bound& bound) { return bound.var.same_as(ref); });
  };
  if (expr.is<Var>()) return is_bound(expr);
  const auto either = [&](const Expr& a, const Expr& b) { return uses_bound(a) || uses_bound(b); };
  if (const auto* node = expr.as<Add>()) return either(node->a, node->b);
  if (const auto* node = expr.as<Mul>()) return either(node->a, node->b);
  if (const auto* node = expr.as<FloorDiv>()) return either(node->a, node->b);
  bool found = false;
  pre_order_visit(expr, [&](const Ref& ref) {
    found = found || is_bound(ref);
    return !found;
  });
  return found;
}

Expr IndexForms::general(const Expr& expr, bool may_be_data) const {
  Substitution values;
  for (const Bound& bound : bound_) values[bound.var] = value_of(bound);
  Analyzer analyzer;
  const Expr replaced = substitute(expr, values);
  for (const auto& variable : free_variables(replaced)) {
    bool is_known = variable->is_size;
    for (const VarRange& range : ranges_) {
      if (range.var != variable.get()) continue;
      is_known = true;
      analyzer.update(variable, ConstIntBound(range.min, range.max));
    }
    if (may_be_data && !is_known) analyzer.mark_data(variable);
  }
  return analyzer.simplify(replaced);
}

bool IndexForms::is_exact(const IndexForm& form) {
  return std::ranges::all_of(form.terms, [](const IndexTerm& term) {
    return term.is_bounded || term.kind == IndexTerm::Kind::variable;
  });
}

Expr IndexForms::operator()(const Expr& expr) const {
  for (const Bound& bound : bound_) {
    if (bound.var.same_as(expr)) return value_of(bound);
  }
  if (!uses_bound(expr)) return expr;
  if (const auto form = read(expr)) return write(*form, expr.dtype());
  return general(expr, /*may_be_data=*/false);
}

Expr IndexForms::value(const Expr& expr) const {
  if (!uses_bound(expr)) return expr;
  if (const auto form = read(expr); form && is_exact(*form)) return write(*form, expr.dtype());
  return general(expr, /*may_be_data=*/true);
}

Expr IndexForms::condition(const Expr& expr) const {
  if (expr.is<IntImm>()) return expr;
  if (const auto* both = expr.as<And>()) return condition(both->a) && condition(both->b);
  if (!uses_bound(expr)) return expr;
  if (const auto* less = expr.as<LT>(); less && less->a.dtype().is_index()) {
    const auto a = read(less->a);
    const auto b = read(less->b);
    if (a && b && is_exact(*a) && is_exact(*b)) {
      IndexForm difference = *a;
      if (add(difference, *b, -1)) {
        const auto range = difference.range();
        if (range && range->second < 0) return true;
        if (range && range->first >= 0) return false;
      }
      return write(*a, less->a.dtype()) < write(*b, less->b.dtype());
    }
  }
  return general(expr, /*may_be_data=*/true);
}

IndexForms forms_of_axes(const Block& block) {
  IndexForms forms;
  for (const auto& axis : block.iter_vars) {
    const auto* min = axis->dom->min.as<IntImm>();
    const auto* extent = axis->dom->extent.as<IntImm>();
    if (!min || !extent || extent->value < 1) continue;
    forms.add_range({axis->var.get(), min->value, min->value + extent->value - 1});
  }
  return forms;
}

}  // namespace loopsmith
