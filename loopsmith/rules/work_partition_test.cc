// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/work_partition.h"

#include <gtest/gtest.h>

namespace loopsmith {
namespace {

WorkPartitionQuery square(std::int64_t tiles, std::int64_t cores) {
  return {.grids = 1,
          .rows = tiles,
          .columns = tiles,
          .max_rows = 1 << 20,
          .max_columns = 4,
          .column_cost = 2.0,
          .row_cost = 0.15,
          .cores = cores};
}

std::int64_t tasks_in(const WorkPartitionQuery& question, const WorkPartition& grid) {
  return *question.grids * ((*question.rows + grid.rows - 1) / grid.rows) *
         ((*question.columns + grid.columns - 1) / grid.columns);
}

TEST(work_partition, has_work_for_each_core_within_the_limits) {
  for (const std::int64_t cores : {1, 2, 5, 16}) {
    for (const std::int64_t tiles : {1, 3, 16, 43, 171}) {
      WorkPartitionQuery question = square(tiles, cores);
      question.max_rows = 40;
      const WorkPartition grid = choose_work_partition(question);
      EXPECT_LE(grid.rows, 40);
      EXPECT_LE(grid.columns, 4);
      EXPECT_GE(tasks_in(question, grid), std::min(cores, tiles * tiles / 4));
    }
  }
}

TEST(work_partition, keeps_the_last_two_rows_together) {
  for (std::int64_t tiles = 2; tiles < 200; ++tiles) {
    WorkPartitionQuery question = square(tiles, 4);
    question.last_follows = true;
    const WorkPartition grid = choose_work_partition(question);
    EXPECT_NE((tiles - 1) % grid.rows, 0) << tiles << " in " << grid.rows;
  }
}

TEST(work_partition, leaves_one_grid_whole_where_there_are_many) {
  WorkPartitionQuery question = square(8, 2);
  question.grids = 64;
  EXPECT_EQ(choose_work_partition(question).rows, 8);
}

TEST(work_partition, stays_within_known_limits_for_unknown_sizes) {
  WorkPartitionQuery question = square(3, 2);
  question.columns = std::nullopt;
  question.max_columns = 1;
  const WorkPartition grid = choose_work_partition(question);
  EXPECT_EQ(grid.rows, 3);
  EXPECT_EQ(grid.columns, 1);
}

}  // namespace
}  // namespace loopsmith
