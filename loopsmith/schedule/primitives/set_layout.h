// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitives/transform_layout.h"

namespace loopsmith {

struct SetLayoutArguments {
  BufferSelector buffer;
  Ptr<IndexMap> map;
  std::optional<Annotation> pad = {};

  static constexpr std::tuple parameters{
      Parameter{"buffer", &SetLayoutArguments::buffer,
                "The name of a buffer of the function, or the buffer."},
      Parameter{"map", &SetLayoutArguments::map,
                "From the old indices of an element to its new ones."},
      Parameter{"pad", &SetLayoutArguments::pad,
                "What new elements hold that were none before: a number, or an IndexMap from the "
                "new indices to a value."}};
};

inline constexpr Condition function_has_the_buffer{
    "name_is_known", "the function has no buffer {}; it has {}",
    "pass the name of a parameter or of an intermediate buffer"};
inline constexpr const Condition* set_layout_conditions[] = {
    &function_has_the_buffer, &buffer_has_no_views, &buffer_is_used_by_index,
    &buffer_is_compact,       &index_map_fits,      &index_map_is_injective,
    &padding_has_a_value,     &pad_value_fits,      &step_keeps_results};

Planned<TransformLayoutPlan> plan_set_layout(const Schedule& schedule,
                                             const SetLayoutArguments& arguments);

/// The rank of the buffer.
std::size_t rank_of_buffer(const Schedule& schedule, const SetLayoutArguments& arguments);

/// t = alloc(96, 64)          =>    t = alloc(64, 96)
/// ... t[i, j] ...                  ... t[j, i] ...
///
/// The order of computation stays as it is. Swizzles are maps like others: (i, (j + i) % 64), or
/// (i, (j // 8 ^ i % 8) * 8 + j % 8) with tir.bitwise_xor. Where the new shape has room for more, a
/// block after the last writer fills it; of a parameter that is only read it is assumed to hold
/// `pad`.
inline constexpr Primitive set_layout(PrimitiveDefinition{
    .name = "set_layout",
    .doc = "Keeps the elements of any buffer elsewhere in memory: transposed, tiled, padded, "
           "swizzled, as an index map says. The order of computation stays as it is.",
    .conditions = set_layout_conditions,
    .required = 2,
    .plan = plan_set_layout,
    .commit = commit_transform_layout,
    .index_count = rank_of_buffer,
});

}  // namespace loopsmith
