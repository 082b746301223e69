// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "loopsmith/schedule/cow_vector.h"

namespace loopsmith {

/// `i_2`. Every split names loops, so this avoids the cost of a format string.
std::string numbered(std::string_view name, std::size_t number);

/// Names of one kind in a function, each with the first entity that has it. Copies share the table.
class UniqueNames {
 public:
  static constexpr std::uint32_t no_entity = ~std::uint32_t{0};

  /// The first entity of that name; `no_entity` when there is none.
  std::uint32_t first(std::string_view name) const;
  void set_first(std::string_view name, std::uint32_t entity);
  /// `name`, or `name_1`, `name_2`, ...: the next that is not taken.
  std::string fresh(std::string_view name);
  /// Calls `visit` for each name that is in use.
  template <class Visit>
  void each(Visit&& visit) const {
    for (const Row& row : rows_) {
      if (row.first != no_entity) visit(row.name);
    }
  }

 private:
  struct Row {
    std::string name;
    std::uint32_t first = no_entity;
    std::uint32_t next_suffix = 1;
    std::uint32_t next = no_entity;  ///< The next row in its bucket.
  };

  std::uint32_t find(std::string_view name) const;
  std::uint32_t find_or_add(std::string_view name);
  void spread();

  CowVector<Row> rows_;  ///< A row stays when its last entity goes.
  CowVector<std::uint32_t> buckets_;
};

}  // namespace loopsmith
