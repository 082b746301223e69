// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/rewrites/layout.h"

namespace loopsmith {

struct TransformBlockLayoutArguments {
  BlockRV block;
  Ptr<IndexMap> index_map;

  static constexpr std::tuple parameters{
      Parameter{"block", &TransformBlockLayoutArguments::block},
      Parameter{"index_map", &TransformBlockLayoutArguments::index_map,
                "From the axes of the block to its new ones."}};
};

struct TransformBlockLayoutPlan {
  BlockRV block;
  NodeId nest = no_node;            ///< The outermost loop.
  Ptr<IndexMap> inverse;            ///< From the new axes to the old ones.
  std::vector<Ptr<Range>> domains;  ///< Of the new axes.
  std::vector<IterType> types;
  std::optional<Argument> reordered_reduction = {};
};

inline constexpr Condition loops_are_the_axes{
    "loops_are_the_axes", "the loops around block {} are not its axes, in their order, from 0",
    "transform the block before you split, fuse or reorder its loops"};
inline constexpr Condition map_is_bijective{
    "map_is_bijective", "the index map does not take one point to each point of a box: {}",
    "use a map that can be inverted, by factors that divide the extents"};
inline constexpr Condition axis_is_of_one_type{
    "axis_is_of_one_type", "new axis {} of block {} contains more than one type of axis",
    "mix spatial axes with spatial ones, reductions with reductions"};
inline constexpr ResultChange instances_may_depend{
    LegalityQuestion::order, false, "instances of block {} may depend on each other's order",
    "declare as spatial the axes that index what is written, the others as reductions"};

inline constexpr const Condition* transform_block_layout_conditions[] = {
    &loops_are_the_axes, &index_map_fits, &map_is_bijective, &axis_is_of_one_type,
    &step_keeps_results};

Planned<TransformBlockLayoutPlan> plan_transform_block_layout(
    const Schedule& schedule, const TransformBlockLayoutArguments& arguments);

/// for i, j in T.grid(96, 64):    =>    for ax0 in range(6144):
///   B[i, j] = A[i, j]                    B[ax0 // 64, ax0 % 64] = A[ax0 // 64, ax0 % 64]
///
/// The block keeps its handle, the loops do not.
Nothing commit_transform_block_layout(Schedule& schedule, TransformBlockLayoutPlan&& plan);

inline constexpr Primitive transform_block_layout(PrimitiveDefinition{
    .name = "transform_block_layout",
    .past = "transformed",
    .doc = "Gives a block other axes, and loops for them.",
    .conditions = transform_block_layout_conditions,
    .required = 2,
    .plan = plan_transform_block_layout,
    .commit = commit_transform_block_layout,
    .index_count = axis_count<TransformBlockLayoutArguments>,
});

}  // namespace loopsmith
