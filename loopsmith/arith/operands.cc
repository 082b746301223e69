// SPDX-License-Identifier: Apache-2.0
// Simplifying operands first: what the two simplifiers have in common.
#include <algorithm>

#include "loopsmith/arith/simplifier.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith::arith {

Term Simplifier::simplify_operands(Term term, Recurse recurse) {
  const TermNode node = terms_[term];
  if (node.kind == Kind::and_ || node.kind == Kind::or_) return simplify_logic(node, recurse);
  if (is_binary(node.kind)) {
    const Term a = (this->*recurse)(node.a);
    Term b = (this->*recurse)(node.b);
    // Where facts make a divisor 0, nothing is evaluated; a written 0 would be refused later.
    if (is_division(node.kind) && terms_.is_constant(b, 0)) b = node.b;
    return combine(node.kind, node.type, a, b);
  }
  switch (node.kind) {
    case Kind::variable: {
      const Fact* fact = knowledge_.facts.find(term);
      return fact && fact->value != Term::none ? (this->*recurse)(fact->value) : decide(term);
    }
    case Kind::not_: return combine(Kind::not_, node.type, (this->*recurse)(node.a));
    case Kind::select:
    case Kind::if_then_else: return simplify_choice(node, recurse);
    case Kind::cast: return simplify_cast(node, recurse);
    case Kind::ramp: {
      const Term base = (this->*recurse)(node.a);
      return combine(Kind::ramp, node.type, base, (this->*recurse)(node.b));
    }
    case Kind::broadcast: return combine(Kind::broadcast, node.type, (this->*recurse)(node.a));
    case Kind::call:
    case Kind::load: return simplify_call(term, recurse);
    case Kind::other: return simplify_other(term, recurse);
    default: return term;
  }
}

/// Simplifies `term` where `condition` holds. Facts within facts within facts are not worth their
/// time: what is known of each term is derived anew in each state of the facts. Terms that are
/// shared would be looked at once for each path to them.
Term Simplifier::simplify_where(Term condition, Term term, Recurse recurse) {
  constexpr int max_scopes = 8;
  if (scopes_ >= max_scopes || visits_left_ <= 0 || !terms_.type(condition).is_scalar()) {
    return (this->*recurse)(term);
  }
  ++scopes_;
  const Facts::Mark mark = knowledge_.facts.mark();
  assume(condition);
  const Term result = (this->*recurse)(term);
  knowledge_.facts.restore(mark);
  --scopes_;
  // It is as simple as it gets outside, too.
  (recurse == &Simplifier::rewrite ? rewritten_ : canonical_)
      .set(result, knowledge_.facts.epoch(), result);
  return result;
}

Term Simplifier::simplify_choice(const TermNode& node, Recurse recurse) {
  const Term condition = (this->*recurse)(node.a);
  if (terms_.is_constant(condition)) {
    return (this->*recurse)(terms_[condition].value != 0 ? node.b : node.c);
  }
  const Term yes = simplify_where(condition, node.b, recurse);
  const Term no = simplify_where(negated(condition), node.c, recurse);
  if (yes == no && !terms_[condition].has_effect) return yes;
  // One choice within another, with the same value where either condition fails.
  const TermNode inner = terms_[yes];
  if (node.kind == Kind::if_then_else && inner.kind == Kind::if_then_else && inner.c == no) {
    const Term both = combine(Kind::and_, boolean, condition, inner.a);
    return combine(node.kind, node.type, both, inner.b, no);
  }
  return combine(node.kind, node.type, condition, yes, no);
}

/// The right side is only of interest where the left one leaves it open.
Term Simplifier::simplify_logic(const TermNode& node, Recurse recurse) {
  const Term left = (this->*recurse)(node.a);
  if (terms_.is_constant(left) || node.has_effect) {
    return combine(node.kind, node.type, left, (this->*recurse)(node.b));
  }
  const Term open = node.kind == Kind::and_ ? left : negated(left);
  return combine(node.kind, node.type, left, simplify_where(open, node.b, recurse));
}

Term Simplifier::simplify_cast(const TermNode& node, Recurse recurse) {
  const Term value = (this->*recurse)(node.a);
  const TermNode inner = terms_[value];  // A copy: new terms move the others.
  if (inner.type == node.type) return value;
  if (inner.kind == Kind::constant && node.type.is_integer()) {
    if (node.type.is_bool()) return terms_.boolean_of(inner.value != 0, node.type.lanes);
    return terms_.constant(node.type, wrap_to(node.type, inner.value));
  }
  const bool is_number = inner.kind == Kind::constant || inner.kind == Kind::real;
  if (is_number && node.type.is_scalar()) {
    const Expr folded = cast(node.type, terms_.to_expr(value));
    if (folded.is<FloatImm>() || folded.is<IntImm>()) return terms_.read(folded);
  }
  // A cast to a type that holds all values, and on to another: one cast. (One of floating point
  // rounds them.)
  if (inner.kind == Kind::cast && node.type.is_integer() && inner.type.is_integer()) {
    const DataType from = terms_.type(inner.a);
    const ConstIntBound all = all_of(inner.type);
    const ConstIntBound values = knowledge_.bound(inner.a);
    if (from.is_integer() && !inner.type.is_bool() && values.min_value >= all.min_value &&
        values.max_value <= all.max_value) {
      return from == node.type ? inner.a : decide(terms_.make(Kind::cast, node.type, inner.a));
    }
  }
  // One that was a number of this type before, and had others added to it in between.
  const bool is_sum = inner.kind == Kind::add || inner.kind == Kind::sub;
  if (is_sum && node.type == i64 && inner.type == i32 && !inner.is_data) {
    const Kind kind = inner.kind;
    const Term operands[] = {inner.a, inner.b};
    Term wide[2];
    bool is_one_wide = false;
    for (int i = 0; i < 2; ++i) {
      wide[i] = (this->*recurse)(terms_.make(Kind::cast, node.type, operands[i]));
      is_one_wide =
          is_one_wide || (terms_[wide[i]].kind != Kind::cast && !terms_.is_constant(wide[i]));
    }
    if (is_one_wide) return combine(kind, node.type, wide[0], wide[1]);
  }
  if (inner.kind == Kind::broadcast) {
    const Term scalar = terms_.make(Kind::cast, node.type.element(), inner.a);
    return combine(Kind::broadcast, node.type, (this->*recurse)(scalar));
  }
  return decide(terms_.make(Kind::cast, node.type, value));
}

Term Simplifier::simplify_call(Term term, Recurse recurse) {
  const TermNode node = terms_[term];
  std::vector<Term> arguments(terms_.arguments(term).begin(), terms_.arguments(term).end());
  for (Term& argument : arguments) argument = (this->*recurse)(argument);
  if (node.kind == Kind::load) return decide(terms_.with_arguments(term, arguments));

  const Op call = terms_.op(term);
  if (call == op("likely") && terms_.is_constant(arguments[0])) return arguments[0];
  if (const Term value = fold_call(call, node.type, arguments); value != Term::none) return value;
  if (arguments.size() == 2 && terms_.is_constant(arguments[1]) && node.type.is_integer() &&
      !node.type.is_bool()) {
    const std::int64_t operand = terms_[arguments[1]].value;
    const bool is_shift = call == op("shift_left") || call == op("shift_right");
    constexpr std::int64_t widest = 62;
    if (is_shift && operand >= 0 && operand < std::min<std::int64_t>(node.type.bits - 1, widest)) {
      const Term power = terms_.constant(node.type, std::int64_t{1} << operand);
      if (call == op("shift_right")) {
        return combine(Kind::floordiv, node.type, arguments[0], power);
      }
      // Bits may be shifted out; a product that overflows counts as one that does not.
      const bool loses_bits = node.type.is_index() && !knowledge_.is_non_negative(arguments[0]) &&
                              may_overflow(terms_.make(Kind::mul, node.type, arguments[0], power));
      if (!loses_bits) return combine(Kind::mul, node.type, arguments[0], power);
    }
    if (call == op("bitwise_and") && operand > 0 && operand < ConstIntBound::pos_inf &&
        (operand & (operand + 1)) == 0 && fits(node.type, operand + 1)) {
      return combine(Kind::floormod, node.type, arguments[0],
                     terms_.constant(node.type, operand + 1));
    }
  }
  return decide(terms_.with_arguments(term, arguments));
}

/// What is known by its identity only: a call with an effect, a masked load, a let. Its operands
/// are simplified in a copy.
Term Simplifier::simplify_other(Term term, Recurse recurse) {
  const Expr expr = terms_.to_expr(term);
  if (const auto* let = expr.as<Let>()) return simplify_let(*let, recurse);
  if (const auto* reduce = expr.as<Reduce>()) return simplify_reduce(*reduce, recurse);
  const NodeInfo& info = node_info(*expr.get());
  const auto binds = [](const FieldInfo& field) { return field.role == Role::binds; };
  if (std::ranges::any_of(info.children, binds)) return term;

  Expr copy(static_cast<const ExprBase*>(info.clone(*expr.get())));
  Object& node = const_cast<ExprBase&>(*copy.get());  // It has no other owner yet.
  bool is_changed = false;
  const auto simplify_operand = [&](Ref& ref) {
    const Expr operand = Expr::from(ref);
    if (!operand.defined() || operand.is<StringImm>()) return;
    const Term before = terms_.read(operand);
    const Term after = (this->*recurse)(before);
    if (after == before) return;
    ref = terms_.to_expr(after);
    is_changed = true;
  };
  for (const FieldInfo& field : info.children) {
    if (field.type == FieldType::ref) simplify_operand(field.ref(node));
    if (field.type == FieldType::refs) std::ranges::for_each(field.refs(node), simplify_operand);
  }
  if (!is_changed) return term;
  info.canonicalize(node);
  return terms_.read(copy);
}

/// A variable for a constant or another variable goes; any other lends its bounds.
Term Simplifier::simplify_let(const Let& let, Recurse recurse) {
  const Term variable = terms_.read(let.var);
  const Term value = (this->*recurse)(terms_.read(let.value));
  const Kind kind = terms_[value].kind;
  const bool is_simple = kind == Kind::constant || kind == Kind::variable || kind == Kind::real;
  if (terms_[value].is_data) terms_.mark_data(variable);
  const Facts::Mark mark = knowledge_.facts.mark();
  knowledge_.facts.change(variable, [&](Fact& fact) {
    if (is_simple) fact.value = value;
    fact.bound = knowledge_.bound(value);
    fact.modular = knowledge_.modular(value);
  });
  const Term body = (this->*recurse)(terms_.read(let.body));
  knowledge_.facts.restore(mark);
  const Expr result = terms_.to_expr(body);
  if (!terms_[value].has_effect && (is_simple || !uses_variable(result, let.var))) return body;
  const Expr simple_value = terms_.to_expr(value);
  if (simple_value.same_as(let.value) && result.same_as(let.body)) {
    return terms_.read(Expr(static_cast<const ExprBase*>(&let)));
  }
  Let copy = let;
  copy.value = simple_value;
  copy.body = result;
  return terms_.read(make(std::move(copy)));
}

/// Sources matter where the axes run and the condition holds. One value that is combined is that
/// value; none, what the reduction starts from.
Term Simplifier::simplify_reduce(const Reduce& reduce, Recurse recurse) {
  const auto simple = [&](const Expr& expr) {
    return expr.defined() ? terms_.to_expr((this->*recurse)(terms_.read(expr))) : expr;
  };
  const auto value = static_cast<std::size_t>(reduce.value_index);
  Reduce copy = reduce;
  for (Expr& start : copy.init) start = simple(start);
  bool is_one_value = true;
  const Facts::Mark mark = knowledge_.facts.mark();
  for (Ptr<IterVar>& axis : copy.axis) {
    if (!axis->dom) {
      is_one_value = false;
      continue;
    }
    const Term variable = terms_.read(axis->var);
    const Term first = (this->*recurse)(terms_.read(axis->dom->min));
    const Term count = (this->*recurse)(terms_.read(axis->dom->extent));
    is_one_value = is_one_value && terms_.is_constant(count, 1);
    const Term one = terms_.constant(terms_.type(count), 1);
    const Term end = combine(Kind::add, terms_.type(count), first, count);
    const Term last = combine(Kind::sub, terms_.type(count), end, one);
    knowledge_.facts.change(variable, [&](Fact& fact) {
      fact.low = first;
      fact.high = last;
    });
  }
  copy.condition = simple(reduce.condition);
  for (Expr& source : copy.source) {
    const Term term = terms_.read(source);
    source = terms_.to_expr(copy.condition.defined()
                                ? simplify_where(terms_.read(copy.condition), term, recurse)
                                : (this->*recurse)(term));
  }
  knowledge_.facts.restore(mark);
  const bool is_always = !copy.condition.defined() || is_const_int(copy.condition, 1);
  if (is_const_int(copy.condition, 0)) {
    const auto& start = copy.init.empty() ? copy.combiner->identity_element : copy.init;
    return terms_.read(start[value]);
  }
  if (is_always && is_one_value && copy.init.empty()) {
    Substitution places;
    for (const Ptr<IterVar>& axis : copy.axis) places[axis->var] = axis->dom->min;
    return (this->*recurse)(terms_.read(substitute(copy.source[value], places)));
  }
  const Expr before(static_cast<const ExprBase*>(&reduce));
  const auto are_same = [](const std::vector<Expr>& a, const std::vector<Expr>& b) {
    return std::ranges::equal(a, b, [](const Expr& x, const Expr& y) { return x.same_as(y); });
  };
  const bool is_same = are_same(copy.init, reduce.init) && are_same(copy.source, reduce.source) &&
                       copy.condition.same_as(reduce.condition);
  return terms_.read(is_same ? before : make(std::move(copy)));
}

Term Simplifier::presentable(Term term) {
  constexpr std::uint32_t always = 1;  // Whatever the facts are.
  const TermNode node = terms_[term];
  if (node.a == Term::none || node.kind == Kind::other) return term;
  if (const Term* known = presentable_.find(term, always)) return *known;
  const Term result = deep_call([&] {
    if (node.kind == Kind::call || node.kind == Kind::load) {
      std::vector<Term> arguments(terms_.arguments(term).begin(), terms_.arguments(term).end());
      for (Term& argument : arguments) argument = presentable(argument);
      return terms_.with_arguments(term, arguments);
    }
    const auto shown = [&](Term operand) {
      return operand == Term::none ? operand : presentable(operand);
    };
    const Term a = shown(node.a);
    if (node.kind == Kind::add && node.type.is_index() && terms_.is_constant(node.b)) {
      const auto opposite = fold_constants(Kind::sub, node.type, 0, terms_[node.b].value);
      if (opposite && *opposite > 0) {
        return terms_.make(Kind::sub, node.type, a, terms_.constant(node.type, *opposite));
      }
    }
    const Term b = shown(node.b), c = shown(node.c);
    const bool is_same = a == node.a && b == node.b && c == node.c;
    return is_same ? term : terms_.make(node.kind, node.type, a, b, c);
  });
  presentable_.set(term, always, result);
  return result;
}

}  // namespace loopsmith::arith
