// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>

namespace loopsmith {

/// How the tiles of a reduction, rows of tiles by columns of tiles, become tasks.
struct WorkPartition {
  std::int64_t rows = 1;     ///< Rows of tiles in a task.
  std::int64_t columns = 1;  ///< Columns of tiles in a task: each is copied once for all its rows.
};

/// What decides it; extents that are no constants are unknown.
struct WorkPartitionQuery {
  std::optional<std::int64_t> grids;  ///< How many such grids there are, one for each outer point.
  std::optional<std::int64_t> rows;
  std::optional<std::int64_t> columns;
  std::int64_t max_rows;     ///< Of a task.
  std::int64_t max_columns;  ///< Of a task: what fits into a core's cache.
  double column_cost;        ///< To copy one column, in tiles.
  double row_cost;           ///< To fetch one row for the columns of a task, in tiles.
  std::int64_t cores;
  bool last_follows = false;  ///< The last of the rows shares its task with the one before.
};

/// The grid of which the slowest core is done first.
WorkPartition choose_work_partition(const WorkPartitionQuery& question);

}  // namespace loopsmith
