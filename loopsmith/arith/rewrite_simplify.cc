// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rewrite_simplify.h"

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

bool fits(DataType type, std::int64_t value) {
  return type.element() == u64 || all_of(type).contains(value);
}

}  // namespace

Term RewriteSimplifier::simplify(Term term) {
  steps_left_ = free_steps + steps_per_term * static_cast<std::int64_t>(terms_.size());
  return rewrite(term);
}

Term RewriteSimplifier::rewrite(Term term) {
  const Kind kind = terms_[term].kind;
  if (kind == Kind::constant || kind == Kind::real) return term;
  const std::uint32_t epoch = knowledge_.facts.epoch();
  if (const Term* known = done_.find(term, epoch)) return *known;
  const Term result = deep_call([&] { return rewrite_node(term); });
  done_.set(term, epoch, result);
  return result;
}

Term RewriteSimplifier::rewrite_node(Term term) {
  const TermNode node = terms_[term];
  if (is_binary(node.kind)) {
    const Term a = rewrite(node.a);
    return combine(node.kind, node.type, a, rewrite(node.b));
  }
  switch (node.kind) {
    case Kind::variable: {
      done_.set(term, knowledge_.facts.epoch(), term);  // Against a value that mentions it.
      const Fact* fact = knowledge_.facts.find(term);
      return fact && fact->value != Term::none ? rewrite(fact->value) : decide(term);
    }
    case Kind::not_: return combine(Kind::not_, node.type, rewrite(node.a));
    case Kind::select:
    case Kind::if_then_else: return rewrite_choice(node);
    case Kind::cast: return rewrite_cast(node);
    case Kind::ramp: {
      const Term base = rewrite(node.a);
      return combine(Kind::ramp, node.type, base, rewrite(node.b));
    }
    case Kind::broadcast: return combine(Kind::broadcast, node.type, rewrite(node.a));
    case Kind::call:
    case Kind::load: return rewrite_call(term);
    case Kind::other: return rewrite_other(term);
    default: return term;
  }
}

Term RewriteSimplifier::rewrite_choice(const TermNode& node) {
  const Term condition = rewrite(node.a);
  const auto branch = [&](Term value, Term holds) {
    const Facts::Mark mark = knowledge_.facts.mark();
    assume(holds);
    const Term result = rewrite(value);
    knowledge_.facts.restore(mark);
    return result;
  };
  if (terms_.is_constant(condition)) return rewrite(terms_[condition].value ? node.b : node.c);
  const bool is_scalar = terms_.type(condition).is_scalar();
  const Term yes = is_scalar ? branch(node.b, condition) : rewrite(node.b);
  const Term no = is_scalar ? branch(node.c, negated(condition)) : rewrite(node.c);
  return combine(node.kind, node.type, condition, yes, no);
}

Term RewriteSimplifier::rewrite_cast(const TermNode& node) {
  const Term value = rewrite(node.a);
  const TermNode& inner = terms_[value];
  if (inner.type == node.type) return value;
  if (inner.kind == Kind::constant && node.type.is_integer()) {
    if (node.type.is_bool()) return terms_.boolean_of(inner.value != 0, node.type.lanes);
    return terms_.constant(node.type, wrap_to(node.type, inner.value));
  }
  // A cast to a type that holds all values, and on to another: one cast.
  if (inner.kind == Kind::cast && node.type.is_integer()) {
    const DataType from = terms_.type(inner.a);
    const ConstIntBound all = all_of(inner.type);
    const ConstIntBound values = knowledge_.bound(inner.a);
    if (from.is_integer() && !inner.type.is_bool() && values.min_value >= all.min_value &&
        values.max_value <= all.max_value) {
      return from == node.type ? inner.a : decide(terms_.make(Kind::cast, node.type, inner.a));
    }
  }
  if (inner.kind == Kind::broadcast) {
    const Term scalar = terms_.make(Kind::cast, node.type.element(), inner.a);
    return combine(Kind::broadcast, node.type, rewrite(scalar));
  }
  return decide(terms_.make(Kind::cast, node.type, value));
}

Term RewriteSimplifier::rewrite_call(Term term) {
  const TermNode node = terms_[term];
  std::vector<Term> arguments(terms_.arguments(term).begin(), terms_.arguments(term).end());
  for (Term& argument : arguments) argument = rewrite(argument);
  if (node.kind == Kind::load) return decide(terms_.with_arguments(term, arguments));

  const Op call = terms_.op(term);
  if (call == op("likely") && terms_.is_constant(arguments[0])) return arguments[0];
  if (arguments.size() == 2 && terms_.is_constant(arguments[1]) && node.type.is_integer() &&
      !node.type.is_bool()) {
    const std::int64_t operand = terms_[arguments[1]].value;
    const bool is_shift = call == op("shift_left") || call == op("shift_right");
    constexpr std::int64_t widest = 62;
    if (is_shift && operand >= 0 && operand < std::min<std::int64_t>(node.type.bits - 1, widest)) {
      const Term power = terms_.constant(node.type, std::int64_t{1} << operand);
      return combine(call == op("shift_left") ? Kind::mul : Kind::floordiv, node.type, arguments[0],
                     power);
    }
    if (call == op("bitwise_and") && operand > 0 && operand < ConstIntBound::pos_inf &&
        (operand & (operand + 1)) == 0 && fits(node.type, operand + 1)) {
      return combine(Kind::floormod, node.type, arguments[0],
                     terms_.constant(node.type, operand + 1));
    }
  }
  return decide(terms_.with_arguments(term, arguments));
}

Term RewriteSimplifier::rewrite_other(Term term) {
  return term;
}

Term RewriteSimplifier::combine(Kind kind, DataType type, Term a, Term b, Term c) {
  if (is_commutative(kind) && terms_.is_constant(a) && !terms_.is_constant(b)) std::swap(a, b);
  if (is_binary(kind) && terms_.is_constant(a) && terms_.is_constant(b)) {
    const auto value = fold_constants(kind, terms_.type(a), terms_[a].value, terms_[b].value);
    if (value) return terms_.constant(type, *value);
  }
  if (kind == Kind::sub && terms_.is_constant(b) && type.is_integer()) {
    const auto negative = fold_constants(Kind::sub, type, 0, terms_[b].value);
    if (negative) return combine(Kind::add, type, a, terms_.constant(type, *negative));
  }
  const Term made = terms_.make(kind, type, a, b, c);
  const std::uint32_t epoch = knowledge_.facts.epoch();
  if (const Term* known = done_.find(made, epoch)) return *known;
  // Who meets this term while it is being simplified takes it as it is.
  done_.set(made, epoch, made);
  const Term result = deep_call([&] {
    const TermNode node = terms_[made];
    if (node.kind == Kind::le) return at_most(type, a, b);
    if (node.kind == Kind::ne) return negated(combine(Kind::eq, type, a, b));
    if (node.kind == Kind::not_ && is_comparison(terms_[a].kind)) return negated(a);
    const Term decided = decide(made);
    if (decided != made || nesting_ >= deepest_nesting || steps_left_ <= 0) return decided;
    ++nesting_;
    const Term rewritten = apply_rules(node);
    --nesting_;
    return rewritten == Term::none ? made : rewritten;
  });
  done_.set(made, epoch, result);
  return result;
}

Term RewriteSimplifier::apply_rules(const TermNode& node) {
  const Kind first = terms_[node.a].kind;
  const std::uint32_t second =
      node.b == Term::none ? ~0U : 1U << static_cast<unsigned>(terms_[node.b].kind);
  const auto attempt = [&](const Candidate& candidate) {
    Binding binding;
    if (!match(candidate, terms_, node, binding)) return Term::none;
    if (!is_given(*candidate.rule, knowledge_, binding)) return Term::none;
    --steps_left_;
    return build(candidate.rule->after.atoms.data(), binding, node.type);
  };
  for (const Candidate& candidate : candidates(node.kind, first)) {
    if (!(candidate.second_kinds & second)) continue;
    if (const Term result = attempt(candidate); result != Term::none) return result;
  }
  return Term::none;
}

Term RewriteSimplifier::build(const Pattern::Atom* atom, const Binding& binding, DataType type) {
  if (atom->place == Place::variable) {
    return binding.variables[static_cast<std::size_t>(atom->value)];
  }
  if (const auto value = constant_value(atom, binding)) {
    if (type.is_index() && !fits(type, *value)) return Term::none;
    return terms_.constant(type, wrap_to(type, *value));
  }
  DataType first_type = type;
  DataType other_type = type;
  DataType own_type = type;
  if (is_comparison(atom->kind)) {
    first_type = other_type = binding.operand_type;
    own_type = boolean.with_lanes(binding.operand_type.lanes);
  } else if (atom->kind == Kind::select) {
    first_type = boolean;
  } else if (atom->kind == Kind::ramp || atom->kind == Kind::broadcast) {
    first_type = other_type = type.element();
  }
  std::array<Term, 3> operands{};
  const Pattern::Atom* next = atom + 1;
  for (std::size_t i = 0; next != atom + atom->size; ++i, next += next->size) {
    operands[i] = build(next, binding, i == 0 ? first_type : other_type);
    if (operands[i] == Term::none) return Term::none;
  }
  return combine(atom->kind, own_type, operands[0], operands[1], operands[2]);
}

/// The constant that the facts leave as its only value; else the term.
Term RewriteSimplifier::decide(Term term) {
  const TermNode node = terms_[term];
  if (!node.type.is_integer() || node.has_effect) return term;
  if (const Fact* fact = knowledge_.facts.find(term); fact && fact->truth >= 0) {
    return terms_.boolean_of(fact->truth != 0, node.type.lanes);
  }
  if (is_comparison(node.kind)) {
    const Term answer = decide_comparison(node);
    return answer == Term::none ? term : answer;
  }
  const ConstIntBound bound = knowledge_.bound(term);
  if (!bound.is_point() || !fits(node.type, bound.min_value)) return term;
  return terms_.constant(node.type, bound.min_value);
}

Term RewriteSimplifier::decide_comparison(const TermNode& node) {
  const auto answer = [&](bool value) { return terms_.boolean_of(value, node.type.lanes); };
  const DataType type = terms_.type(node.a);
  if (!type.is_integer()) return Term::none;
  if (node.a == node.b) return answer(node.kind == Kind::eq || node.kind == Kind::le);
  // Differences, where subtraction cannot wrap.
  const bool both_vary = !terms_.is_constant(node.a) && !terms_.is_constant(node.b);
  const Term difference =
      both_vary && type.is_index() ? combine(Kind::sub, type, node.a, node.b) : Term::none;
  ConstIntBound range{};
  if (difference != Term::none) range = knowledge_.bound(difference);
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
    const ModularSet set = difference != Term::none
                               ? knowledge_.modular(difference)
                               : subtract(knowledge_.modular(node.a), knowledge_.modular(node.b));
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

/// a <= b is not (b < a); with a constant, it becomes `<`.
Term RewriteSimplifier::at_most(DataType type, Term a, Term b) {
  return negated(combine(Kind::lt, type, b, a));
}

Term RewriteSimplifier::negated(Term condition) {
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
      if (was_less && type.is_index()) {
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
    default: break;
  }
  return terms_.make(Kind::not_, node.type, condition);
}

void RewriteSimplifier::assume_bound(Term term, const ConstIntBound& bound) {
  knowledge_.facts.change(term, [&](Fact& fact) {
    const ConstIntBound both = intersect(fact.bound, bound);
    if (!both.is_empty()) fact.bound = both;
  });
}

void RewriteSimplifier::assume_truth(Term condition, bool truth) {
  knowledge_.facts.change(condition, [&](Fact& fact) { fact.truth = truth ? 1 : 0; });
}

void RewriteSimplifier::assume(Term condition) {
  const TermNode node = terms_[condition];
  if (node.kind == Kind::constant || node.has_effect) return;
  if (node.kind == Kind::call && terms_.op(condition) == op("likely")) {
    return assume(terms_.arguments(condition)[0]);
  }
  if (node.kind == Kind::and_) {
    deep_call([&] {
      assume(node.a);
      assume(node.b);
    });
    return;
  }
  // Both forms are derived before either is assumed, which would make them constants.
  const Term simple = rewrite(condition);
  const Term opposite = negated(simple);
  if (is_comparison(node.kind)) assume_comparison(node);
  const TermNode simple_node = terms_[simple];
  if (simple != condition) {
    if (simple_node.kind == Kind::and_) return assume(simple);
    if (is_comparison(simple_node.kind)) assume_comparison(simple_node);
  }
  assume_truth(condition, true);
  if (simple_node.kind != Kind::constant) {
    assume_truth(simple, true);
    assume_truth(opposite, false);
  }
  if (simple_node.kind == Kind::not_ && terms_[simple_node.a].kind == Kind::or_) {
    const TermNode either = terms_[simple_node.a];
    assume(negated(either.a));
    assume(negated(either.b));
  }
}

void RewriteSimplifier::assume_comparison(const TermNode& node) {
  const DataType type = terms_.type(node.a);
  if (!type.is_integer()) return;
  const auto below = [&](Term a, Term b, std::int64_t at_most) {
    const std::int64_t largest = add(knowledge_.bound(b), point(at_most)).max_value;
    const std::int64_t smallest = subtract(knowledge_.bound(a), point(at_most)).min_value;
    if (!terms_.is_constant(a)) assume_bound(a, {ConstIntBound::neg_inf, largest});
    if (!terms_.is_constant(b)) assume_bound(b, {smallest, ConstIntBound::pos_inf});
    if (!type.is_index()) return;
    const Offset from = split_offset(terms_, a);
    const Offset to = split_offset(terms_, b);
    // from.rest + from.offset - to.rest - to.offset <= at_most
    const ConstIntBound limit = add(point(at_most), subtract(point(to.offset), point(from.offset)));
    if (terms_.is_constant(b))
      assume_bound(from.rest,
                   {ConstIntBound::neg_inf, add(limit, knowledge_.bound(to.rest)).max_value});
    else if (terms_.is_constant(a))
      assume_bound(to.rest, {subtract(knowledge_.bound(from.rest), limit).min_value,
                             ConstIntBound::pos_inf});
    else
      knowledge_.facts.add_difference(from.rest, to.rest, limit.max_value);
  };
  switch (node.kind) {
    case Kind::lt: return below(node.a, node.b, -1);
    case Kind::le: return below(node.a, node.b, 0);
    case Kind::eq: {
      below(node.a, node.b, 0);
      below(node.b, node.a, 0);
      const auto equal_sets = [&](Term a, Term b) {
        const ModularSet set = knowledge_.modular(b);
        knowledge_.facts.change(a,
                                [&](Fact& fact) { fact.modular = intersect(fact.modular, set); });
      };
      if (!terms_.is_constant(node.a)) equal_sets(node.a, node.b);
      if (!terms_.is_constant(node.b)) equal_sets(node.b, node.a);
      // x % c1 == c2 tells of x.
      const TermNode left = terms_[node.a];
      if (left.kind == Kind::floormod && terms_.is_constant(left.b) && terms_.is_constant(node.b)) {
        const ModularSet told = arith::modular(terms_[left.b].value, terms_[node.b].value);
        knowledge_.facts.change(left.a,
                                [&](Fact& fact) { fact.modular = intersect(fact.modular, told); });
      }
      return;
    }
    case Kind::ne: {
      // At an end of its range, a value that it has not moves the end.
      if (!terms_.is_constant(node.b)) return;
      const std::int64_t value = terms_[node.b].value;
      const ConstIntBound bound = knowledge_.bound(node.a);
      if (bound.min_value == value) assume_bound(node.a, {value + 1, ConstIntBound::pos_inf});
      if (bound.max_value == value) assume_bound(node.a, {ConstIntBound::neg_inf, value - 1});
      return;
    }
    default: return;
  }
}

}  // namespace loopsmith::arith
