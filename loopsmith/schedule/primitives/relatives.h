// SPDX-License-Identifier: Apache-2.0
// Blocks and loops that stand in some relation to another block or loop.
#pragma once
#include <optional>
#include <string>
#include <tuple>

#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/primitives/get_block.h"

namespace loopsmith {

struct ChildBlocksArguments {
  BlockOrLoop block_or_loop;

  static constexpr std::tuple parameters{
      Parameter{"block_or_loop", &ChildBlocksArguments::block_or_loop}};
};

struct ChildLoopsArguments {
  std::optional<BlockOrLoop> block_or_loop = {};
  std::optional<std::string> func_name = {};

  static constexpr std::tuple parameters{
      Parameter{"block_or_loop", &ChildLoopsArguments::block_or_loop,
                "Where they are; None: in a function, outside of all loops."},
      Parameter{"func_name", &ChildLoopsArguments::func_name, "Which function, for None."}};
};

struct RelativesArguments {
  BlockRV block;

  static constexpr std::tuple parameters{Parameter{"block", &RelativesArguments::block}};
};

struct OutputBlocksArguments {
  BlockRV scope_block;

  static constexpr std::tuple parameters{
      Parameter{"scope_block", &OutputBlocksArguments::scope_block}};
};

struct BlocksPlan {
  Handles<BlockRV> blocks;
};

struct LoopsPlan {
  Handles<LoopRV> loops;
};

Planned<LoopsPlan> plan_get_child_loops(const Schedule& schedule,
                                        const ChildLoopsArguments& arguments);
Handles<LoopRV> commit_loops(Schedule& schedule, LoopsPlan&& plan);
Planned<BlocksPlan> plan_get_child_blocks(const Schedule& schedule,
                                          const ChildBlocksArguments& arguments);
Planned<BlocksPlan> plan_get_producers(const Schedule& schedule,
                                       const RelativesArguments& arguments);
Planned<BlocksPlan> plan_get_consumers(const Schedule& schedule,
                                       const RelativesArguments& arguments);
Planned<BlocksPlan> plan_get_output_blocks(const Schedule& schedule,
                                           const OutputBlocksArguments& arguments);
Handles<BlockRV> commit_blocks(Schedule& schedule, BlocksPlan&& plan);

inline constexpr Primitive get_child_blocks(PrimitiveDefinition{
    .name = "get_child_blocks",
    .doc = "The blocks inside a block or loop, without those inside them.",
    .pure = true,
    .plan = plan_get_child_blocks,
    .commit = commit_blocks,
});

inline constexpr const Condition* get_child_loops_conditions[] = {&function_is_known};

inline constexpr Primitive get_child_loops(PrimitiveDefinition{
    .name = "get_child_loops",
    .doc = "The loops inside a block or loop, without those inside them or inside other blocks.",
    .conditions = get_child_loops_conditions,
    .required = 0,
    .pure = true,
    .plan = plan_get_child_loops,
    .commit = commit_loops,
});

inline constexpr Primitive get_producers(PrimitiveDefinition{
    .name = "get_producers",
    .doc = "The blocks before a block, in its scope, that write what it reads or writes.",
    .pure = true,
    .plan = plan_get_producers,
    .commit = commit_blocks,
});

inline constexpr Primitive get_consumers(PrimitiveDefinition{
    .name = "get_consumers",
    .doc = "The blocks after a block, in its scope, that read or write what it writes.",
    .pure = true,
    .plan = plan_get_consumers,
    .commit = commit_blocks,
});

inline constexpr Primitive get_output_blocks(PrimitiveDefinition{
    .name = "get_output_blocks",
    .doc = "The blocks of a scope, also those inside others, that write what it does not allocate.",
    .pure = true,
    .plan = plan_get_output_blocks,
    .commit = commit_blocks,
});

}  // namespace loopsmith
