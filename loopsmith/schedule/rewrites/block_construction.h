// SPDX-License-Identifier: Apache-2.0
// Statements made into one block: what blockize does, and tensorize first.
#pragma once
#include <variant>
#include <vector>

#include "loopsmith/schedule/argument.h"
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/rewrites/subspace_division.h"

namespace loopsmith {

inline constexpr Condition nest_is_of_loops{
    "nest_is_perfect", "something else than loops stands between loop {} and block {}",
    "choose a loop inside of it"};
inline constexpr Condition space_is_divisible{
    "space_is_divisible", "block {} can not be blockized by the loops starting at {}, as {}",
    "split so that the loops inside are the lower digits of the block's axes, and reorder them "
    "inward"};
inline constexpr Condition blocks_are_given{"arguments_fit",
                                            "neither a loop nor a list of blocks is given",
                                            "pass one loop, or at least one block"};
inline constexpr Condition blocks_follow_each_other{
    "statements_follow_each_other", "block {} does not follow block {} in the same loop or block",
    "pass all blocks of a part of a sequence, each alone in its loops"};
inline constexpr Condition outer_axes_are_spatial{
    "outer_axes_are_spatial", "loops outside of the blocks are bound to reduction axes of block {}",
    "pass the loop of the reduction, or decompose_reduction first"};

/// A loop with one block inside, or blocks.
struct LoopOrBlocks : std::vector<BlockOrLoop> {
  LoopOrBlocks() = default;
  LoopOrBlocks(LoopRV loop) : std::vector<BlockOrLoop>{loop} {}
  LoopOrBlocks(const std::vector<BlockRV>& blocks)
      : std::vector<BlockOrLoop>(blocks.begin(), blocks.end()) {}

  /// The loop, if it is one.
  const LoopRV* loop() const { return size() == 1 ? std::get_if<LoopRV>(&front()) : nullptr; }
};
Argument to_argument(const LoopOrBlocks& value);
template <>
inline std::string python_type<LoopOrBlocks>() {
  return "LoopRV | typing.Sequence[BlockRV | str]";
}

/// A block around statements that follow each other.
struct EnclosingBlock {
  NodeId first = no_node;   ///< The first of the statements.
  std::uint32_t count = 1;  ///< How many they are.
  Block block;              ///< What takes their place, its name not yet made unique.
  BoundAxes bound;
  Expr predicate = true;
  Schedule::Renewed renewed;
};

/// The block around a loop or blocks, each with the loops that only it has; why there is none.
std::variant<EnclosingBlock, Refusal> enclosing_block_of(const Schedule& schedule,
                                                         const LoopOrBlocks& target,
                                                         bool preserve_unit_iters);

/// Puts it in the place of the statements.
BlockRV insert_enclosing_block(Schedule& schedule, EnclosingBlock&& enclosing);

}  // namespace loopsmith
