// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/simplifier.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith::arith {
namespace {

/// How many rules may apply to what a rule has just made.
constexpr int deepest_nesting = 32;
/// Rules that one call may apply for each of its terms.
constexpr std::int64_t steps_per_term = 64;
constexpr std::int64_t free_steps = 4096;
/// So often may one call look at each of its terms before it makes no more use of conditions.
constexpr std::int64_t visits_per_term = 32;

}  // namespace

void Simplifier::start(Form form) {
  if (form != form_) forget();
  form_ = form;
  const auto count = static_cast<std::int64_t>(terms_.size());
  steps_left_ = free_steps + steps_per_term * count;
  visits_left_ = free_steps + visits_per_term * count;
}

void Simplifier::forget() {
  for (Memo<Term>* memo : {&rewritten_, &canonical_, &presentable_}) memo->clear();
  sums_.clear();
  pieces_.clear();
}

Term Simplifier::rewrite_simplify(Term term) {
  start(Form::as_written);
  return rewrite(term);
}

Term Simplifier::canonical_simplify(Term term) {
  start();
  return canonical(term);
}

Term Simplifier::simplify(Term term, int steps) {
  start();
  term = canonical(term);
  for (int step = 0; step < steps && !terms_.is_constant(term); ++step) {
    const Term next = step % 2 == 0 ? rewrite(term) : canonical(term);
    if (next == term) break;
    term = next;
  }
  return term;
}

Term Simplifier::rewrite(Term term) {
  const Kind kind = terms_[term].kind;
  if (kind == Kind::constant || kind == Kind::real) return term;
  const std::uint32_t epoch = knowledge_.facts.epoch();
  if (const Term* known = rewritten_.find(term, epoch)) return *known;
  --visits_left_;
  // A value that leads back to its variable ends here. (Not so others: `combine` looks them up.)
  if (kind == Kind::variable) rewritten_.set(term, epoch, term);
  const Term result = deep_call([&] { return simplify_operands(term, &Simplifier::rewrite); });
  rewritten_.set(term, epoch, result);
  rewritten_.set(result, epoch, result);
  return result;
}

Term Simplifier::combine(Kind kind, DataType type, Term a, Term b, Term c) {
  const bool keeps_order = form_ == Form::as_written && (kind == Kind::min || kind == Kind::max);
  if (is_commutative(kind) && !keeps_order && terms_.is_constant(a) && !terms_.is_constant(b)) {
    std::swap(a, b);
  }
  if (is_binary(kind) && terms_.is_constant(a) && terms_.is_constant(b)) {
    const auto value = fold_constants(kind, terms_.type(a), terms_[a].value, terms_[b].value);
    if (value) return terms_.constant(type, *value);
  }
  if (kind == Kind::not_ && terms_.is_constant(a)) {
    return terms_.boolean_of(terms_[a].value == 0, type.lanes);
  }
  if (kind == Kind::sub && terms_.is_constant(b) && type.is_integer()) {
    const auto negative = fold_constants(Kind::sub, type, 0, terms_[b].value);
    if (negative) return combine(Kind::add, type, a, terms_.constant(type, *negative));
  }
  const Term made = terms_.make(kind, type, a, b, c);
  if (is_division(kind) && may_be_zero(b)) return made;
  const std::uint32_t epoch = knowledge_.facts.epoch();
  if (const Term* known = rewritten_.find(made, epoch)) return *known;
  // A rule that reaches this term while it is being simplified takes it as it is.
  rewritten_.set(made, epoch, made);
  const Term result = deep_call([&] {
    const TermNode node = terms_[made];
    // a <= b is not (b < a), which has the rules.
    if (node.kind == Kind::le && terms_.type(a).is_integer())
      return negated(combine(Kind::lt, type, b, a));
    if (node.kind == Kind::ne) return negated(combine(Kind::eq, type, a, b));
    if (node.kind == Kind::not_ && is_comparison(terms_[a].kind)) return negated(a);
    const Term decided = decide(made);
    if (decided != made || nesting_ >= deepest_nesting || steps_left_ <= 0) return decided;
    ++nesting_;
    const Term rewritten = apply_rules(node);
    --nesting_;
    return rewritten == Term::none ? made : rewritten;
  });
  rewritten_.set(made, epoch, result);
  return result;
}

Term Simplifier::apply_rules(const TermNode& node) {
  const Kind first = terms_[node.a].kind;
  const std::uint32_t second =
      node.b == Term::none ? ~0U : 1U << static_cast<unsigned>(terms_[node.b].kind);
  const auto attempt = [&](const Candidate& candidate) {
    Binding binding;
    if (candidate.rule->normalizes && form_ == Form::as_written) return Term::none;
    if (!match(candidate, terms_, node, binding)) return Term::none;
    if (!is_given(*candidate.rule, knowledge_, binding)) return Term::none;
    --steps_left_;
    const Term result = build(candidate.rule->after.atoms.data(), binding, node.type);
    return result != Term::none && overflows_anew(node, result) ? Term::none : result;
  };
  for (const Candidate& candidate : candidates(node.kind, first)) {
    if (!(candidate.second_kinds & second)) continue;
    if (const Term result = attempt(candidate); result != Term::none) return result;
  }
  return Term::none;
}

Term Simplifier::build(const Pattern::Atom* atom, const Binding& binding, DataType type) {
  if (atom->place == Place::variable) {
    return binding.variables[static_cast<std::size_t>(atom->value)];
  }
  if (const auto value = constant_value(atom, binding)) {
    if (type.is_index() && !fits(type, *value)) return Term::none;
    return terms_.constant(type, wrap_to(type, *value));
  }
  // Constants take the type of the operand beside them, so that one is made first.
  std::array<const Pattern::Atom*, 3> places{};
  std::array<Term, 3> operands{};
  std::size_t count = 0;
  for (const auto* next = atom + 1; next != atom + atom->size; next += next->size) {
    places[count++] = next;
  }
  const bool is_choice = atom->kind == Kind::select;
  const bool is_spread = atom->kind == Kind::ramp || atom->kind == Kind::broadcast;
  DataType operand_type = is_spread ? type.element() : type;
  for (const bool of_constants : {false, true}) {
    for (std::size_t i = 0; i < count; ++i) {
      if (constant_value(places[i], binding).has_value() != of_constants) continue;
      operands[i] = build(places[i], binding, operand_type);
      if (operands[i] == Term::none) return Term::none;
      if (!is_choice || i > 0) operand_type = terms_.type(operands[i]);
    }
  }
  DataType own_type = operand_type;
  if (is_spread) own_type = operand_type.with_lanes(type.lanes);
  if (is_comparison(atom->kind)) own_type = boolean.with_lanes(operand_type.lanes);
  const bool is_choice_of_two = atom->kind == Kind::min || atom->kind == Kind::max;
  if (is_choice_of_two && binding.swaps_min_max && form_ == Form::as_written) {
    std::swap(operands[0], operands[1]);
  }
  const Term made = combine(atom->kind, own_type, operands[0], operands[1], operands[2]);
  // A constant that does not fit: -c of the smallest c.
  const bool is_whole = is_binary(atom->kind) && own_type.is_index() &&
                        terms_.is_constant(operands[0]) && terms_.is_constant(operands[1]);
  return is_whole && !terms_.is_constant(made) ? Term::none : made;
}

}  // namespace loopsmith::arith
