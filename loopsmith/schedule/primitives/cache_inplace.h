// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/legality/result_preservation.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/rewrites/cache_block.h"

namespace loopsmith {

struct CacheInplaceArguments {
  BlockRV block;
  BufferSelector read_buffer_index;
  std::string storage_scope;

  static constexpr std::tuple parameters{
      Parameter{"block", &CacheInplaceArguments::block},
      Parameter{"read_buffer_index", &CacheInplaceArguments::read_buffer_index,
                "The buffer: its number among the reads of the block, or its name."},
      Parameter{"storage_scope", &CacheInplaceArguments::storage_scope,
                "The memory of the copy: global, shared, local, ..."}};
};

struct CacheInplacePlan {
  BlockRV block;
  BlockRV scope;
  std::string storage_scope;
  CopyPlace place;
  AffineRegion box;
  bool widens_regions = false;  ///< The copies take more than the block around says.
  std::optional<Preservation> preservation = {};
};

inline constexpr Condition block_updates_the_buffer{
    "block_updates_the_buffer", "block {} reads buffer {} and does not write it", "use cache_read"};
inline constexpr const Condition* cache_inplace_conditions[] = {
    &block_has_the_buffer,    &storage_scope_is_known, &block_stands_in_a_block,
    &buffer_is_used_by_index, &uses_are_declared,      &block_updates_the_buffer,
    &step_keeps_results};

Planned<CacheInplacePlan> plan_cache_inplace(const Schedule& schedule,
                                             const CacheInplaceArguments& arguments);

///                                for ax0 in range(8):  A_local[v0] = A[v0]
/// for i in range(8):             for i in range(8):
///   A[i] = A[i] + 1        =>      A_local[i] = A_local[i] + 1
///                                for ax0 in range(8):  A[v0] = A_local[v0]
Handles<BlockRV> commit_cache_inplace(Schedule& schedule, CacheInplacePlan&& plan);

inline constexpr Primitive cache_inplace(PrimitiveDefinition{
    .name = "cache_inplace",
    .doc = "Copies what a block updates into another memory, lets the block update the copy, and "
           "copies it back.",
    .conditions = cache_inplace_conditions,
    .required = 3,
    .plan = plan_cache_inplace,
    .commit = commit_cache_inplace,
});

}  // namespace loopsmith
