// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/python_text.h"

#include <nlohmann/json.hpp>

#include "loopsmith/ir/function.h"
#include "loopsmith/ir/json.h"

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

/// An annotation as Python writes it; other nodes as their JSON, which `from_json` reads.
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
