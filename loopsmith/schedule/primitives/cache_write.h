// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/legality/result_preservation.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/rewrites/cache_block.h"

namespace loopsmith {

struct CacheWriteArguments {
  BlockRV block;
  BufferSelector write_buffer_index;
  std::string storage_scope;
  std::optional<std::vector<BlockRV>> consumer_blocks = {};

  static constexpr std::tuple parameters{
      Parameter{"block", &CacheWriteArguments::block},
      Parameter{"write_buffer_index", &CacheWriteArguments::write_buffer_index,
                "The buffer: its number among the writes of the block, or its name."},
      Parameter{"storage_scope", &CacheWriteArguments::storage_scope,
                "The memory that is written instead: global, shared, local, ..."},
      Parameter{"consumer_blocks", &CacheWriteArguments::consumer_blocks,
                "The blocks that read the cache; all others read the copy."}};
};

struct CacheWritePlan {
  CacheSubject subject;
  std::string storage_scope;
  Handles<BlockRV> consumers;
  CopyPlace place;
  AffineRegion box;
  std::optional<Preservation> preservation = {};
};

inline constexpr ResultChange consumer_reads_what_is_cached{
    LegalityQuestion::cover, false,
    "block {} reads elements of buffer {} that are not in the cache",
    "leave it out of consumer_blocks"};
inline constexpr ResultChange writer_does_not_read_first{
    LegalityQuestion::cover, false, "block {} reads what was in buffer {} before",
    "use cache_inplace, which copies it there and back"};
inline constexpr const Condition* cache_write_conditions[] = {
    &block_has_the_buffer,    &storage_scope_is_known, &block_stands_in_a_block,
    &buffer_is_used_by_index, &uses_are_declared,      &consumer_reads_the_buffer,
    &step_keeps_results};

Planned<CacheWritePlan> plan_cache_write(const Schedule& schedule,
                                         const CacheWriteArguments& arguments);

/// for i, j:                    for i, j:
///   with T.block("B"):    =>     with T.block("B"):
///     B[i, j] = A[i, j]            B_local[i, j] = A[i, j]
///                              for ax0, ax1 in T.grid(96, 64):
///                                with T.block("B_local"):
///                                  B[v0, v1] = B_local[v0, v1]
BlockRV commit_cache_write(Schedule& schedule, CacheWritePlan&& plan);

inline constexpr Primitive cache_write(PrimitiveDefinition{
    .name = "cache_write",
    .doc = "Lets a block write into another memory, and makes a block that copies the result back.",
    .conditions = cache_write_conditions,
    .required = 3,
    .plan = plan_cache_write,
    .commit = commit_cache_write,
});

}  // namespace loopsmith
