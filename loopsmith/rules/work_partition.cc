// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/work_partition.h"

#include <algorithm>

namespace loopsmith {
namespace {

/// How much of a task the last core to be done works alone, where others are slowed down.
constexpr double waiting_share = 0.1;
constexpr std::int64_t tasks_a_core = 8;
/// For sizes that are not known yet.
constexpr WorkPartition usual{.rows = 16, .columns = 2};

std::int64_t ceil_of(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

WorkPartition choose_work_partition(const WorkPartitionQuery& question) {
  const auto& [grids, all_rows, all_columns, max_rows, max_columns, column_cost, row_cost, cores,
               last_follows] = question;
  if (!grids || !all_rows || !all_columns) {
    return {.rows = std::min({usual.rows, max_rows, all_rows.value_or(usual.rows)}),
            .columns = std::min({usual.columns, max_columns, all_columns.value_or(max_columns)})};
  }
  WorkPartition best{.rows = *all_rows};
  double best_cost = 0;
  const std::int64_t max_pieces = std::min(*all_rows, tasks_a_core * cores);
  const std::int64_t min_extent = ceil_of(*all_rows, max_rows);
  for (std::int64_t pieces = min_extent; pieces <= std::max(max_pieces, min_extent + 1); ++pieces) {
    const std::int64_t rows = ceil_of(*all_rows, pieces);
    if (last_follows && rows < *all_rows && (*all_rows - 1) % rows == 0) continue;
    for (std::int64_t columns = 1; columns <= std::min(max_columns, *all_columns); ++columns) {
      const std::int64_t tasks = *grids * ceil_of(*all_rows, rows) * ceil_of(*all_columns, columns);
      const auto height = static_cast<double>(rows), width = static_cast<double>(columns);
      const double work = height * width + column_cost * width + row_cost * height;
      const double cost = work * (static_cast<double>(ceil_of(tasks, cores)) + waiting_share);
      if (best_cost == 0 || cost < best_cost) {
        best_cost = cost;
        best = {.rows = rows, .columns = columns};
      }
    }
  }
  return best;
}

}  // namespace loopsmith
