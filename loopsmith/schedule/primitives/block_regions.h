// SPDX-License-Identifier: Apache-2.0
// Primitives that say more of what a block reads and writes.
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/rewrites/cache_block.h"

namespace loopsmith {

struct StorageAlignArguments {
  BlockRV block;
  BufferSelector buffer_index;
  std::int64_t axis = 0;
  std::int64_t factor = 1;
  std::int64_t offset = 0;

  static constexpr std::tuple parameters{
      Parameter{"block", &StorageAlignArguments::block},
      Parameter{"buffer_index", &StorageAlignArguments::buffer_index,
                "The buffer: its number among the writes of the block, or its name."},
      Parameter{"axis", &StorageAlignArguments::axis, "The dimension; -1 is the last."},
      Parameter{"factor", &StorageAlignArguments::factor, "In elements."},
      Parameter{"offset", &StorageAlignArguments::offset, "In elements."}};
};

struct StorageAlignPlan {
  BlockRV block;
  Ref alignments;  ///< All of the block.
};

struct HideAccessArguments {
  BlockRV block;
  std::string buf_type;
  std::vector<std::int64_t> buf_index_array;

  static constexpr std::tuple parameters{
      Parameter{"block", &HideAccessArguments::block},
      Parameter{"buf_type", &HideAccessArguments::buf_type, "read or write"},
      Parameter{"buf_index_array", &HideAccessArguments::buf_index_array,
                "The numbers of the buffers among the reads or writes of the block."}};
};

struct HideAccessPlan {
  BlockRV block;
  bool is_write = false;
  std::vector<Ptr<BufferRegion>> kept;
};

struct AnnotateAccessArguments {
  BlockRV block;
  std::int64_t buffer_index = 0;
  std::string buf_type;
  Ptr<IndexMap> gen_new_ranges;

  static constexpr std::tuple parameters{
      Parameter{"block", &AnnotateAccessArguments::block},
      Parameter{"buffer_index", &AnnotateAccessArguments::buffer_index,
                "The number of the buffer among the reads or writes of the block."},
      Parameter{"buf_type", &AnnotateAccessArguments::buf_type, "read or write"},
      Parameter{"gen_new_ranges", &AnnotateAccessArguments::gen_new_ranges,
                "From the axes of the block to where each dimension starts and ends, in turn."}};
};

struct AnnotateAccessPlan {
  BlockRV block;
  bool is_write = false;
  std::size_t index = 0;
  Ptr<BufferRegion> region;
};

inline constexpr Condition alignment_is_positive{"number_is_in_range", "factor {} is not positive",
                                                 "pass the number of elements to align to"};
inline constexpr Condition access_is_read_or_write{"name_is_known", "{} is neither read nor write",
                                                   "pass \"read\" or \"write\""};
inline constexpr Condition block_has_the_region{"number_is_in_range",
                                                "block {} has no number {} among its {} regions",
                                                "count the buffers that it declares from 0"};
inline constexpr Condition ranges_fit_the_buffer{
    "arguments_fit", "{} axes to {} ends do not fit block {} with {} axes and buffer {}",
    "take each axis of the block, and give a start and an end for each dimension of the buffer"};

inline constexpr const Condition* storage_align_conditions[] = {
    &block_has_the_buffer, &alignment_is_positive, &number_is_in_range, &buffer_is_allocated};
inline constexpr const Condition* hide_access_conditions[] = {&access_is_read_or_write,
                                                              &block_has_the_region};
inline constexpr const Condition* annotate_access_conditions[] = {
    &access_is_read_or_write, &block_has_the_region, &ranges_fit_the_buffer};

Planned<StorageAlignPlan> plan_storage_align(const Schedule& schedule,
                                             const StorageAlignArguments& arguments);
Planned<HideAccessPlan> plan_hide_access(const Schedule& schedule,
                                         const HideAccessArguments& arguments);
Planned<AnnotateAccessPlan> plan_annotate_access(const Schedule& schedule,
                                                 const AnnotateAccessArguments& arguments);

Nothing commit_storage_align(Schedule& schedule, StorageAlignPlan&& plan);
Nothing commit_hide_access(Schedule& schedule, HideAccessPlan&& plan);
Nothing commit_annotate_access(Schedule& schedule, AnnotateAccessPlan&& plan);

inline constexpr Primitive storage_align(PrimitiveDefinition{
    .name = "storage_align",
    .doc = "Lets the stride of a dimension be `offset` modulo `factor`, to spread it over banks.",
    .conditions = storage_align_conditions,
    .required = 5,
    .keeps_accesses = true,
    .plan = plan_storage_align,
    .commit = commit_storage_align,
});

inline constexpr Primitive unsafe_hide_buffer_access(PrimitiveDefinition{
    .name = "unsafe_hide_buffer_access",
    .doc = "Takes buffers from what a block declares; later steps do not see these accesses.",
    .conditions = hide_access_conditions,
    .required = 3,
    .keeps_accesses = true,
    .plan = plan_hide_access,
    .commit = commit_hide_access,
});

inline constexpr Primitive annotate_buffer_access(PrimitiveDefinition{
    .name = "annotate_buffer_access",
    .doc = "Declares another region for a buffer of a block.",
    .conditions = annotate_access_conditions,
    .required = 4,
    .keeps_accesses = true,
    .plan = plan_annotate_access,
    .commit = commit_annotate_access,
});

}  // namespace loopsmith
