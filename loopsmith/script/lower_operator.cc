// SPDX-License-Identifier: Apache-2.0
// What operators amount to: Python's own on what the script computes, else those of expressions.
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/power.h"
#include "loopsmith/script/lowering.h"
#include "loopsmith/script/python_number.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {
namespace {

bool compared(std::string_view symbol, auto a, auto b) {
  if (symbol == "<") return a < b;
  if (symbol == "<=") return a <= b;
  if (symbol == ">") return a > b;
  if (symbol == ">=") return a >= b;
  return (a == b) == (symbol == "==");
}

bool is_order(std::string_view symbol) {
  return symbol != "in" && symbol != "not in" && symbol != "is" && symbol != "is not";
}

using Operator = Expr (*)(const Expr&, const Expr&);
struct NamedOperator {
  std::string_view symbol;
  Operator apply;
};

// clang-format off: it takes the names of operators for operators
constexpr NamedOperator operators[] = {
    {"+", operator+},   {"-", operator-},   {"*", operator*},   {"/", operator/},
    {"//", floordiv},   {"%", floormod},    {"**", power},
    {"&", operator&},   {"|", operator|},   {"^", operator^},
    {"<<", operator<<}, {">>", operator>>},
    {"<", operator<},   {"<=", operator<=}, {">", operator>},   {">=", operator>=},
    {"==", operator==}, {"!=", operator!=}, {"and", operator&&}, {"or", operator||},
};
// clang-format on

Operator operator_of(std::string_view symbol) {
  for (const NamedOperator& known : operators) {
    if (known.symbol == symbol) return known.apply;
  }
  return nullptr;
}

/// True for what becomes an expression as soon as another operand is one.
bool makes_expressions(const ScriptValue& value) {
  const Ref* node = value.as<Ref>();
  return (node && (Expr::from(*node).defined() || node->is<IterVar>())) ||
         value.as_shared<ScriptValue::Access>() != nullptr;
}

}  // namespace

ScriptValue Lowering::eval_unary(const Expression& e) {
  const ScriptValue value = named(eval(*e.items[0]));
  if (e.text == "not") {
    if (const std::optional<bool> known = known_truth(value)) return ScriptValue::truth(!*known);
    return ScriptValue::node(!expr(value));
  }
  if (const std::optional<Number> number = number_of(value)) {
    if (e.text == "+") return value;
    if (number->is_real && e.text == "-") return ScriptValue::real(-number->real);
    if (!number->is_real) {
      return ScriptValue::integer(e.text == "-" ? -number->integer : ~number->integer);
    }
  }
  if (value.as<std::shared_ptr<ForeignValue>>()) {
    return ask(fmt::format("{} value", e.text), {{"value", value}});
  }
  const Expr operand = expr(value);
  if (e.text == "+") return ScriptValue::node(operand);
  return ScriptValue::node(e.text == "-" ? -operand : ~operand);
}

ScriptValue Lowering::eval_binary(std::string_view symbol, const ScriptValue& left,
                                  const ScriptValue& right) {
  const ScriptValue a = named(left), b = named(right);
  const bool is_foreign =
      a.as<std::shared_ptr<ForeignValue>>() || b.as<std::shared_ptr<ForeignValue>>();
  if (!is_foreign && (makes_expressions(a) || makes_expressions(b))) {
    const Operator apply = operator_of(symbol);
    require_here(apply != nullptr, "operator_is_known", hint("see the operators of expressions"),
                 "'{}' is no operator of expressions", symbol);
    const std::vector<Expr> both = matched({a, b});
    return ScriptValue::node(apply(both[0], both[1]));
  }
  const auto x = number_of(a), y = number_of(b);
  if (x && y) {
    if (std::optional<ScriptValue> result = numbers(symbol, *x, *y)) return *std::move(result);
  }
  const auto *first = a.as<std::string>(), *second = b.as<std::string>();
  if (symbol == "+" && first && second) return ScriptValue::text(*first + *second);
  const auto *head = a.as_shared<ScriptValue::List>(), *tail = b.as_shared<ScriptValue::List>();
  if (symbol == "+" && head && tail && head->is_tuple == tail->is_tuple) {
    std::vector<ScriptValue> items = head->items;
    items.insert(items.end(), tail->items.begin(), tail->items.end());
    return ScriptValue::list(std::move(items), head->is_tuple);
  }
  return ask(fmt::format("a {} b", symbol), {{"a", a}, {"b", b}});
}

/// Whether a value is true; nullopt for expressions, which are true or not when the program runs.
std::optional<bool> Lowering::known_truth(const ScriptValue& value) {
  if (const auto number = number_of(value)) {
    return number->is_real ? number->real != 0 : number->integer != 0;
  }
  if (value.is_none()) return false;
  if (const auto* text = value.as<std::string>()) return !text->empty();
  if (const auto* list = value.as_shared<ScriptValue::List>()) return !list->items.empty();
  if (const auto* dict = value.as_shared<ScriptValue::Dict>()) return !dict->items.empty();
  if (value.as<std::shared_ptr<ForeignValue>>()) {
    const ScriptValue truth = ask("bool(value)", {{"value", value}});
    if (const auto* known = truth.as<bool>()) return *known;
  }
  return std::nullopt;
}

ScriptValue Lowering::eval_logic(const Expression& e) {
  const bool is_and = e.text == "and";
  ScriptValue result = named(eval(*e.items[0]));
  for (std::size_t i = 1; i < e.items.size(); ++i) {
    const std::optional<bool> known = known_truth(result);
    if (known && *known != is_and) return result;
    ScriptValue next = named(eval(*e.items[i]));
    if (known) {
      result = std::move(next);
    } else if (const std::optional<bool> after = known_truth(next)) {
      if (*after != is_and) return ScriptValue::truth(*after);
    } else {
      result = eval_binary(e.text, result, next);
    }
  }
  return result;
}

/// `a < b < c` is `a < b and b < c`.
ScriptValue Lowering::eval_compare(const Expression& e) {
  std::optional<ScriptValue> result;
  ScriptValue left = named(eval(*e.items[0]));
  for (std::size_t i = 0; i < e.names.size(); ++i) {
    ScriptValue right = named(eval(*e.items[i + 1]));
    ScriptValue one = compare(e.names[i], left, right);
    if (!result) {
      result = std::move(one);
    } else if (const auto known = known_truth(*result)) {
      if (!*known) return *result;
      result = std::move(one);
    } else if (const auto after = known_truth(one)) {
      if (!*after) return one;
    } else {
      result = eval_binary("and", *result, one);
    }
    left = std::move(right);
  }
  return *result;
}

ScriptValue Lowering::compare(std::string_view symbol, const ScriptValue& a, const ScriptValue& b) {
  const bool is_foreign =
      a.as<std::shared_ptr<ForeignValue>>() || b.as<std::shared_ptr<ForeignValue>>();
  if (symbol == "is" || symbol == "is not") {
    if (a.is_none() || b.is_none()) {
      return ScriptValue::truth((a.is_none() && b.is_none()) == (symbol == "is"));
    }
  }
  if ((makes_expressions(a) || makes_expressions(b)) && !a.is_none() && !b.is_none()) {
    // Python would compare the nodes, and choose a branch by that.
    require_here(is_order(symbol), "operator_is_known", hint("compare by ==, joined by `or`"),
                 "'{}' is no operator of expressions", symbol);
    if (!is_foreign) return eval_binary(symbol, a, b);
  }
  if (is_order(symbol)) {
    const auto x = number_of(a), y = number_of(b);
    if (x && y) {
      const bool is_real = x->is_real || y->is_real;
      return ScriptValue::truth(is_real ? compared(symbol, x->as_real(), y->as_real())
                                        : compared(symbol, x->integer, y->integer));
    }
    const auto *s = a.as<std::string>(), *t = b.as<std::string>();
    if (s && t) return ScriptValue::truth(compared(symbol, *s, *t));
  }
  return ask(fmt::format("a {} b", symbol), {{"a", a}, {"b", b}});
}

ScriptValue Lowering::eval_conditional(const Expression& e) {
  const ScriptValue condition = named(eval(*e.items[1]));
  if (const std::optional<bool> known = known_truth(condition)) {
    return eval(*e.items[*known ? 0 : 2]);
  }
  const std::vector<Expr> both = matched({eval(*e.items[0]), eval(*e.items[2])});
  return ScriptValue::node(if_then_else(expr(condition), both[0], both[1]));
}

}  // namespace loopsmith::parsing
