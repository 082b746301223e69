// SPDX-License-Identifier: Apache-2.0
// The rules by which nests are scheduled for GPUs. Each takes steps of the engine, or none.
#pragma once
#include <span>
#include <string_view>

#include "loopsmith/ir/target.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith::gpu {

/// A rule: it schedules the nest of a block that no other has bound, and all blocks that it moves
/// there; false where the nest is of another form, or a step is refused. Nothing has changed then.
struct Rule {
  std::string_view name;
  std::string_view takes;  ///< Of what form the nest is, in words.
  bool (*apply)(Schedule& schedule, BlockRV block, const GpuLimits& limits);
};

/// In the order in which they are tried; the last takes every nest.
std::span<const Rule> rules();

/// Elements that are read once, or by neighbours, are computed where they are read. The first step
/// of all.
void inline_stages(Schedule& schedule);

bool fuse_rows(Schedule& schedule, BlockRV block, const GpuLimits& limits);
bool tile_product(Schedule& schedule, BlockRV block, const GpuLimits& limits);
bool cut_long_reduction(Schedule& schedule, BlockRV block, const GpuLimits& limits);
bool reduce_rows(Schedule& schedule, BlockRV block, const GpuLimits& limits);
bool reduce_columns(Schedule& schedule, BlockRV block, const GpuLimits& limits);
bool transpose_tiles(Schedule& schedule, BlockRV block, const GpuLimits& limits);
bool bind_elements(Schedule& schedule, BlockRV block, const GpuLimits& limits);
bool scan_parts(Schedule& schedule, BlockRV block, const GpuLimits& limits);
bool bind_what_may(Schedule& schedule, BlockRV block, const GpuLimits& limits);

}  // namespace loopsmith::gpu
