// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/queries/index_form.h"
#include "loopsmith/schedule/rewrites/inline_value.h"
#include "loopsmith/schedule/rewrites/places.h"

namespace loopsmith {

struct RollingBufferArguments {
  BlockRV block;
  std::int64_t write_buffer_index = 0;

  static constexpr std::tuple parameters{
      Parameter{"block", &RollingBufferArguments::block},
      Parameter{"write_buffer_index", &RollingBufferArguments::write_buffer_index,
                "Which of the buffers that the block writes."}};
};

/// Of a dimension, this many elements are kept.
struct RingSide {
  std::size_t dimension = 0;
  std::int64_t extent = 0;
};

struct RollingBufferPlan {
  std::vector<BlockRV> blocks;  ///< The producer, then its consumers.
  Ptr<Buffer> buffer;
  std::vector<LoopRV> loops;    ///< Those that roll, outermost first.
  std::vector<RingSide> sides;  ///< What iterations still need of the dimensions that they roll.
  Expr is_new;                  ///< What no iteration before has computed, in terms of loops.
};

inline constexpr Condition rolling_pattern_is_found{
    "rolling_pattern_is_found", "{} has no rolling pattern, as {}",
    "tile a consumer, then compute_at the block inside a serial loop whose iterations overlap"};
inline constexpr const Condition* rolling_buffer_conditions[] = {
    &block_is_not_root,        &number_is_in_range,
    &block_is_no_output,       &block_is_complete_or_reduction,
    &block_has_consumers,      &readers_read_elements,
    &rolling_pattern_is_found, &step_keeps_results};

/// The buffer of that number that a block writes, an intermediate one.
std::variant<Ptr<Buffer>, Refusal> buffer_to_roll(const Schedule& schedule, BlockRV block,
                                                  std::int64_t write_buffer_index);

/// The constant by which `a` is larger than `b`; nullopt when they differ in more.
std::optional<std::int64_t> constant_difference(const IndexForms& forms, const Expr& a,
                                                const Expr& b);

/// Runs of the producer only what `is_new` says.
void leave_out_old(Schedule& schedule, const RollingBufferPlan& plan);
/// Keeps a buffer in a ring along each dimension of `sides`.
void fold_into_ring(Schedule& schedule, const RollingBufferPlan& plan);

Planned<RollingBufferPlan> plan_rolling_buffer(const Schedule& schedule,
                                               const RollingBufferArguments& arguments);

/// for i_0:                                    for i_0:
///   for ax in 10: B[i_0*8 + ax] = ...           for ax in 10: if i_0 < 1 or 2 <= ax:
///   for i: C[i] = B[i] + B[i + 2]         =>      B[(i_0*8 + ax) % 10] = ...
///                                               for i: C[i] = B[i % 10] + B[(i + 2) % 10]
///
/// The buffer keeps what one iteration of the outermost such loop needs; what two need, of it or of
/// those inside it, is computed once. Where consumers lag behind, as `reverse_compute_at` puts
/// them, nothing is computed twice, and the buffer keeps what they still read:
///
/// for i:                                      for i:
///   B[i] = ...                                  B[i % 3] = ...
///   if 2 <= i: C[i - 2] = B[i - 2] + B[i] =>    if 2 <= i: C[i - 2] = B[(i - 2) % 3] + B[i % 3]
///
/// Cannot fail.
Nothing commit_rolling_buffer(Schedule& schedule, RollingBufferPlan&& plan);

inline constexpr Primitive rolling_buffer(PrimitiveDefinition{
    .name = "rolling_buffer",
    .past = "rolled",
    .doc = "Keeps of an intermediate buffer what one iteration needs, and computes nothing twice.",
    .conditions = rolling_buffer_conditions,
    .required = 2,
    .plan = plan_rolling_buffer,
    .commit = commit_rolling_buffer,
});

}  // namespace loopsmith
