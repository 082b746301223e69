// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/intrinsics/tensor_intrin.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/primitives/blockize.h"

namespace loopsmith {

struct TensorizeArguments {
  BlockOrLoop block_or_loop;
  TensorIntrinSelector tensor_intrin;
  bool preserve_unit_iters = true;

  static constexpr std::tuple parameters{
      Parameter{"block_or_loop", &TensorizeArguments::block_or_loop,
                "A block of loops around a block, or a loop, which is blockized first."},
      Parameter{"tensor_intrin", &TensorizeArguments::tensor_intrin,
                "The name of the tensor intrinsic."},
      Parameter{"preserve_unit_iters", &TensorizeArguments::preserve_unit_iters,
                "Keeps axes that have one value, where a loop is blockized."}};
};

struct TensorizePlan {
  std::optional<LoopRV> loop;
  std::optional<EnclosingBlock> enclosing;  ///< Of a loop.
  BlockRV block;                            ///< Where no loop was given.
  Block made;
  std::optional<Argument> reordered_reduction = {};
};

inline constexpr Condition tensor_intrin_is_known{
    "name_is_known", "there is no tensor intrin {}",
    "register it before, or use a built-in one, such as dot_16x4_vnni"};
inline constexpr Condition block_matches_intrin{
    "block_matches_intrin", "block {} doesn't match the tensor intrin {}: {}",
    "split, reorder, or lay out the buffers so that the tile is what the intrinsic describes"};
inline constexpr const Condition* tensorize_conditions[] = {
    &tensor_intrin_is_known, &nest_has_one_block, &nest_is_of_loops,     &space_is_divisible,
    &block_is_not_root,      &block_is_reduction, &block_matches_intrin, &step_keeps_results};

Planned<TensorizePlan> plan_tensorize(const Schedule& schedule,
                                      const TensorizeArguments& arguments);

/// for j, k in T.grid(16, 4):                 with T.block("C_o"):
///   with T.block("C"):              =>         c = T.match_buffer(C[...], (16,), "int32")
///     C[j] += A[k] * B[j, k]                   c[0:16] = vpdpbusd(c[0:16], a[0:4], b[0:16, 0:4])
///
/// The loops and blocks inside end. An init stays in the block around. Cannot fail.
Nothing commit_tensorize(Schedule& schedule, TensorizePlan&& plan);

inline constexpr Primitive tensorize(PrimitiveDefinition{
    .name = "tensorize",
    .past = "tensorized",
    .doc = "Puts the implementation of a tensor intrinsic in the place of what it describes.",
    .conditions = tensorize_conditions,
    .required = 2,
    .keeps_accesses = true,
    .plan = plan_tensorize,
    .commit = commit_tensorize,
});

}  // namespace loopsmith
