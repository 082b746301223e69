// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "loopsmith/schedule/shared_vector.h"

namespace loopsmith {

/// `i_2`. Loops get names at every split, so this is no matter of format strings.
std::string numbered(std::string_view name, std::size_t number);

/// Names of one kind in a function, each with the first of its bearers. Copies share the table.
class BearerTable {
 public:
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};

  /// The first bearer of a name; `nobody` when there is none.
  std::uint32_t first(std::string_view name) const;
  void set_first(std::string_view name, std::uint32_t bearer);
  /// `name`, or `name_1`, `name_2`, ...: the next that nobody bears.
  std::string fresh(std::string_view name);
  /// Calls `visit` for each name that somebody bears.
  template <class Visit>
  void each(Visit&& visit) const {
    for (const Row& row : rows_) {
      if (row.first != nobody) visit(row.name);
    }
  }

 private:
  struct Row {
    std::string name;
    std::uint32_t first = nobody;
    std::uint32_t next_suffix = 1;
    std::uint32_t next = nobody;  ///< The next row in its bucket.
  };

  std::uint32_t find(std::string_view name) const;
  std::uint32_t find_or_add(std::string_view name);
  void spread();

  SharedVector<Row> rows_;  ///< A row stays when its last bearer goes.
  SharedVector<std::uint32_t> buckets_;
};

}  // namespace loopsmith
