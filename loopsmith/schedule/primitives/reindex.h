// SPDX-License-Identifier: Apache-2.0
// Primitives that copy a buffer as one block accesses it, in an order of indices of their own.
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/legality/result_preservation.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/rewrites/cache_block.h"
#include "loopsmith/schedule/rewrites/layout.h"
#include "loopsmith/schedule/rewrites/mapped_indices.h"

namespace loopsmith {

struct ReindexArguments {
  BlockRV block;
  BufferSelector buffer;

  static constexpr std::tuple parameters{
      Parameter{"block", &ReindexArguments::block},
      Parameter{"buffer", &ReindexArguments::buffer,
                "A name, or (\"read\", 0) for the first that the block reads."}};
};

struct ReindexCacheArguments {
  BlockRV block;
  BufferSelector buffer_index;
  std::string storage_scope;
  Ptr<IndexMap> index_map;

  static constexpr std::tuple parameters{
      Parameter{"block", &ReindexCacheArguments::block},
      Parameter{"buffer_index", &ReindexCacheArguments::buffer_index,
                "The buffer: its number among the reads (or writes) of the block, or its name."},
      Parameter{"storage_scope", &ReindexCacheArguments::storage_scope,
                "The memory of the copy: global, shared, local, ..."},
      Parameter{"index_map", &ReindexCacheArguments::index_map,
                "From the axes of the block to the indices in the copy."}};
};

struct ReindexPlan {
  BlockRV block;
  CacheSubject subject;
  std::string storage_scope;
  std::string suffix;              ///< Of the copy's name.
  std::vector<Expr> indices;       ///< Of the buffer, in terms of the block's axes.
  std::vector<Expr> copied;        ///< Of the copy.
  std::vector<Expr> shape;         ///< Of the copy.
  std::vector<Ptr<IterVar>> axes;  ///< Those of the block that the indices use.
  std::vector<Expr> fixed;  ///< By axis, its value where the copy is; null: all of its domain.
  NodeId nest = no_node;    ///< The statement of the scope that holds the block.
  CopyPlace place;
  std::optional<Preservation> preservation = {};
};

inline constexpr Condition block_is_leaf{"block_is_leaf", "block {} has other blocks inside",
                                         "pass one of those"};
inline constexpr Condition indices_are_unique{
    "indices_are_unique", "block {} accesses buffer {} with more than one list of indices",
    "let the block access it in one way"};
inline constexpr Condition indices_are_of_axes{
    "indices_are_unique", "block {} accesses buffer {} with indices that are not made of its axes",
    "bind what the indices use to axes of the block"};
inline constexpr ResultChange instances_are_complete{
    LegalityQuestion::cover, false, "block {} is not known to write for all values of its axes",
    "let its loops run through the whole domains of its axes"};
inline constexpr Condition nest_stands_alone{"nest_is_perfect",
                                             "block {} uses buffer {} inside the nest of block {}",
                                             "take the blocks apart first"};

inline constexpr const Condition* reindex_conditions[] = {
    &block_has_the_buffer, &block_stands_in_a_block, &buffer_is_used_by_index,
    &uses_are_declared,    &block_is_leaf,           &indices_are_unique,
    &indices_are_of_axes,  &step_keeps_results,      &nest_stands_alone};
inline constexpr const Condition* reindex_cache_conditions[] = {
    &block_has_the_buffer,    &storage_scope_is_known, &block_stands_in_a_block,
    &buffer_is_used_by_index, &uses_are_declared,      &block_is_leaf,
    &indices_are_unique,      &indices_are_of_axes,    &step_keeps_results,
    &nest_stands_alone,       &index_map_fits,         &index_map_uses_the_same_axes};

Planned<ReindexPlan> plan_reindex(const Schedule& schedule, const ReindexArguments& arguments);
Planned<ReindexPlan> plan_reindex_cache_read(const Schedule& schedule,
                                             const ReindexCacheArguments& arguments);
Planned<ReindexPlan> plan_reindex_cache_write(const Schedule& schedule,
                                              const ReindexCacheArguments& arguments);

///                              for ax0, ax1 in T.grid(64, 96):
///                                with T.block("A_reindex"):
///                                  A_reindex[v0, v1] = A[v1, v0]
/// for i, j:                    for i, j:
///   with T.block("B"):    =>     with T.block("B"):
///     B[i, j] = A[j, i]            B[i, j] = A_reindex[i, j]
BlockRV commit_reindex(Schedule& schedule, ReindexPlan&& plan);

inline constexpr Primitive reindex(PrimitiveDefinition{
    .name = "reindex",
    .doc = "Copies a buffer into one that a block accesses by its axes alone.",
    .conditions = reindex_conditions,
    .required = 2,
    .plan = plan_reindex,
    .commit = commit_reindex,
});

inline constexpr Primitive reindex_cache_read(PrimitiveDefinition{
    .name = "reindex_cache_read",
    .doc = "Copies what a block reads into another memory, where its indices are a map of the "
           "block's axes.",
    .conditions = reindex_cache_conditions,
    .required = 4,
    .plan = plan_reindex_cache_read,
    .commit = commit_reindex,
    .index_count = axis_count<ReindexCacheArguments>,
});

inline constexpr Primitive reindex_cache_write(PrimitiveDefinition{
    .name = "reindex_cache_write",
    .doc = "Lets a block write into another memory, where its indices are a map of the block's "
           "axes, and copies the result back.",
    .conditions = reindex_cache_conditions,
    .required = 4,
    .plan = plan_reindex_cache_write,
    .commit = commit_reindex,
    .index_count = axis_count<ReindexCacheArguments>,
});

}  // namespace loopsmith
