// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/legality/result_preservation.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/queries/block_kinds.h"
#include "loopsmith/schedule/rewrites/cache_block.h"

namespace loopsmith {

struct PadEinsumArguments {
  BlockRV block;
  std::vector<std::int64_t> padding;

  static constexpr std::tuple parameters{
      Parameter{"block", &PadEinsumArguments::block},
      Parameter{"padding", &PadEinsumArguments::padding,
                "For each axis, a number of which its new extent is a multiple."}};
};

/// An operand that gets a padded copy.
struct PaddedOperand {
  Ptr<Buffer> buffer;
  bool is_write = false;
  std::vector<Expr> indices;  ///< Axes and constants.
  std::vector<Expr> extents;  ///< What is copied: of axes, their old extents; else 1.
  std::vector<Expr> shape;    ///< Of the copy.
};

struct PadEinsumPlan {
  BlockRV block;
  BlockRV scope;
  std::vector<Expr> extents;                   ///< Of the axes; null where one stays.
  std::vector<std::pair<LoopRV, Expr>> loops;  ///< With their new extents.
  std::vector<PaddedOperand> operands;
  std::optional<Preservation> preservation = {};
};

inline constexpr Condition padding_is_positive{
    "arguments_fit", "the padding of block {} is no list of {} positive integers",
    "give one factor for each axis; 1 leaves an axis as it is"};
inline constexpr Condition block_is_einsum{
    "block_is_einsum", "block {} is no Einsum pattern, as {}",
    "let it index each of its buffers once, by axes and constants alone"};
inline constexpr ResultChange zeros_are_neutral{
    LegalityQuestion::add, false, "zeros beyond axis {} of block {} may change its result",
    "pad reductions that sum products of which a factor is padded"};
inline constexpr const Condition* pad_einsum_conditions[] = {
    &step_keeps_results,      &padding_is_positive,
    &block_is_not_root,       &block_is_complete_or_reduction,
    &block_is_einsum,         &nest_is_of_block_alone,
    &block_stands_in_a_block, &buffer_is_used_by_index,
    &uses_are_declared};

Planned<PadEinsumPlan> plan_pad_einsum(const Schedule& schedule,
                                       const PadEinsumArguments& arguments);

///                                        for i0, i1: A_pad[i0, i1] = A[i0, i1] if i1 < 48 else 0
/// for i, j, k in T.grid(96, 80, 48):     for i, j, k in T.grid(96, 96, 64):
///   C[i, j] += A[i, k] * B[j, k]    =>     C_pad[i, j] += A_pad[i, k] * B_pad[j, k]
///                                        for i0, i1 in T.grid(96, 80): C[i0, i1] = C_pad[i0, i1]
///
/// Operands that no changed axis indexes stay as they are. Cannot fail.
Nothing commit_pad_einsum(Schedule& schedule, PadEinsumPlan&& plan);

inline constexpr Primitive pad_einsum(PrimitiveDefinition{
    .name = "pad_einsum",
    .past = "padded",
    .doc = "Makes the extents of an Einsum's axes multiples of factors, on padded copies of its "
           "operands.",
    .conditions = pad_einsum_conditions,
    .required = 2,
    .plan = plan_pad_einsum,
    .commit = commit_pad_einsum,
});

}  // namespace loopsmith
