// SPDX-License-Identifier: Apache-2.0
// What rules for GPUs ask of a nest, and the steps that several of them take.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "loopsmith/rules/rule.h"
#include "loopsmith/schedule/split_factor.h"

namespace loopsmith::gpu {

/// Threads of a block that share out the iterations of one loop, where the device has as many.
inline constexpr std::int64_t threads_of_loop = 256;

/// Blocks of threads that keep a large GPU busy: about as many as it has multiprocessors (108 an
/// A100, 132 an H100).
inline constexpr std::int64_t wanted_blocks = 128;

/// Takes steps. Where one of them is refused, or they say no, none is taken, and it is false.
bool attempt(Schedule& schedule, const std::function<bool()>& steps);
template <class Steps>
  requires std::is_void_v<std::invoke_result_t<Steps&>>
bool attempt(Schedule& schedule, Steps&& steps) {
  return attempt(schedule, std::function<bool()>([&] {
                   steps();
                   return true;
                 }));
}

/// The loops around a block, outermost first, by what they are bound to.
struct NestLoops {
  std::vector<LoopRV> spatial, reduction;
};
NestLoops loops_of(const Schedule& schedule, BlockRV block);

/// Looks up a block and the loops around it as steps, so that the trace says where they are from.
void look_up_nest(Schedule& schedule, BlockRV block);
/// The same, and gives the loops an order: those of the result, then those that are reduced over.
NestLoops results_outside(Schedule& schedule, BlockRV block);

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

/// The loops that `block` has inside of `place`, looked up as a step.
std::vector<LoopRV> loops_inside(Schedule& schedule, BlockRV block, LoopRV place);

/// Shares out the loops of a copy inside of `place` to the threads of a block, of which there are
/// `threads` (outermost axis first, the last is x); neighbours go to neighbours. Each thread copies
/// `lanes` neighbours at once.
void share_out(Schedule& schedule, BlockRV copy, LoopRV place,
               const std::vector<SplitFactor>& threads, std::int64_t lanes = 1);

/// Marks a loop over steps, each of which copies two tiles and then uses them, so that tiles of
/// later steps are copied while one is used: those of `stages` steps are there at once.
void copy_ahead(Schedule& schedule, LoopRV step, std::int64_t stages);

/// Computes what `copy` reads where it is copied, as far as no one else needs it: paddings, other
/// copies, elements.
void inline_makers(Schedule& schedule, BlockRV copy);

/// The block that alone reads what a block makes, if that is no output and the reader may be moved
/// to it; none otherwise.
std::optional<BlockRV> only_reader(const Schedule& schedule, BlockRV maker);

/// Keeps the result of a reduction in registers of each thread until it is whole, for the iteration
/// of the loop `thread` that they are of; then a block that alone uses it takes it from there. No
/// step is taken where a part of it is another thread's.
void keep_results(Schedule& schedule, BlockRV block, LoopRV thread);

/// True when each instance of the reader reads an element of the buffer that no other reads.
bool reads_once(const Schedule& schedule, BlockRV reader, const Ptr<Buffer>& buffer);

/// Computes what is made of each result of a reduction, and of nothing else, in the iteration of
/// the loop `place` that the result is of, which is then shared memory. No step is taken where that
/// may not be.
void take_in_reader(Schedule& schedule, BlockRV block, LoopRV place);

/// How many threads: `own`, or a sample that decides on it, of powers of two from a quarter to four
/// times of it that a block may have `beside` as many other threads.
Factor thread_count(Schedule& schedule, const RuleContext& context, std::int64_t own,
                    std::int64_t beside = 1);

/// The smallest power of two that is at least `value`, between two others.
std::int64_t power_of_two(std::int64_t value, std::int64_t least, std::int64_t most);

}  // namespace loopsmith::gpu
