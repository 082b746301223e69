// SPDX-License-Identifier: Apache-2.0
// What is chosen for a reduction whose operands are copied, before it becomes loops.
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/rules/loops.h"
#include "loopsmith/rules/packed_form.h"
#include "loopsmith/rules/work_partition.h"

namespace loopsmith {

/// The reduction's first axis, cut into blocks.
struct ReductionBlocks {
  Expr count;
  std::int64_t size = 1;
  bool exact = true;  ///< All of them are of this size.
};

/// The form of a packed reduction, and how its tiles become tasks.
struct Packing {
  PackedForm form;
  std::vector<Axis> outer;  ///< Along which the panels move.
  std::vector<Axis> items;  ///< Along which they do not; rows of tiles last.
  ReductionBlocks blocks;
  WorkPartition grid;  ///< Set by `choose_grid`.

  /// How many rows of tiles there are for each panel.
  Expr item_count() const { return number_of_points(items); }
  /// How many rows of tiles copy their rows together.
  std::int64_t tiles_together() const;
  /// True where columns are copied across memory.
  bool is_across() const;
  /// Whether there are enough rows.
  Expr pays() const;
};

/// Nothing for a nest of another form, or with too few rows.
std::optional<Packing> packing_of(const Nest& nest, const CpuModel& machine);

/// That of a sum of products for which the processor has an instruction; it goes by steps alone.
/// Where `steps` of the reduction are to be more than there are, as many zeros make it so.
struct DotPacking {
  Packing packing;
  std::int64_t steps = 0;

  bool is_whole() const { return constant_extent(packing.form.steps_together->steps) == steps; }
};
std::optional<DotPacking> dot_packing_of(const Nest& nest, const CpuModel& machine);

/// Chooses what is a task, and what becomes of last rows.
void choose_grid(Packing& packing, const CpuModel& machine);

}  // namespace loopsmith
