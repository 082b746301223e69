// SPDX-License-Identifier: Apache-2.0
// The two nests that rfactor makes of one.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "loopsmith/arith/reducers.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/refusal.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// A block in its nest.
struct FactoredNest {
  BlockRV block;
  std::span<const LoopRV> path;     ///< The loops that get copies, from the outermost.
  std::span<const LoopRV> dropped;  ///< Those bound to the rest of the reduction.
};

/// Copies of the loops of the path around what `block` makes of them, in terms of their
/// variables.
Stmt nest_of_partial_results(const Schedule& schedule, const FactoredNest& factored,
                             const std::function<std::string(std::string_view)>& fresh_name,
                             const std::function<Stmt(const Substitution&)>& block);

/// A statement that takes the place of another one.
struct Exchange {
  NodeId old;
  Stmt by;
};

/// The loops right around the block, without those bound to the rest of the reduction, around
/// `inner`; up to the outermost of the path, or to what holds others, too.
Exchange nest_of_combination(const Schedule& schedule, const FactoredNest& factored, Stmt inner);

/// Refuses partial results of an accumulation that the block does not start, where others may come
/// between its updates.
///
/// Theorem. Let U(x, k, r) be the updates C[x] = C[x] + e, k the loop that is factored and r the
/// loops of the rest of the reduction. Each is P: V[x, k, r] = e and then U': C[x] = C[x] + V[x, k,
/// r], where V is memory of its own; that is an equality of one instance. If the law allows all P
/// in a nest before the old one, and there the loops over r right around U', then for each x and k
/// all r are combined in a row: C[x] = C[x] + (V[x, k, r1] + V[x, k, r2] + ...), and what is in
/// parentheses is the partial result that starts with what is neutral, as each P comes before.
std::optional<Refusal> refuse_updates_in_parts(const Schedule& schedule,
                                               const FactoredNest& factored,
                                               const KnownReduction& reduction);

}  // namespace loopsmith
