// SPDX-License-Identifier: Apache-2.0
// The intrinsics: a word for each row of the table of op.h.
#include <algorithm>

#include "loopsmith/ir/math_functions.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/packed_array.h"
#include "loopsmith/script/lowering.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {

ScriptValue of_type(Lowering& lowering, const ScriptValue& value, const ScriptValue& dtype,
                    const Word& word) {
  if (dtype.is_none()) return value;
  const Expr call = lowering.expr(value);
  // Of a call for its effect no statement uses the value, and programs call its type what they
  // like, or not at all.
  const bool is_used = !call.is<Call>() || (call.as<Call>()->op.info().effect != Effect::updates &&
                                            !call.dtype().is_handle());
  const auto* name = dtype.as<std::string>();
  if (!is_used && name && name->empty()) return value;
  const DataType type = lowering.data_type(dtype, word.name);
  lowering.require_here(!is_used || call.dtype() == type, "dtype_is_that_of_value",
                        hint("cast an operand, or the value: T.cast(value, dtype)"),
                        "T.{}: dtype is {}, the value is {}", word.name, to_string(type),
                        to_string(call.dtype()));
  return value;
}

namespace {

/// Intrinsics that words of their own make.
constexpr std::string_view others[] = {"if_then_else", "likely", "reinterpret", "call_global",
                                       "prefetch"};

/// Other names that the field has for some.
constexpr std::pair<std::string_view, std::string_view> aliases[] = {
    {"call_packed", "tvm_call_packed"},
    {"call_cpacked", "tvm_call_cpacked"},
    {"power", "pow"},
};

/// Operands of one type: element-wise functions of two and more.
bool matches_operands(const OpInfo& info) {
  const MathFunction* function = find_math_function(op_of(&info));
  return function && info.arity >= 2 && !function->is_mixed;
}

ScriptValue call_of(Lowering& lowering, const OpInfo& info, const std::vector<ScriptValue>& values,
                    const DataType* type) {
  std::vector<Expr> args;
  if (matches_operands(info)) {
    args = lowering.matched(values);
    if (args.size() == 2) {
      auto [a, b] = match_types(args[0], args[1]);
      args = {a, b};
    }
  } else {
    for (const ScriptValue& given : values) {
      const ScriptValue value = lowering.named(given);
      const Ptr<Buffer> buffer = value.node_as<Buffer>();
      if (const auto data_type = value.as<DataType>()) {
        args.push_back(string_imm(to_string(*data_type)));
      } else if (buffer && is_packed_call(op_of(&info))) {
        args.push_back(make_packed_array(buffer));
      } else {
        args.push_back(lowering.expr(value));
      }
    }
  }
  const Op op = op_of(&info);
  return ScriptValue::node(type ? call(*type, op, std::move(args)) : call(op, std::move(args)));
}

ScriptValue intrinsic(Lowering& lowering, const Arguments& args, const Word& word) {
  std::string_view name = word.name;
  for (const auto& [alias, meant] : aliases) {
    if (alias == name) name = meant;
  }
  const OpInfo& info = *find_op(name);
  std::vector<ScriptValue> values = args.rest();
  if (info.result != Result::given) {
    return of_type(lowering, call_of(lowering, info, values, nullptr), args[0], word);
  }
  DataType type;
  if (!args[0].is_none()) {
    type = lowering.data_type(args[0], word.name);
  } else {
    lowering.require_here(!values.empty(), "argument_is_missing", hint("give the type first"),
                          "T.{}: dtype is missing", word.name);
    // First, as that of most; last, as that of what reads a field.
    const auto is_name = [&](const ScriptValue& given) {
      const ScriptValue value = lowering.named(given);
      return value.as<DataType>() || value.as<std::string>() ||
             value.node_as<StringImm>().defined();
    };
    const bool is_last = !is_name(values.front()) && is_name(values.back());
    const auto place = is_last ? values.end() - 1 : values.begin();
    const auto* text = place->as<std::string>();
    type = text && text->empty() ? void_type : lowering.data_type(*place, word.name);
    values.erase(place);
  }
  return call_of(lowering, info, values, &type);
}

ScriptValue call_intrin(Lowering& lowering, const Arguments& args, const Word&) {
  std::vector<ScriptValue> values = args.rest();
  ScriptValue type = args[0];
  if (type.is_none() && !values.empty()) {
    type = values[0];
    values.erase(values.begin());
  }
  lowering.require_here(!values.empty(), "argument_is_missing",
                        hint("write T.call_intrin(\"float32\", \"tir.exp\", x)"),
                        "T.call_intrin: the type or the name is missing");
  std::string name = lowering.text(values[0], "T.call_intrin");
  values.erase(values.begin());
  if (name.starts_with("tir.")) name.erase(0, 4);
  const OpInfo* info = find_op(name);
  lowering.require_here(info != nullptr, "intrinsic_is_known", hint("see the table of intrinsics"),
                        "there is no intrinsic '{}'", name);
  std::vector<Expr> operands;
  for (const ScriptValue& value : values) operands.push_back(lowering.expr(value));
  return ScriptValue::node(
      call(lowering.data_type(type, "T.call_intrin"), op_of(info), std::move(operands)));
}

/// A call of the function of the host that prints. As any such call, it has an effect: no step
/// moves one across another, or runs them concurrently.
ScriptValue print(Lowering& lowering, const Arguments& args, const Word&) {
  std::vector<ScriptValue> values = args.rest();
  values.insert(values.begin(), ScriptValue::text(std::string(print_function)));
  return call_of(lowering, *find_op("tvm_call_packed"), values, nullptr);
}

constexpr bool has_word(const OpInfo& info) {
  return std::ranges::find(others, info.name) == std::end(others);
}

Word word_of(std::string_view name, const OpInfo& info) {
  const bool is_typed = info.result == Result::given;
  const MathFunction* function = find_math_function(op_of(&info));
  return {"T",
          name,
          is_typed ? "*args: Any, dtype: str | None = None"
                   : "*args: ExprLike, dtype: str | None = None",
          "Expr",
          intrinsic,
          function   ? function->doc
          : is_typed ? "The intrinsic; its type comes first, or as dtype."
                     : "The intrinsic."};
}

}  // namespace

std::span<const Word> intrinsic_words() {
  static const std::vector<Word>* words = [] {
    auto* made = new std::vector<Word>;
    for (const OpInfo& info : detail::op_table) {
      if (has_word(info)) made->push_back(word_of(info.name, info));
    }
    for (const auto& [alias, name] : aliases) made->push_back(word_of(alias, *find_op(name)));
    made->push_back({"T", "call_intrin", "*args: Any, dtype: str | None = None", "Expr",
                     call_intrin, "A call of the intrinsic of that name, of any type."});
    made->push_back({"T", "print", "*values: Any", "Expr", print,
                     "Prints numbers, texts and buffers when the program comes here."});
    return made;
  }();
  return *words;
}

}  // namespace loopsmith::parsing
