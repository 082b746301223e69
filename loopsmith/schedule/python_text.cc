// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/python_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <tuple>

#include "loopsmith/ir/function.h"
#include "loopsmith/ir/json.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

using Json = nlohmann::json;

std::string quoted_text(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

namespace {

std::string python_of(const Ref& node);

std::string python_list(const std::vector<Ref>& items) {
  std::vector<std::string> parts;
  for (const Ref& item : items) parts.push_back(python_of(item));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

/// True for a name that a parameter of Python may have.
bool is_parameter_name(const std::string& name) {
  static constexpr std::string_view keywords[] = {
      "and",    "as",   "assert", "async",  "await",    "break", "class", "continue", "def",
      "del",    "elif", "else",   "except", "finally",  "for",   "from",  "global",   "if",
      "import", "in",   "is",     "lambda", "nonlocal", "not",   "or",    "pass",     "raise",
      "return", "try",  "while",  "with",   "yield",    "True",  "False", "None"};
  const auto is_letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::ranges::all_of(name, is_letter) &&
         std::ranges::find(keywords, name) == std::end(keywords);
}

/// The sign of an operator of indices, or its function, with what it joins; empty for any other
/// expression.
std::tuple<std::string_view, Expr, Expr> joined_indices(const Expr& index) {
  if (const auto* node = index.as<Add>()) return {"+", node->a, node->b};
  if (const auto* node = index.as<Sub>()) return {"-", node->a, node->b};
  if (const auto* node = index.as<Mul>()) return {"*", node->a, node->b};
  if (const auto* node = index.as<FloorDiv>()) return {"//", node->a, node->b};
  if (const auto* node = index.as<FloorMod>()) return {"%", node->a, node->b};
  if (const auto* node = index.as<Min>()) return {"tir.min", node->a, node->b};
  if (const auto* node = index.as<Max>()) return {"tir.max", node->a, node->b};
  if (const auto* node = index.as<LT>()) return {"<", node->a, node->b};
  if (const auto* node = index.as<LE>()) return {"<=", node->a, node->b};
  if (const auto* node = index.as<GT>()) return {">", node->a, node->b};
  if (const auto* node = index.as<GE>()) return {">=", node->a, node->b};
  return {};
}

using PythonVariable = std::string (*)(const Var&);

/// An index as Python writes it, in parentheses unless it is `outermost`; empty where it has no
/// such text. `python_variable` tells what Python calls a variable.
std::string python_index(const Expr& index, PythonVariable python_variable, bool outermost) {
  if (const std::int64_t* number = as_int(index)) return std::to_string(*number);
  if (const auto* variable = index.as<Var>()) return python_variable(*variable);
  if (const auto* cast = index.as<Cast>()) {
    const std::string value = python_index(cast->value, python_variable, true);
    return value.empty()
               ? ""
               : fmt::format("tir.Cast({}, {})", quoted_text(to_string(cast->dtype)), value);
  }
  const auto [sign, a, b] = joined_indices(index);
  if (sign.empty()) return "";
  const bool is_function = sign.starts_with("tir.");
  const std::string left = python_index(a, python_variable, is_function);
  const std::string right = python_index(b, python_variable, is_function);
  if (left.empty() || right.empty()) return "";
  if (is_function) return fmt::format("{}({}, {})", sign, left, right);
  const std::string joined = fmt::format("{} {} {}", left, sign, right);
  return outermost ? joined : fmt::format("({})", joined);
}

/// An integer expression of sizes, which a reader tells by their names.
std::string python_sizes(const Expr& expr) {
  const auto size = [](const Var& variable) {
    return fmt::format("tir.Var({}, {})", quoted_text(variable.name),
                       quoted_text(to_string(variable.dtype)));
  };
  return expr.dtype().is_integer() ? python_index(expr, size, true) : "";
}

/// A function of indices; empty where Python has no short text for it.
std::string python_lambda(const IndexMap& map) {
  if (map.inverse_index_map.defined()) return "";
  std::vector<std::string> names;
  for (const Ptr<Var>& index : map.initial_indices) {
    const bool is_new = std::ranges::find(names, index->name) == names.end();
    if (!is_new || !is_parameter_name(index->name)) return "";
    names.push_back(index->name);
  }
  std::vector<std::string> results;
  for (const Expr& index : map.final_indices) {
    results.push_back(python_index(index, [](const Var& one) { return one.name; }, true));
    if (results.back().empty()) return "";
  }
  for (const Expr& index : map.final_indices) {
    for (const Ptr<Var>& used : free_variables(index)) {
      const auto is_it = [&](const Ptr<Var>& own) { return own.same_as(used); };
      if (std::ranges::none_of(map.initial_indices, is_it)) return "";
    }
  }
  return fmt::format("lambda {}: [{}]", fmt::join(names, ", "), fmt::join(results, ", "));
}

/// An annotation or an index map as Python writes it; other nodes as their JSON, which `from_json`
/// reads.
std::string python_of(const Ref& node) {
  if (const auto* number = node.as<IntImm>()) {
    if (number->dtype.is_bool()) return number->value ? "True" : "False";
    return std::to_string(number->value);
  }
  if (const auto* real = node.as<FloatImm>()) return Json(real->value).dump();
  if (const auto* text = node.as<StringImm>()) return quoted_text(text->value);
  if (const auto* list = node.as<List>()) return python_list(list->items);
  if (const auto* dict = node.as<Dict>()) {
    std::vector<std::string> parts;
    for (const auto& [key, value] : dict->items) {
      parts.push_back(fmt::format("{}: {}", quoted_text(key), python_of(value)));
    }
    return fmt::format("{{{}}}", fmt::join(parts, ", "));
  }
  if (const auto* map = node.as<IndexMap>()) {
    if (const std::string text = python_lambda(*map); !text.empty()) return text;
  }
  if (const Expr expr = Expr::from(node); expr.defined()) {
    if (const std::string text = python_sizes(expr); !text.empty()) return text;
  }
  return fmt::format("ls.from_json({})", quoted_text(to_json(node)));
}

}  // namespace

std::string python_text(const Argument& argument, const HandleName& name) {
  if (argument.as<LoopRV>() || argument.as<BlockRV>() || argument.as<ExprRV>()) {
    return name(argument);
  }
  if (const auto* flag = argument.as<bool>()) return *flag ? "True" : "False";
  if (const auto* number = argument.as<std::int64_t>()) return std::to_string(*number);
  if (const auto* real = argument.as<double>()) return Json(*real).dump();
  if (const auto* text = argument.as<std::string>()) return quoted_text(*text);
  if (const auto* node = argument.as<Ref>()) return python_of(*node);
  if (const auto* list = argument.as<Argument::List>()) {
    // One's own tensor intrinsic, by the name under which Python has it.
    const auto* own = list->size() == 2 ? (*list)[1].as<Ref>() : nullptr;
    if (own && own->is<TensorIntrin>()) return python_text((*list)[0], name);
    std::vector<std::string> parts;
    for (const Argument& item : *list) parts.push_back(python_text(item, name));
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }
  return "None";
}

}  // namespace loopsmith
