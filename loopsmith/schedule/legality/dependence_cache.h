// SPDX-License-Identifier: Apache-2.0
// What dependence analysis found out about a nest of loops, kept between the steps of a schedule.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "loopsmith/arith/dependence/distance_table.h"
#include "loopsmith/schedule/legality/order_answer.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

class Dependences;

/// What is asked of the dependences of a nest.
enum class DependenceQuery : std::uint8_t {
  carried_in_threads,
  carried_in_lanes,
  carried_in_blocks,
  carried_in_block_threads,
  order,
  merge,
};

/// A question about loops, by their variables, and its answer.
struct CachedAnswer {
  DependenceQuery question;
  std::vector<Ptr<Var>> loops;
  CarriedDependences answer;
};

/// What is known of a nest, as it is. Immutable once a schedule has it: copies share it.
struct NestDependences {
  Stmt nest;
  DistanceTable distances;
  std::vector<Ptr<Var>> controlled;  ///< Loops whose iterations are up to earlier ones.
  std::vector<CachedAnswer> answers;
};

/// The outermost loop around a node, or the node: what has all dependences that it takes part in.
NodeId whole_nest(const Schedule& schedule, NodeId node);

/// The answer about loops of the nest, if it is known: it was asked before, or follows from the
/// distances that steps have kept.
std::optional<CarriedDependences> cached_answer(const Schedule& schedule, NodeId nest,
                                                DependenceQuery question,
                                                const std::vector<Ptr<Var>>& loops);

/// Keeps an answer about the nest, and what else its analysis found.
void cache_answer(const Schedule& schedule, NodeId nest, const Dependences& dependences,
                  const CachedAnswer& answer);

/// Carries what is known of a nest over a step that changes its loops and no access: made before
/// the change, told of it, and kept after it. Without `keep`, what was known is forgotten.
class DependenceUpdate {
 public:
  /// Of the nest around a node.
  DependenceUpdate(Schedule& schedule, NodeId inside);

  /// A loop becomes several, outermost first.
  void split(const For& loop, std::span<const For> parts);
  /// Loops, outermost first, become one.
  void fuse(std::span<const LoopRV> loops, const Ptr<Var>& fused);
  /// Loops come to stand in this order, and all dependences keep theirs.
  void reorder(std::span<const For> order);

  /// What goes in step with a loop is another question once that runs at once.
  void forget_lanes();
  /// The change is done.
  void keep();

 private:
  void forget_answers_about(const Ptr<Var>& loop);
  void restate_witnesses(const For& loop, std::span<const For> parts,
                         const std::vector<std::int64_t>& weights);

  Schedule& schedule_;
  NodeId nest_ = no_node;
  std::optional<NestDependences> facts_;
};

}  // namespace loopsmith
