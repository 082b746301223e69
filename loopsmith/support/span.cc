// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/support/span.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

#include "loopsmith/support/source.h"

namespace loopsmith {
namespace {

/// Sources by id. It only grows, and an id never changes what it means.
struct SourceTable {
  struct Source {
    std::string name;
    std::string text;
    std::uint32_t whole = 0;  ///< Of a block in a source: the id of that. 0: it is one itself.
    std::string block = {};
  };

  std::mutex mutex;
  std::deque<Source> sources;
  std::map<std::string, std::uint32_t, std::less<>> ids;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> blocks;

  /// The source itself that an id is of; null for unknown ids.
  const Source* find(std::uint32_t id) const {
    if (id == 0 || id > sources.size()) return nullptr;
    const Source& found = sources[id - 1];
    return found.whole ? &sources[found.whole - 1] : &found;
  }
};

SourceTable& source_table() {
  static SourceTable* table = new SourceTable;  // never destroyed: spans outlive static objects
  return *table;
}

std::string nth_line(std::istream& in, std::uint32_t line) {
  std::string text;
  for (std::uint32_t i = 0; i < line; ++i) {
    if (!std::getline(in, text)) return {};
  }
  return text;
}

/// The id of `name` in a locked table; a new one if need be.
std::uint32_t find_or_add(SourceTable& table, std::string_view name, bool& is_new) {
  const auto known = table.ids.find(name);
  is_new = known == table.ids.end();
  if (!is_new) return known->second;
  table.sources.push_back({std::string(name), {}});
  const auto id = static_cast<std::uint32_t>(table.sources.size());
  table.ids.emplace(name, id);
  return id;
}

}  // namespace

std::uint32_t source_id(std::string_view name, std::string_view text) {
  SourceTable& table = source_table();
  const std::lock_guard lock(table.mutex);
  bool is_new = false;
  const std::uint32_t id = find_or_add(table, name, is_new);
  if (!text.empty()) table.sources[id - 1].text = text;
  return id;
}

std::uint32_t import_source(std::string_view name, std::string_view text) {
  SourceTable& table = source_table();
  const std::lock_guard lock(table.mutex);
  std::string candidate(name);
  for (int attempt = 2;; ++attempt) {
    bool is_new = false;
    const std::uint32_t id = find_or_add(table, candidate, is_new);
    std::string& known = table.sources[id - 1].text;
    if (is_new) known = text;
    if (text.empty() || known == text) return id;
    candidate = fmt::format("{} ({})", name, attempt);
  }
}

std::string source_text(std::uint32_t id) {
  SourceTable& table = source_table();
  const std::lock_guard lock(table.mutex);
  const auto* source = table.find(id);
  return source ? source->text : std::string();
}

std::string source_name(std::uint32_t id) {
  SourceTable& table = source_table();
  const std::lock_guard lock(table.mutex);
  const auto* source = table.find(id);
  return source ? source->name : std::string();
}

std::uint32_t block_source(std::uint32_t id, std::string_view block) {
  const std::uint32_t whole = whole_source(id);
  SourceTable& table = source_table();
  const std::lock_guard lock(table.mutex);
  const auto [place, is_new] = table.blocks.try_emplace({whole, std::string(block)}, 0);
  if (is_new) {
    table.sources.push_back({{}, {}, whole, std::string(block)});
    place->second = static_cast<std::uint32_t>(table.sources.size());
  }
  return place->second;
}

std::string source_block(std::uint32_t id) {
  SourceTable& table = source_table();
  const std::lock_guard lock(table.mutex);
  return id == 0 || id > table.sources.size() ? std::string() : table.sources[id - 1].block;
}

std::uint32_t whole_source(std::uint32_t id) {
  SourceTable& table = source_table();
  const std::lock_guard lock(table.mutex);
  if (id == 0 || id > table.sources.size()) return id;
  const std::uint32_t whole = table.sources[id - 1].whole;
  return whole ? whole : id;
}

std::string source_line(std::uint32_t id, std::uint32_t line) {
  std::string text;
  {
    SourceTable& table = source_table();
    const std::lock_guard lock(table.mutex);
    const auto* source = table.find(id);
    if (!source) return {};
    text = source->text;
  }
  if (!text.empty()) {
    std::istringstream in(text);
    return nth_line(in, line);
  }
  std::ifstream in(source_name(id));
  return nth_line(in, line);
}

std::string quote(const Span& span) {
  if (!span.known()) return {};
  std::string text = fmt::format("{}:{}", source_name(span.source), span.line);
  const std::string line = source_line(span.source, span.line);
  if (line.empty()) return text;
  const std::size_t indent = line.find_first_not_of(" \t");
  const std::size_t first = span.column ? span.column - 1 : std::min(indent, line.size());
  const std::size_t rest = line.size() > first ? line.size() - first : 1;
  const std::size_t length = span.length ? std::min<std::size_t>(span.length, rest) : rest;
  return fmt::format("{}\n    {}\n    {}{}", text, line, std::string(first, ' '),
                     std::string(length, '^'));
}

}  // namespace loopsmith
