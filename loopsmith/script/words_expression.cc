// SPDX-License-Identifier: Apache-2.0
// Functions that make expressions, by the operators of the IR, and Python's own.
#include <cmath>

#include "loopsmith/ir/operators.h"
#include "loopsmith/script/lowering.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {

/// `range` of Python (words_loop.cc).
ScriptValue builtin_range(Lowering& lowering, const Arguments& args, const Word& word);

namespace {

template <Expr (*function)(const Expr&, const Expr&)>
ScriptValue binary(Lowering& lowering, const Arguments& args, const Word&) {
  const std::vector<Expr> both = lowering.matched({args[0], args[1]});
  return ScriptValue::node(function(both[0], both[1]));
}

Expr div(const Expr& a, const Expr& b) {
  return a.dtype().is_integer() && b.dtype().is_integer() ? truncdiv(a, b) : a / b;
}

ScriptValue absolute(Lowering& lowering, const Arguments& args, const Word&) {
  return ScriptValue::node(abs(lowering.expr(args[0])));
}

ScriptValue choose(Lowering& lowering, const Arguments& args, const Word& word) {
  const std::vector<Expr> values = lowering.matched({args[1], args[2]});
  const Expr chosen = if_then_else(lowering.expr(args[0]), values[0], values[1]);
  return of_type(lowering, ScriptValue::node(chosen), args[3], word);
}

ScriptValue likely_word(Lowering& lowering, const Arguments& args, const Word& word) {
  return of_type(lowering, ScriptValue::node(likely(lowering.expr(args[0]))), args[1], word);
}

ScriptValue cast_word(Lowering& lowering, const Arguments& args, const Word&) {
  // T.cast(value, dtype), as the field has it; and T.cast(dtype, value).
  const bool type_first = args[0].as<std::string>() || args[0].as<DataType>();
  const DataType type = lowering.data_type(args[type_first ? 0 : 1], "T.cast");
  return ScriptValue::node(cast(type, lowering.expr(args[type_first ? 1 : 0], type)));
}

ScriptValue reinterpret_word(Lowering& lowering, const Arguments& args, const Word&) {
  const DataType type = lowering.data_type(args[0], "T.reinterpret");
  return ScriptValue::node(reinterpret(type, lowering.expr(args[1])));
}

template <Expr (*limit)(DataType)>
ScriptValue limit_of(Lowering& lowering, const Arguments& args, const Word& word) {
  return ScriptValue::node(limit(lowering.data_type(args[0], word.name)));
}

template <bool of_all>
ScriptValue joined(Lowering& lowering, const Arguments& args, const Word&) {
  std::vector<ScriptValue> parts = args.rest();
  if (parts.size() == 1) parts = lowering.items_or_one(lowering.named(parts[0]));
  Expr result = of_all;
  for (const ScriptValue& part : parts) {
    result = of_all ? result && lowering.expr(part) : result || lowering.expr(part);
  }
  return ScriptValue::node(result);
}

ScriptValue constant(Lowering& lowering, const Arguments& args, const Word&) {
  if (args[1].is_none()) return ScriptValue::node(lowering.expr(args[0]));
  const DataType type = lowering.data_type(args[1], "T.const");
  return lowering.call(ScriptValue::Data(type), {args[0]}, {});
}

// ---- Python's own ----

bool is_expression(const ScriptValue& value) {
  const Ref* node = value.as<Ref>();
  return (node && Expr::from(*node).defined()) || value.as_shared<ScriptValue::Access>();
}

template <bool least>
ScriptValue extreme(Lowering& lowering, const Arguments& args, const Word& word) {
  std::vector<ScriptValue> values = args.rest();
  if (values.size() == 1) values = lowering.items(values[0], word.name);
  lowering.require_here(!values.empty(), "argument_count", hint("give two values"), "{} of nothing",
                        word.name);
  ScriptValue best = lowering.named(values[0]);
  for (std::size_t i = 1; i < values.size(); ++i) {
    const ScriptValue next = lowering.named(values[i]);
    const auto *a = best.as<ScriptValue::Integer>(), *b = next.as<ScriptValue::Integer>();
    if (a && b) {
      if ((b->value < a->value) == least && a->value != b->value) best = next;
      continue;
    }
    const std::vector<Expr> both = lowering.matched({best, next});
    best = ScriptValue::node(least ? min(both[0], both[1]) : max(both[0], both[1]));
  }
  return best;
}

ScriptValue builtin_abs(Lowering& lowering, const Arguments& args, const Word&) {
  const ScriptValue value = lowering.named(args[0]);
  if (const auto* integer = value.as<ScriptValue::Integer>()) {
    return ScriptValue::integer(integer->value < 0 ? -integer->value : integer->value);
  }
  if (const auto* real = value.as<double>()) return ScriptValue::real(std::abs(*real));
  return ScriptValue::node(abs(lowering.expr(value)));
}

ScriptValue length(Lowering& lowering, const Arguments& args, const Word&) {
  return ScriptValue::integer(static_cast<__int128>(lowering.items(args[0], "len").size()));
}

template <bool is_int>
ScriptValue number(Lowering& lowering, const Arguments& args, const Word& word) {
  const ScriptValue value = lowering.named(args[0]);
  if (is_expression(value) && !value.node_as<IntImm>().defined()) {
    const Expr e = lowering.expr(value);
    return ScriptValue::node(cast(is_int ? i32 : f32, e));
  }
  if (const auto* real = value.as<double>()) {
    lowering.require_here(!is_int || std::abs(*real) < 9e18, "constant_in_range",
                          hint("64 bits are the most"), "{}: the number is too large", word.name);
    return is_int ? ScriptValue::integer(static_cast<std::int64_t>(*real)) : value;
  }
  const std::int64_t integer = lowering.integer(value, word.name);
  return is_int ? ScriptValue::integer(integer) : ScriptValue::real(static_cast<double>(integer));
}

ScriptValue boolean_word(Lowering& lowering, const Arguments& args, const Word&) {
  const ScriptValue value = lowering.named(args[0]);
  if (is_expression(value)) return ScriptValue::node(cast(boolean, lowering.expr(value)));
  return ScriptValue::truth(lowering.truth(value, "bool"));
}

constexpr std::string_view two = "a: ExprLike, b: ExprLike";

}  // namespace

std::span<const Word> expression_words() {
  static constexpr Word words[] = {
      {"T", "min", two, "Expr", binary<min>, "The smaller of two values."},
      {"T", "max", two, "Expr", binary<max>, "The larger of two values."},
      {"T", "floordiv", two, "Expr", binary<floordiv>, "Integer division, rounded down."},
      {"T", "floormod", two, "Expr", binary<floormod>, "The remainder of floordiv."},
      {"T", "truncdiv", two, "Expr", binary<truncdiv>, "Integer division, rounded toward zero."},
      {"T", "truncmod", two, "Expr", binary<truncmod>, "The remainder of truncdiv."},
      {"T", "ceildiv", two, "Expr", binary<ceildiv>, "Integer division, rounded up."},
      {"T", "div", two, "Expr", binary<div>, "Division; of integers, rounded toward zero."},
      {"T", "abs", "x: ExprLike", "Expr", absolute, "The value without its sign."},
      {"T", "if_then_else",
       "condition: ExprLike, true_value: ExprLike, false_value: ExprLike, dtype: str | None = None",
       "Expr", choose, "One of two values, of which only it is evaluated."},
      {"T", "likely", "condition: ExprLike, dtype: str | None = None", "Expr", likely_word,
       "A condition that mostly holds."},
      {"T", "cast", "value: ExprLike, dtype: str", "Expr", cast_word,
       "A value converted to another type."},
      {"T", "reinterpret", "dtype: str, value: ExprLike", "Expr", reinterpret_word,
       "The bits of a value as those of another type."},
      {"T", "min_value", "dtype: str", "Expr", limit_of<min_value>,
       "The smallest finite value of a type."},
      {"T", "max_value", "dtype: str", "Expr", limit_of<max_value>,
       "The largest finite value of a type."},
      {"T", "infinity", "dtype: str", "Expr", limit_of<infinity>, "Infinity of a type."},
      {"T", "all", "*conditions: Any", "Expr", joined<true>, "True where each condition is."},
      {"T", "any", "*conditions: Any", "Expr", joined<false>, "True where one condition is."},
      {"T", "const", "value: ExprLike, dtype: str | None = None", "Expr", constant, "A constant."},
  };
  return words;
}

std::span<const Word> builtin_words() {
  static constexpr Word words[] = {
      {"builtin", "range",
       "start: Any, stop: Any = None, step: Any = None, *, annotations: Any = None", "Any",
       builtin_range},
      {"builtin", "min", "*values: Any", "Any", extreme<true>},
      {"builtin", "max", "*values: Any", "Any", extreme<false>},
      {"builtin", "abs", "x: Any", "Any", builtin_abs},
      {"builtin", "len", "x: Any", "int", length},
      {"builtin", "int", "x: Any", "Any", number<true>},
      {"builtin", "float", "x: Any", "Any", number<false>},
      {"builtin", "bool", "x: Any", "Any", boolean_word},
  };
  return words;
}

}  // namespace loopsmith::parsing
