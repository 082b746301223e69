// SPDX-License-Identifier: Apache-2.0
// Complete blocks and reduction blocks, and which of their instances run.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/schedule/queries/scope_accesses.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// For each kind of block, the number of the first of its conditions that the block violates, as
/// messages give it; 0 when it is of that kind.
struct BlockKinds {
  int breaks_complete = 0;
  int breaks_reduction = 0;

  bool is_complete() const { return breaks_complete == 0; }
  bool is_reduction() const { return breaks_reduction == 0; }
  /// A reduction that may also read other elements of its outputs.
  bool is_reduction_in_place() const { return breaks_reduction == 0 || breaks_reduction == 5; }
};

/// True when the block reads a buffer that it writes. One that does not is no reduction.
bool reads_what_it_writes(const Block& block);

/// The kinds of a block, given the accesses of its scope.
BlockKinds kinds_of(const Schedule& schedule, BlockRV block, const ScopeAccesses& uses);

inline constexpr Condition block_is_not_root{"block_is_not_root",
                                             "the primitive does not operate on the root block {}",
                                             "pass a block inside it"};
inline constexpr Condition block_is_complete{
    "block_is_complete", "block {} is not a complete block - it violates condition #{}",
    "a complete block (1) has spatial axes only, (2) is the only writer of its outputs in its "
    "scope, "
    "(3) reads nothing that it writes, (4) writes other elements for other values of its axes"};
inline constexpr Condition block_is_reduction{
    "block_is_reduction", "block {} is not a reduction block - it violates condition #{}",
    "a reduction block (1) has an init that reads none of its outputs, and writes what is updated, "
    "(2) has spatial and reduction axes only, (3) is the only writer of its outputs in its scope, "
    "(4) writes other elements for "
    "other values of its spatial "
    "axes, and combines what it finds there for those of the others, (5) reads no other elements "
    "of its outputs"};
inline constexpr Condition block_is_complete_or_reduction{
    "block_is_complete_or_reduction",
    "block {} is neither a complete block - it violates condition #{} - nor a reduction block - it "
    "violates condition #{}",
    "a complete block has spatial axes only, a reduction block an init; both are the only writers "
    "of their outputs in their scope, and their axes identify these"};
inline constexpr Condition instances_are_known{
    "instances_are_known", "which instances of block {} run is not understood, as {}",
    "let its bindings be sums of whole loops, its conditions comparisons of its axes"};

/// The instances of a block that run under all loops of its scope: those in the domains of its
/// axes for which `conditions`, which are about the axes, hold.
struct Instances {
  std::vector<Expr> conditions;
  std::string unknown;  ///< Why they are not known; empty when they are.
};
Instances instances_of(const Schedule& schedule, BlockRV block);

}  // namespace loopsmith
