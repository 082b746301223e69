// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/primitives/redefine_buffer.h"
#include "loopsmith/schedule/rewrites/cache_block.h"

namespace loopsmith {

struct TransformLayoutArguments {
  BlockRV block;
  BufferSelector buffer;
  Ptr<IndexMap> index_map;
  std::optional<Annotation> pad_value = {};
  bool assume_injective_transform = false;

  static constexpr std::tuple parameters{
      Parameter{"block", &TransformLayoutArguments::block},
      Parameter{"buffer", &TransformLayoutArguments::buffer,
                "The buffer: a name, (\"read\", 0), or its number among the writes of the block."},
      Parameter{"index_map", &TransformLayoutArguments::index_map,
                "From the old indices of an element to its new ones."},
      Parameter{"pad_value", &TransformLayoutArguments::pad_value,
                "What new elements hold that were none before: a number, or an IndexMap from the "
                "new indices to a value."},
      promise("assume_injective_transform", &TransformLayoutArguments::assume_injective_transform,
              "Whether you know that no two elements come to lie in one.")};
};

struct TransformLayoutPlan {
  NodeId owner = no_node;
  NodeId scope = no_node;  ///< The block, or the function without a root block, with all uses.
  Ptr<Buffer> from;
  Ptr<Buffer> to;
  BufferAccesses uses;
  Ptr<IndexMap> index_map;
  Ptr<IndexMap> inverse;            ///< Null when nothing is padded, or nothing known.
  Expr padding;                     ///< Of the indices of `inverse`, true where an element is new.
  Expr pad_value;                   ///< Of the same.
  std::optional<BlockRV> producer;  ///< The one writer, if it writes all, row by row.
  NodeId last_writer = no_node;     ///< The statement of the scope that writes last.
};

inline constexpr Condition index_map_is_injective{
    "index_map_is_injective", "the index map may take two elements of buffer {} to one: {}",
    "use a map that can be inverted; if you know that this one can be, pass "
    "assume_injective_transform=True"};
inline constexpr Condition padding_has_a_value{
    "padding_has_a_value", "the index map pads buffer {} to shape ({}), wherever {}",
    "pass pad_value, or split by factors that divide the shape"};
inline constexpr Condition pad_value_fits{"argument_has_type",
                                          "pad_value gives {}, buffer {} holds {}",
                                          "give one value of the buffer's type that loads nothing"};
inline constexpr Condition buffer_is_compact{"buffer_is_compact",
                                             "buffer {} has strides or an offset of its own",
                                             "transform the layout before you set them"};

inline constexpr const Condition* transform_layout_conditions[] = {
    &block_has_the_buffer,    &block_stands_in_a_block, &buffer_has_no_views,
    &buffer_is_used_by_index, &buffer_is_compact,       &index_map_fits,
    &index_map_is_injective,  &padding_has_a_value,     &pad_value_fits,
    &step_keeps_results};

/// A buffer, the node inside which it is used, and where its elements are to lie.
struct LayoutRequest {
  NodeId node = no_node;
  Ptr<Buffer> buffer;
  const IndexMap& map;
  const std::optional<Annotation>& pad_value;
  bool assume_injective = false;
};

/// Checks whether a buffer can have a layout. The plan names no producer: the order of computation
/// stays.
Planned<TransformLayoutPlan> plan_layout(const Schedule& schedule, const LayoutRequest& request);

Planned<TransformLayoutPlan> plan_transform_layout(const Schedule& schedule,
                                                   const TransformLayoutArguments& arguments);

/// B = T.alloc_buffer((96, 64))    =>    B = T.alloc_buffer((6, 4, 16, 16))
/// ... B[i, j] ...                       ... B[i // 16, j // 16, i % 16, j % 16] ...
///
/// Where the new shape has room for more: what is only read is assumed to hold `pad_value` there;
/// one block that writes all of the buffer row by row writes these elements, too; after other
/// writers, a block of its own does.
Nothing commit_transform_layout(Schedule& schedule, TransformLayoutPlan&& plan);

/// How many dimensions the buffer has.
std::size_t dimension_count(const Schedule& schedule, const TransformLayoutArguments& arguments);

inline constexpr Primitive transform_layout(PrimitiveDefinition{
    .name = "transform_layout",
    .doc = "Keeps the elements of a buffer elsewhere: where an index map says.",
    .conditions = transform_layout_conditions,
    .required = 3,
    .plan = plan_transform_layout,
    .commit = commit_transform_layout,
    .index_count = dimension_count,
});

}  // namespace loopsmith
