// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>

namespace loopsmith {

/// How the tiles of a reduction, rows of tiles by columns of tiles, become tasks.
struct TaskGrid {
  std::int64_t rows = 1;     ///< Rows of tiles in a task.
  std::int64_t columns = 1;  ///< Columns of tiles in a task: each is copied once for all its rows.
};

/// What decides it; extents that are no constants are unknown.
struct TaskGridQuestion {
  std::optional<std::int64_t> grids;  ///< How many such grids there are, one for each outer point.
  std::optional<std::int64_t> rows;
  std::optional<std::int64_t> columns;
  std::int64_t most_rows;     ///< Of a task.
  std::int64_t most_columns;  ///< Of a task: what fits into a core's cache.
  double column_cost;         ///< To copy one column, in tiles.
  double row_cost;            ///< To fetch one row for the columns of a task, in tiles.
  std::int64_t cores;
  bool last_follows = false;  ///< The last of the rows shares its task with the one before.
};

/// The grid of which the slowest core is done first.
TaskGrid choose_task_grid(const TaskGridQuestion& question);

}  // namespace loopsmith
