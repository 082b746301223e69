// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/unique_names.h"

#include <functional>

namespace loopsmith {
namespace {

std::size_t bucket_of(std::string_view name, std::size_t buckets) {
  return std::hash<std::string_view>()(name) % buckets;
}

}  // namespace

std::uint32_t UniqueNames::find(std::string_view name) const {
  if (rows_.empty()) return no_entity;
  std::uint32_t row = buckets_[bucket_of(name, buckets_.size())];
  while (row != no_entity && rows_[row].name != name) row = rows_[row].next;
  return row;
}

/// Makes as many buckets as fit what is to come.
void UniqueNames::spread() {
  const std::size_t count = rows_.size() * 4 + 32;
  buckets_.clear();
  for (std::size_t i = 0; i < count; ++i) buckets_.push_back(no_entity);
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    const std::size_t bucket = bucket_of(rows_[i].name, count);
    rows_.edit(i).next = buckets_[bucket];
    buckets_.edit(bucket) = i;
  }
}

std::uint32_t UniqueNames::find_or_add(std::string_view name) {
  const std::uint32_t found = find(name);
  if (found != no_entity) return found;
  if (rows_.size() >= buckets_.size()) spread();
  const auto row = static_cast<std::uint32_t>(rows_.size());
  const std::size_t bucket = bucket_of(name, buckets_.size());
  rows_.push_back({.name = std::string(name), .next = buckets_[bucket]});
  buckets_.edit(bucket) = row;
  return row;
}

std::uint32_t UniqueNames::first(std::string_view name) const {
  const std::uint32_t row = find(name);
  return row == no_entity ? no_entity : rows_[row].first;
}

void UniqueNames::set_first(std::string_view name, std::uint32_t entity) {
  rows_.edit(find_or_add(name)).first = entity;
}

std::string numbered(std::string_view name, std::size_t number) {
  const std::string digits = std::to_string(number);
  std::string made;
  made.reserve(name.size() + 1 + digits.size());
  made.append(name).append(1, '_').append(digits);
  return made;
}

std::string UniqueNames::fresh(std::string_view name) {
  const std::uint32_t row = find(name);
  if (row == no_entity || rows_[row].first == no_entity) return std::string(name);
  for (;;) {
    std::string tried = numbered(name, rows_.edit(row).next_suffix++);
    if (first(tried) == no_entity) return tried;
  }
}

}  // namespace loopsmith
