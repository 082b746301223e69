// SPDX-License-Identifier: Apache-2.0
// What rules for GPUs ask of a nest, and the steps that several of them take.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "loopsmith/ir/target.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith::gpu {

/// Takes steps. Where one of them is refused, none is taken, and it is false.
bool attempt(Schedule& schedule, const std::function<void()>& steps);

/// The loops around a block, outermost first, by what they are bound to.
struct NestLoops {
  std::vector<LoopRV> spatial, reduction;
};
NestLoops loops_of(const Schedule& schedule, BlockRV block);

/// True when a loop around the block runs on blocks or threads.
bool is_bound(const Schedule& schedule, BlockRV block);

/// The product of extents; none where one is not constant.
std::optional<std::int64_t> count(const Schedule& schedule, const std::vector<LoopRV>& loops);

/// The axis of the block that a loop is; null where it is none.
Ptr<Var> axis_of(const Schedule& schedule, BlockRV block, LoopRV loop);

/// True when an index of the region reads the axis.
bool uses(const BufferRegion& region, const Ptr<Var>& axis);

/// One loop of several that are nested, outermost first.
LoopRV in_line(Schedule& schedule, const std::vector<LoopRV>& loops);

/// Binds loops, outermost first, to the axes `kind`.z, y and x: two loops to y and x.
void bind_all(Schedule& schedule, const std::vector<LoopRV>& loops, const std::string& kind);

/// The loops that `block` has inside of `place`.
std::vector<LoopRV> loops_inside(const Schedule& schedule, BlockRV block, LoopRV place);

/// Shares out the loops of a copy inside of `place` to the threads of a block, of which there are
/// `threads` (outermost axis first, at most y and x); neighbours go to neighbours.
void share_out(Schedule& schedule, BlockRV copy, LoopRV place,
               const std::vector<std::int64_t>& threads);

/// The smallest power of two that is at least `value`, between two others.
std::int64_t power_of_two(std::int64_t value, std::int64_t least, std::int64_t most);

}  // namespace loopsmith::gpu
