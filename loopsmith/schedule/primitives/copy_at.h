// SPDX-License-Identifier: Apache-2.0
// Copies of a buffer inside a loop, each one block with its loops inside: read_at, write_at.
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/legality/result_preservation.h"
#include "loopsmith/schedule/primitives/cache_write.h"
#include "loopsmith/schedule/rewrites/places.h"

namespace loopsmith {

struct ReadAtArguments {
  LoopRV loop;
  BlockRV block;
  BufferSelector read_buffer_index;
  std::string storage_scope;

  static constexpr std::tuple parameters{
      Parameter{"loop", &ReadAtArguments::loop, "Around the block; the copy stands in its body."},
      Parameter{"block", &ReadAtArguments::block},
      Parameter{"read_buffer_index", &ReadAtArguments::read_buffer_index,
                "The buffer: its number among the reads of the block, or its name."},
      Parameter{"storage_scope", &ReadAtArguments::storage_scope,
                "The memory of the copy: global, shared, local, ..."}};
};

struct WriteAtArguments {
  LoopRV loop;
  BlockRV block;
  BufferSelector write_buffer_index;
  std::string storage_scope;

  static constexpr std::tuple parameters{
      Parameter{"loop", &WriteAtArguments::loop, "Around the block; the copy stands in its body."},
      Parameter{"block", &WriteAtArguments::block},
      Parameter{"write_buffer_index", &WriteAtArguments::write_buffer_index,
                "The buffer: its number among the writes of the block, or its name."},
      Parameter{"storage_scope", &WriteAtArguments::storage_scope,
                "The memory that is written instead: global, shared, local, ..."}};
};

struct CopyAtPlan {
  CacheSubject subject;  ///< Readers and writers inside the loop alone.
  LoopRV loop;
  std::string storage_scope;
  bool is_back = false;
  NodeId at = no_node;  ///< Before or after which statement the copy stands.
  AffineRegion box;
  bool widens_reads = false;  ///< The copy reads more than the block around says.
  std::optional<Preservation> preservation = {};
};

inline constexpr ResultChange loop_reads_alone{LegalityQuestion::coherence, false,
                                               "block {} writes buffer {} inside loop {}",
                                               "choose a loop inside which it is only read"};
inline constexpr Condition loop_is_no_vector{"loop_is_serial", "loop {} is vectorized",
                                             "copy at a loop around it, or vectorize afterwards"};
inline constexpr Condition copied_box_is_of_plain_loops{
    "bounds_are_known",
    "what is copied at loop {} depends on loop {}, whose bounds depend on others or on memory",
    "copy at a loop around that one"};
inline constexpr const Condition* read_at_conditions[] = {
    &block_has_the_buffer,    &storage_scope_is_known, &block_stands_in_a_block,
    &buffer_is_used_by_index, &uses_are_declared,      &loop_is_around_block,
    &loop_is_in_scope,        &loop_is_no_vector,      &copied_box_is_of_plain_loops,
    &step_keeps_results};
inline constexpr const Condition* write_at_conditions[] = {
    &block_has_the_buffer,    &storage_scope_is_known,
    &block_stands_in_a_block, &buffer_is_used_by_index,
    &uses_are_declared,       &loop_is_around_block,
    &loop_is_in_scope,        &loop_is_no_vector,
    &step_keeps_results,      &copied_box_is_of_plain_loops};

Planned<CopyAtPlan> plan_read_at(const Schedule& schedule, const ReadAtArguments& arguments);
Planned<CopyAtPlan> plan_write_at(const Schedule& schedule, const WriteAtArguments& arguments);

/// for i in 6:                   for i in 6:
///   for j in 16:                  with T.block("A_shared"):
///     with T.block("B"):            v0 = T.axis.spatial(6, i)
///       B[vi] = A[vi]       =>      T.block_attr({"auto_copy": 1})
///                                   for ax0 in 16:
///                                     A_shared[v0 * 16 + ax0] = A[v0 * 16 + ax0]
///                                 for j in 16:
///                                   with T.block("B"):
///                                     B[vi] = A_shared[vi]
BlockRV commit_copy_at(Schedule& schedule, CopyAtPlan&& plan);

inline constexpr Primitive read_at(PrimitiveDefinition{
    .name = "read_at",
    .doc = "Makes one block at a loop that copies what is read there into another memory, and lets "
           "the blocks inside the loop read the copy.",
    .conditions = read_at_conditions,
    .required = 4,
    .plan = plan_read_at,
    .commit = commit_copy_at,
});

inline constexpr Primitive write_at(PrimitiveDefinition{
    .name = "write_at",
    .doc = "Lets the blocks inside a loop write into another memory, and makes one block at the "
           "loop that copies the result back.",
    .conditions = write_at_conditions,
    .required = 4,
    .plan = plan_write_at,
    .commit = commit_copy_at,
});

}  // namespace loopsmith
