// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/script/words.h"

#include <unordered_map>

namespace loopsmith::parsing {
namespace {

using Tables =
    std::unordered_map<std::string_view, std::unordered_map<std::string_view, const Word*>>;

const Tables& words_by_name() {
  static const Tables* tables = [] {
    auto* made = new Tables;
    for (const Word* word : all_words()) (*made)[word->space].emplace(word->name, word);
    return made;
  }();
  return *tables;
}

}  // namespace

const Word* find_word(std::string_view space, std::string_view name) {
  const Tables& tables = words_by_name();
  const auto table = tables.find(space);
  if (table == tables.end()) return nullptr;
  auto found = table->second.find(name);
  if (found == table->second.end()) found = table->second.find(current_name(space, name));
  return found == table->second.end() ? nullptr : found->second;
}

std::vector<const Word*> all_words() {
  std::vector<const Word*> words;
  for (const auto table : {axis_words(), block_words(), buffer_words(), expression_words(),
                           intrinsic_words(), loop_words(), module_words(), node_words(),
                           statement_words(), compat_words(), builtin_words()}) {
    for (const Word& word : table) words.push_back(&word);
  }
  return words;
}

}  // namespace loopsmith::parsing
