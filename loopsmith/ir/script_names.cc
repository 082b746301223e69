// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/script_names.h"

#include <algorithm>
#include <functional>

#include "loopsmith/support/utf8.h"

namespace loopsmith::detail {
namespace {

/// Words that mean something in a script: Python's keywords, and the names that it starts with.
constexpr std::string_view reserved[] = {
    "False",   "None",     "True",     "and",    "as",   "assert", "async",  "await",
    "break",   "class",    "continue", "def",    "del",  "elif",   "else",   "except",
    "finally", "for",      "from",     "global", "if",   "import", "in",     "is",
    "lambda",  "nonlocal", "not",      "or",     "pass", "raise",  "return", "try",
    "while",   "with",     "yield",    "T",      "I",    "cls",    "range",
};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::string legal_name(std::string_view wanted) {
  std::string name(wanted);
  const bool is_text = is_utf8(wanted);
  const auto may_stay = [&](char c) {
    return is_letter(c) || is_digit(c) || (is_text && static_cast<unsigned char>(c) >= 0x80);
  };
  std::ranges::replace_if(name, std::not_fn(may_stay), '_');
  if (name.empty()) return "v";
  return is_digit(name[0]) ? '_' + name : name;
}

bool is_reserved_name(std::string_view name) {
  return std::ranges::find(reserved, name) != std::end(reserved);
}

ScriptNames::ScriptNames() {
  for (const std::string_view word : reserved) suffixes_.emplace(word, 0);
}

const std::string& ScriptNames::define(const Object* node, std::string_view wanted) {
  const std::string base = legal_name(wanted);
  std::string name = base;
  int before = 0;
  if (const auto used = suffixes_.find(base); used != suffixes_.end()) {
    before = used->second;
    int suffix = before;
    do {
      name = base + "_" + std::to_string(++suffix);
    } while (suffixes_.contains(name));
    used->second = suffix;
  }
  suffixes_.emplace(name, 0);
  taken_.push_back({name, base, before});
  return texts_[node] = std::move(name);
}

const std::string* ScriptNames::find(const Object* node) const {
  const auto found = texts_.find(node);
  return found == texts_.end() ? nullptr : &found->second;
}

void ScriptNames::close() {
  for (; taken_.size() > scopes_.back(); taken_.pop_back()) {
    const Taken& last = taken_.back();
    suffixes_.erase(last.name);
    if (last.base != last.name) suffixes_[last.base] = last.suffix_before;
  }
  scopes_.pop_back();
}

}  // namespace loopsmith::detail
