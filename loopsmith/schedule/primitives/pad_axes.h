// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/primitives/pad_einsum.h"
#include "loopsmith/schedule/primitives/reindex.h"

namespace loopsmith {

struct PadAxesArguments {
  BlockRV block;
  std::vector<std::int64_t> padding;

  static constexpr std::tuple parameters{
      Parameter{"block", &PadAxesArguments::block},
      Parameter{"padding", &PadAxesArguments::padding,
                "For each axis, a number of which its new extent is a multiple; 1 leaves an axis "
                "as it is."}};
};

struct PadAxesPlan {
  BlockRV block;
  std::vector<Expr> extents;                   ///< Of the axes; null where one stays.
  std::vector<std::pair<LoopRV, Expr>> loops;  ///< With their new extents.
  /// What the block writes, and its new shape.
  std::vector<std::pair<Ptr<Buffer>, std::vector<Expr>>> buffers;
};

inline constexpr Condition padded_axes_are_spatial{
    "axes_can_be_padded", "axis {} of block {} is a reduction axis",
    "pad spatial axes; pad_einsum pads reductions with zeros"};
inline constexpr Condition axes_have_loops_of_their_own{
    "axes_can_be_padded", "axis {} of block {} is not bound to a loop of its own from 0",
    "pad before you split or fuse its loop"};
inline constexpr Condition outputs_are_allocated{
    "axes_can_be_padded",
    "buffer {}, which block {} writes, is not allocated by the block "
    "around it, where it could be enlarged",
    "let it write a copy: cache_write"};
inline constexpr Condition axes_index_outputs{
    "axes_can_be_padded", "axis {} of block {} is not one index of buffer {}",
    "pad axes of which each value writes other elements, as their index"};
inline constexpr const Condition* pad_axes_conditions[] = {
    &padding_is_positive,     &block_is_not_root,
    &block_is_leaf,           &block_is_complete_or_reduction,
    &padded_axes_are_spatial, &axes_have_loops_of_their_own,
    &nest_is_of_block_alone,  &step_keeps_results,
    &outputs_are_allocated,   &buffer_is_used_by_index,
    &axes_index_outputs};

Planned<PadAxesPlan> plan_pad_axes(const Schedule& schedule, const PadAxesArguments& arguments);

/// C = T.alloc_buffer((10,))              C = T.alloc_buffer((12,))
/// for i, k in T.grid(10, 8):        =>   for i, k in T.grid(12, 8):
///   C[i] += A[i, k]                        C[i] += A[min(i, 9), k]
///
/// The instances that are new compute what those of the last index compute, which is always
/// possible, and write elements that are new, so that no statement reads them. Cannot fail.
Nothing commit_pad_axes(Schedule& schedule, PadAxesPlan&& plan);

inline constexpr Primitive pad_axes(PrimitiveDefinition{
    .name = "pad_axes",
    .past = "padded",
    .doc = "Makes the extents of a block's spatial axes multiples of factors: beyond its end, an "
           "axis repeats its last index, into elements that no statement reads.",
    .conditions = pad_axes_conditions,
    .required = 2,
    .plan = plan_pad_axes,
    .commit = commit_pad_axes,
});

}  // namespace loopsmith
