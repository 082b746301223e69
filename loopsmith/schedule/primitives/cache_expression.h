// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/primitives/reindex.h"

namespace loopsmith {

struct CacheExpressionArguments {
  BlockRV block;
  BufferSelector buffer_index;
  std::string storage_scope;
  Ptr<IndexMap> index_map;

  static constexpr std::tuple parameters{
      Parameter{"block", &CacheExpressionArguments::block},
      Parameter{"buffer_index", &CacheExpressionArguments::buffer_index,
                "A buffer that the expression reads: its number among the reads of the block, or "
                "its name."},
      Parameter{"storage_scope", &CacheExpressionArguments::storage_scope,
                "The memory of the values: global, shared, local, ..."},
      Parameter{"index_map", &CacheExpressionArguments::index_map,
                "From the axes of the block to the indices of the values. The axes that it uses "
                "are those that the expression may depend on."}};
};

struct CacheExpressionPlan {
  BlockRV block;
  CacheSubject subject;
  std::string storage_scope;
  Expr value;  ///< In terms of the block's axes, as `mapped`.
  MappedIndices mapped;
  std::vector<Ptr<IterVar>> axes;  ///< Those that the value depends on.
  NodeId nest = no_node;           ///< The statement of the scope that holds the block.
  std::optional<Preservation> preservation = {};
};

inline constexpr Condition expression_is_there{
    "expression_is_there",
    "no expression of block {} reads buffer {} and depends on the axes of the index map alone",
    "use in the index map all axes that such an expression depends on"};
inline constexpr Condition expression_is_unique{
    "expression_is_there", "block {} computes {} and {} of buffer {}, which are not equal",
    "let the index map use fewer axes, or name a buffer that one of them reads"};
inline constexpr ResultChange expression_is_always_computed{
    LegalityQuestion::add, false,
    "block {} computes {} under a condition, and what it reads elsewhere may lie beyond its buffer",
    "let the index map use the axes of the condition, too"};
inline constexpr const Condition* cache_expression_conditions[] = {
    &block_has_the_buffer,    &storage_scope_is_known,      &block_stands_in_a_block,
    &buffer_is_used_by_index, &uses_are_declared,           &block_is_leaf,
    &index_map_fits,          &expression_is_there,         &expression_is_unique,
    &step_keeps_results,      &index_map_uses_the_same_axes};

Planned<CacheExpressionPlan> plan_cache_expression(const Schedule& schedule,
                                                   const CacheExpressionArguments& arguments);

///                                     for ax0, ax1 in T.grid(64, 32):
///                                       with T.block("B_global"):
///                                         B_global[v0, v1] = float32(B[v0, v1])
/// for i, j, k in T.grid(16, 32, 64):  for i, j, k in T.grid(16, 32, 64):
///   with T.block("C"):           =>     with T.block("C"):
///     C[i, j] += A[i, k] *                C[i, j] += A[i, k] * B_global[k, j]
///                float32(B[k, j])
///
/// Gives the new block. Cannot fail.
BlockRV commit_cache_expression(Schedule& schedule, CacheExpressionPlan&& plan);

inline constexpr Primitive cache_expression(PrimitiveDefinition{
    .name = "cache_expression",
    .doc = "Computes the largest expression of a block that reads a buffer and depends on the axes "
           "of an index map alone in a block of its own, beforehand, and lets the block read the "
           "values.",
    .conditions = cache_expression_conditions,
    .required = 4,
    .plan = plan_cache_expression,
    .commit = commit_cache_expression,
    .index_count = axis_count<CacheExpressionArguments>,
});

}  // namespace loopsmith
