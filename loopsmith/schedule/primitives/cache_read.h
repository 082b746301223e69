// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/legality/result_preservation.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/rewrites/cache_block.h"

namespace loopsmith {

struct CacheReadArguments {
  BlockRV block;
  BufferSelector read_buffer_index;
  std::string storage_scope;
  std::optional<std::vector<BlockRV>> consumer_blocks = {};

  static constexpr std::tuple parameters{
      Parameter{"block", &CacheReadArguments::block},
      Parameter{"read_buffer_index", &CacheReadArguments::read_buffer_index,
                "The buffer: its number among the reads of the block, or its name."},
      Parameter{"storage_scope", &CacheReadArguments::storage_scope,
                "The memory of the copy: global, shared, local, ..."},
      Parameter{
          "consumer_blocks", &CacheReadArguments::consumer_blocks,
          "The blocks that read the copy; those that read the same values when it is not given."}};
};

struct CacheReadPlan {
  CacheSubject subject;
  std::string storage_scope;
  Handles<BlockRV> consumers;
  CopyPlace place;
  AffineRegion box;
  std::optional<Preservation> preservation = {};
};

inline constexpr const Condition* cache_read_conditions[] = {
    &block_has_the_buffer,    &storage_scope_is_known, &block_stands_in_a_block,
    &buffer_is_used_by_index, &uses_are_declared,      &consumer_reads_the_buffer,
    &step_keeps_results};

Planned<CacheReadPlan> plan_cache_read(const Schedule& schedule,
                                       const CacheReadArguments& arguments);

///                              for ax0, ax1 in T.grid(96, 64):
///                                with T.block("A_shared"):
///                                  A_shared[v0, v1] = A[v0, v1]
/// for i, j:                    for i, j:
///   with T.block("B"):    =>     with T.block("B"):
///     B[i, j] = A[i, j]            B[i, j] = A_shared[i, j]
BlockRV commit_cache_read(Schedule& schedule, CacheReadPlan&& plan);

inline constexpr Primitive cache_read(PrimitiveDefinition{
    .name = "cache_read",
    .doc = "Makes a block that copies what a block reads into another memory, and lets the block "
           "read the copy.",
    .conditions = cache_read_conditions,
    .required = 3,
    .plan = plan_cache_read,
    .commit = commit_cache_read,
});

}  // namespace loopsmith
