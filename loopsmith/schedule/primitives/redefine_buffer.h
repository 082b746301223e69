// SPDX-License-Identifier: Apache-2.0
// Primitives that define an intermediate buffer anew: its memory, its type, its physical axes.
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/rewrites/cache_block.h"

namespace loopsmith {

struct SetScopeArguments {
  BlockRV block;
  BufferSelector buffer_index;
  std::string storage_scope;

  static constexpr std::tuple parameters{
      Parameter{"block", &SetScopeArguments::block},
      Parameter{"buffer_index", &SetScopeArguments::buffer_index,
                "The buffer: its number among the writes of the block, or its name."},
      Parameter{"storage_scope", &SetScopeArguments::storage_scope,
                "The memory: global, shared, local, ..."}};
};

struct UnsafeSetDtypeArguments {
  BlockRV block;
  BufferSelector buffer_index;
  std::string dtype;

  static constexpr std::tuple parameters{
      Parameter{"block", &UnsafeSetDtypeArguments::block},
      Parameter{"buffer_index", &UnsafeSetDtypeArguments::buffer_index,
                "The buffer: its number among the writes of the block, or its name."},
      Parameter{"dtype", &UnsafeSetDtypeArguments::dtype, "As which type its elements are kept."}};
};

struct SetAxisSeparatorArguments {
  BlockRV block;
  BufferSelector buffer;
  std::vector<std::int64_t> axis_separators;

  static constexpr std::tuple parameters{
      Parameter{"block", &SetAxisSeparatorArguments::block},
      Parameter{"buffer", &SetAxisSeparatorArguments::buffer,
                "The buffer: its number among the writes of the block, or its name."},
      Parameter{"axis_separators", &SetAxisSeparatorArguments::axis_separators,
                "The dimensions that start a new physical axis, in order."}};
};

struct RedefinePlan {
  NodeId owner = no_node;  ///< What defines the buffer.
  Ptr<Buffer> from;
  Ptr<Buffer> to;  ///< Null: nothing changes.
  BufferAccesses uses;
  std::vector<Ptr<Buffer>> aliases = {};  ///< Declared on the same memory.
};

inline constexpr Condition buffer_has_no_views{"buffer_has_no_views",
                                               "a match_buffer or another buffer views buffer {}",
                                               "do this before you tensorize"};
inline constexpr Condition dtype_is_known{"name_is_known", "there is no data type {}",
                                          "say float16, int8, ..."};
inline constexpr Condition separators_fit{
    "arguments_fit", "buffer {} has {} dimensions, and {} is no list of some of them in order",
    "count dimensions from 0"};

inline constexpr const Condition* set_scope_conditions[] = {
    &block_has_the_buffer, &storage_scope_is_known, &buffer_is_allocated, &buffer_has_no_views,
    &step_keeps_results};
inline constexpr const Condition* unsafe_set_dtype_conditions[] = {
    &block_has_the_buffer, &dtype_is_known, &buffer_is_allocated, &buffer_has_no_views,
    &buffer_is_used_by_index};
inline constexpr const Condition* set_axis_separator_conditions[] = {
    &block_has_the_buffer, &separators_fit, &buffer_is_allocated};

Planned<RedefinePlan> plan_set_scope(const Schedule& schedule, const SetScopeArguments& arguments);
Planned<RedefinePlan> plan_unsafe_set_dtype(const Schedule& schedule,
                                            const UnsafeSetDtypeArguments& arguments);
Planned<RedefinePlan> plan_set_axis_separator(const Schedule& schedule,
                                              const SetAxisSeparatorArguments& arguments);

/// B = T.alloc_buffer((8, 8))    =>    B_shared = T.alloc_buffer((8, 8), scope="shared")
/// ... B[i, j] ...                     ... B_shared[i, j] ...
Nothing commit_set_scope(Schedule& schedule, RedefinePlan&& plan);

/// B = T.alloc_buffer((8, 8))    =>    B = T.alloc_buffer((8, 8), "float16")
/// B[i, j] = A[i, j]                   B[i, j] = T.float16(A[i, j])
/// C[i, j] = B[i, j]                   C[i, j] = T.float32(B[i, j])
Nothing commit_unsafe_set_dtype(Schedule& schedule, RedefinePlan&& plan);

Nothing commit_set_axis_separator(Schedule& schedule, RedefinePlan&& plan);

inline constexpr Primitive set_scope(PrimitiveDefinition{
    .name = "set_scope",
    .doc = "Puts an intermediate buffer into another memory.",
    .conditions = set_scope_conditions,
    .required = 3,
    .plan = plan_set_scope,
    .commit = commit_set_scope,
});

inline constexpr Primitive unsafe_set_dtype(PrimitiveDefinition{
    .name = "unsafe_set_dtype",
    .doc = "Keeps the elements of an intermediate buffer as another type, which may round them.",
    .conditions = unsafe_set_dtype_conditions,
    .required = 3,
    .keeps_accesses = true,
    .plan = plan_unsafe_set_dtype,
    .commit = commit_unsafe_set_dtype,
});

inline constexpr Primitive set_axis_separator(PrimitiveDefinition{
    .name = "set_axis_separator",
    .doc = "Says which dimensions of a buffer start a new physical axis.",
    .conditions = set_axis_separator_conditions,
    .required = 3,
    .keeps_accesses = true,
    .plan = plan_set_axis_separator,
    .commit = commit_set_axis_separator,
});

}  // namespace loopsmith
