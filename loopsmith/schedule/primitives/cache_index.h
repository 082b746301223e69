// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/rewrites/cache_block.h"

namespace loopsmith {

struct CacheIndexArguments {
  BlockRV block;
  std::string storage_scope;
  std::int64_t cse_thresh = 0;

  static constexpr std::tuple parameters{
      Parameter{"block", &CacheIndexArguments::block},
      Parameter{"storage_scope", &CacheIndexArguments::storage_scope,
                "The memory of the indices: global, shared, local, ..."},
      Parameter{"cse_thresh", &CacheIndexArguments::cse_thresh,
                "How often an expression has to occur; 0: every index that is computed."}};
};

/// An expression of indices, and the axes that it is made of.
struct CachedIndex {
  Expr value;
  std::vector<Ptr<IterVar>> axes;
};

struct CacheIndexPlan {
  BlockRV block;
  BlockRV scope;
  std::string storage_scope;
  std::vector<CachedIndex> indices;
};

inline constexpr const Condition* cache_index_conditions[] = {
    &storage_scope_is_known, &block_stands_in_a_block, &step_keeps_results};

Planned<CacheIndexPlan> plan_cache_index(const Schedule& schedule,
                                         const CacheIndexArguments& arguments);

///                                 for ax0 in 80:
///                                   with T.block("index_0"):
///                                     index_var_0[v0] = v0 // 4
/// for i in 80:                    for i in 80:
///   with T.block("B"):     =>       with T.block("B"):
///     B[vi] = A[vi // 4]              B[vi] = A[index_var_0[vi]]
///
/// Gives the new blocks, none where no index is computed that often.
Handles<BlockRV> commit_cache_index(Schedule& schedule, CacheIndexPlan&& plan);

inline constexpr Primitive cache_index(PrimitiveDefinition{
    .name = "cache_index",
    .doc = "Makes blocks that compute the indices with which a block reads beforehand, and lets it "
           "look them up.",
    .conditions = cache_index_conditions,
    .required = 2,
    .plan = plan_cache_index,
    .commit = commit_cache_index,
});

}  // namespace loopsmith
