// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/analyzer.h"

#include <utility>

#include "loopsmith/arith/engine.h"
#include "loopsmith/arith/multiply_out.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace arith {

/// What memory holds may change before the scope ends, so such a condition is left out.
void Engine::assume(Term condition) {
  const TermNode node = knowledge.terms[condition];
  if (node.kind == Kind::and_) {
    assume(node.a);
    assume(node.b);
  } else if (!node.reads_memory) {
    simplifier.assume(condition);
  }
}

void Engine::enter(const Expr& condition) {
  const Term term = read(condition, true);
  scopes_.push_back(knowledge.facts.mark());
  assume(term);
}

void Engine::leave() {
  knowledge.facts.restore(scopes_.back());
  scopes_.pop_back();
}

}  // namespace arith

using arith::Fact;
using arith::Term;

ConstraintScope::ConstraintScope(arith::Engine& engine, const Expr& condition) : engine_(&engine) {
  engine.enter(condition);
}

ConstraintScope::ConstraintScope(ConstraintScope&& other) noexcept
    : engine_(std::exchange(other.engine_, nullptr)) {}

ConstraintScope::~ConstraintScope() {
  if (engine_) engine_->leave();
}

Analyzer::Analyzer() : engine_(std::make_unique<arith::Engine>()) {}
Analyzer::Analyzer(Analyzer&&) noexcept = default;
Analyzer& Analyzer::operator=(Analyzer&&) noexcept = default;
Analyzer::~Analyzer() = default;

namespace {

/// The term of a variable, and whether the analyzer sees it for the first time.
std::pair<Term, bool> variable_term(arith::Engine& engine, const Ptr<Var>& var) {
  const std::size_t before = engine.knowledge.terms.size();
  const Term term = engine.read(var);
  return {term, engine.knowledge.terms.size() != before};
}

/// The first and the last value in a range.
std::pair<Term, Term> ends_of(arith::Engine& engine, const Expr& begin, const Expr& size) {
  const std::int64_t *min = as_int(begin), *extent = as_int(size);
  const DataType type = size.dtype();
  std::int64_t last = 0;
  if (min && extent && *extent > 0 && !__builtin_add_overflow(*min, *extent, &last) &&
      arith::all_of(type).contains(last)) {
    arith::Terms& terms = engine.knowledge.terms;
    return {terms.constant(type, *min), terms.constant(type, last - 1)};
  }
  const auto simple = [&](const Expr& e) { return engine.simplifier.simplify(engine.read(e), 2); };
  return {simple(begin), simple(begin + size - const_of(type, 1))};
}

/// Of the value only what is always true of it is known of the variable.
void learn_range_of(arith::Engine& engine, Term variable, Term value, bool is_new) {
  const ConstIntBound bound = engine.knowledge.bound(value);
  const ModularSet modular = engine.knowledge.modular(value);
  if (engine.knowledge.terms[value].is_data) engine.knowledge.terms.mark_data(variable);
  engine.knowledge.facts.change(
      variable,
      [&](Fact& fact) {
        fact.bound = arith::intersect(fact.bound, bound);
        fact.modular = arith::intersect(fact.modular, modular);
      },
      is_new);
  engine.knowledge.facts.note_binding();
}

}  // namespace

void Analyzer::bind(const Ptr<Var>& var, const Expr& value, bool override) {
  const auto [variable, is_new] = variable_term(*engine_, var);
  const Term simple = engine_->simplifier.simplify(engine_->read(value), 2);
  if (engine_->knowledge.terms[simple].reads_memory) {
    // The variable keeps its value when the memory changes.
    return learn_range_of(*engine_, variable, simple, is_new);
  }
  arith::Facts& facts = engine_->knowledge.facts;
  const Fact* known = facts.find(variable);
  check(override || !known || known->value == Term::none || known->value == simple, "arith",
        "variable {} is bound to two values", var->name);
  if (simple == variable) return;
  facts.change(variable, [&](Fact& fact) { fact.value = simple; }, is_new);
  facts.note_binding();
}

void Analyzer::bind(const Ptr<Var>& var, const Ptr<Range>& range, bool override) {
  bind_range(var, range->min, range->extent, override);
}

void Analyzer::bind_range(const Ptr<Var>& var, const Expr& min, const Expr& extent, bool override) {
  if (is_const_int(extent, 1)) return bind(var, min, override);
  const auto [variable, is_new] = variable_term(*engine_, var);
  const auto [low, high] = ends_of(*engine_, min, extent);
  arith::Knowledge& knowledge = engine_->knowledge;
  const Fact* known = knowledge.facts.find(variable);
  check(
      override || !known || known->low == Term::none || (known->low == low && known->high == high),
      "arith", "variable {} is bound to two ranges", var->name);
  knowledge.facts.change(
      variable,
      [&](Fact& fact) {
        if (override) fact = {};
        fact.low = low;
        fact.high = high;
      },
      is_new);
  knowledge.facts.note_binding();
  const bool is_constant = knowledge.terms.is_constant(low) && knowledge.terms.is_constant(high);
  if (is_constant || !var->dtype.is_index()) return;
  const auto may_change = [&](Term term) { return knowledge.terms[term].reads_memory; };
  // low <= var <= high, for ends that are no constants and do not change.
  const auto at_most = [&](Term a, Term b) {
    if (may_change(a) || may_change(b)) return;
    const arith::Offset from = split_offset(knowledge.terms, a);
    const arith::Offset to = split_offset(knowledge.terms, b);
    if (knowledge.terms.is_constant(from.rest) || knowledge.terms.is_constant(to.rest)) return;
    knowledge.facts.add_difference(
        from.rest, to.rest,
        arith::subtract(arith::point(to.offset), arith::point(from.offset)).max_value);
  };
  at_most(low, variable);
  at_most(variable, high);
  if (!may_change(low) && !may_change(high)) engine_->ranged.push_back(var);
}

void Analyzer::update(const Ptr<Var>& var, const ConstIntBound& bound, bool override) {
  const auto [variable, is_new] = variable_term(*engine_, var);
  engine_->knowledge.facts.change(
      variable,
      [&](Fact& fact) { fact.bound = override ? bound : arith::intersect(fact.bound, bound); },
      is_new);
  engine_->knowledge.facts.note_binding();
}

void Analyzer::learn(const Ptr<Var>& var, const Expr& value) {
  const auto [variable, is_new] = variable_term(*engine_, var);
  const Term simple = engine_->simplifier.simplify(engine_->read(value), 2);
  learn_range_of(*engine_, variable, simple, is_new);
}

void Analyzer::mark_data(const Ptr<Var>& var) {
  const auto [variable, is_new] = variable_term(*engine_, var);
  check(is_new, "arith", "variable {} is marked as data after its first use", var->name);
  engine_->knowledge.terms.mark_data(variable);
  // Terms that a fact mentions are never forgotten.
  engine_->knowledge.facts.change(variable, [](Fact&) {}, is_new);
}

ConstraintScope Analyzer::constraint_scope(const Expr& condition) {
  return {*engine_, condition};
}

Expr Analyzer::simplify(const Expr& expr, int steps) {
  if (expr.is<IntImm>() || expr.is<FloatImm>()) return expr;
  const Term term = engine_->read(expr, true);
  const Term result = engine_->simplifier.presentable(engine_->simplifier.simplify(term, steps));
  return result == term ? expr : engine_->write(result);
}

Expr Analyzer::rewrite_simplify(const Expr& expr) {
  const Term term = engine_->read(expr, true);
  const Term result = engine_->simplifier.rewrite_simplify(term);
  return result == term ? expr : engine_->write(result);
}

Expr Analyzer::canonical_simplify(const Expr& expr) {
  const Term term = engine_->read(expr, true);
  const Term result = engine_->simplifier.presentable(engine_->simplifier.canonical_simplify(term));
  return result == term ? expr : engine_->write(result);
}

namespace {

/// The first min or max whose operands have none.
Expr innermost_choice(const Expr& expr) {
  Expr found;
  post_order_visit(expr, [&](const Ref& ref) {
    if (!found.defined() && (ref.is<Min>() || ref.is<Max>())) found = Expr::from(ref);
  });
  return found;
}

/// Proves a condition by cases: whichever operand of a min or max is the smaller one.
bool can_prove_by_cases(const Expr& condition, Analyzer& analyzer, int cases_left) {
  const Expr simple = analyzer.simplify(condition);
  if (const std::int64_t* truth = as_int(simple)) return *truth != 0;
  const Expr choice = cases_left > 0 ? innermost_choice(simple) : Expr();
  if (!choice.defined() || !choice.dtype().is_index() || !choice.dtype().is_scalar()) return false;
  const auto* min = choice.as<Min>();
  const auto* max = choice.as<Max>();
  const Expr a = min ? min->a : max->a;
  const Expr b = min ? min->b : max->b;
  const auto holds_for = [&](const Expr& chosen, const Expr& order) {
    const ConstraintScope scope = analyzer.constraint_scope(order);
    Rewriter rewrite;
    const auto replace = [&](const auto& node) -> Expr {
      const Expr before(static_cast<const ExprBase*>(&node));
      return structural_equal(before, choice) ? chosen : rewrite.children(node);
    };
    rewrite.on<Min>(replace);
    rewrite.on<Max>(replace);
    return can_prove_by_cases(rewrite(simple), analyzer, cases_left - 1);
  };
  return holds_for(min ? a : b, a <= b) && holds_for(min ? b : a, b < a);
}

constexpr int max_cases = 4;

}  // namespace

bool Analyzer::can_prove(const Expr& condition, ProofStrength strength) {
  const Term result = engine_->simplifier.simplify(engine_->read(condition, true), 2);
  const arith::Terms& terms = engine_->knowledge.terms;
  if (terms.is_constant(result)) return terms[result].value != 0;
  if (strength != ProofStrength::symbolic_bound) return false;
  return can_prove_by_ranges(condition) || can_prove_by_cases(condition, *this, max_cases);
}

/// Proves a < b, or a <= b, by the largest value of a - b: variables with symbolic ranges give way
/// to the ends of their ranges, those that were bound last first.
bool Analyzer::can_prove_by_ranges(const Expr& condition) {
  const arith::TermNode node = engine_->knowledge.terms[engine_->read(condition)];
  const bool is_strict = node.kind == arith::Kind::lt;
  if (!is_strict && node.kind != arith::Kind::le) return false;
  if (!engine_->knowledge.terms.type(node.a).is_index()) return false;
  Expr largest = simplify(engine_->write(node.a) - engine_->write(node.b));
  bool is_replaced = false;
  for (auto var = engine_->ranged.rbegin(); var != engine_->ranged.rend(); ++var) {
    const Fact* fact = engine_->knowledge.facts.find(engine_->read(*var));
    if (!fact || fact->low == Term::none || !uses_variable(largest, *var)) continue;
    const Domains domain{{*var, IntSet(engine_->write(fact->low), engine_->write(fact->high))}};
    const IntSet set = int_set(largest, domain);
    if (set.is_nothing() || !set.has_upper_bound()) return false;
    largest = set.max_value();
    if (can_prove_less(largest, is_strict ? 0 : 1)) return true;
    is_replaced = true;
  }
  const Expr limit = int_imm(largest.dtype(), is_strict ? 0 : 1);
  return is_replaced && innermost_choice(largest).defined() &&
         can_prove_by_cases(largest < limit, *this, max_cases);
}

namespace {

/// True where a product has no constant factor: equal sums may have other forms when it is
/// multiplied out.
bool has_product(const Expr& expr) {
  bool found = false;
  pre_order_visit(expr, [&](const Ref& ref) {
    const auto* product = ref.as<Mul>();
    found = found || (product && !as_int(product->a) && !as_int(product->b));
    return !found;
  });
  return found;
}

}  // namespace

bool Analyzer::can_prove_equal(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return true;
  if (a.dtype() != b.dtype() || !a.dtype().is_integer()) return false;
  if (can_prove_by_cases(a == b, *this, max_cases)) return true;
  const Expr apart = a - b;
  if (!a.dtype().is_index() || !has_product(apart) || may_overflow(apart)) return false;
  return is_const_int(simplify(multiply_out(apart)), 0);
}

bool Analyzer::can_prove_less(const Expr& expr, std::int64_t limit) {
  const std::int64_t largest = const_int_bound(rewrite_simplify(expr)).max_value;
  return largest != ConstIntBound::pos_inf && largest < limit;
}

bool Analyzer::can_prove_greater_equal(const Expr& expr, std::int64_t limit) {
  const std::int64_t smallest = const_int_bound(rewrite_simplify(expr)).min_value;
  return smallest != ConstIntBound::neg_inf && smallest >= limit;
}

bool Analyzer::may_overflow(const Expr& expr) {
  return engine_->simplifier.data_may_overflow(engine_->read(expr, true));
}

namespace {

/// What is known of a name's value is known of the name.
Expr without_lets(const Expr& expr) {
  bool has_let = false;
  pre_order_visit(expr, [&](const Ref& ref) {
    has_let = has_let || ref.is<Let>();
    return !has_let;
  });
  if (!has_let) return expr;
  Rewriter rewrite;
  rewrite.on<Let>([&](const Let& let) -> Expr {
    return substitute(rewrite(let.body), {{let.var, rewrite(let.value)}});
  });
  return rewrite(expr);
}

}  // namespace

ConstIntBound Analyzer::const_int_bound(const Expr& expr) {
  return engine_->knowledge.bound(engine_->read(without_lets(expr), true));
}

IntSet Analyzer::int_set(const Expr& expr, const Domains& domains) {
  return evaluate_set(expr, domains, *this);
}

ModularSet Analyzer::modular_set(const Expr& expr) {
  return engine_->knowledge.modular(engine_->read(without_lets(expr), true));
}

}  // namespace loopsmith
