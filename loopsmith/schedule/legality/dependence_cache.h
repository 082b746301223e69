// SPDX-License-Identifier: Apache-2.0
// Results of dependence analysis for a loop nest, cached between the steps of a schedule.
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

/// A kind of query about the dependences of a nest.
enum class DependenceQuery : std::uint8_t {
  carried_in_threads,
  carried_in_lanes,
  carried_in_blocks,
  carried_in_block_threads,
  order,
  merge,
};

/// A query about loops, given by their variables, and its answer.
struct CachedAnswer {
  DependenceQuery question;
  std::vector<Ptr<Var>> loops;
  CarriedDependences answer;
};

/// The known dependences of one version of a nest. Immutable once cached: copies of a schedule
/// share it.
struct NestDependences {
  DistanceTable distances;
  std::vector<Ptr<Var>> controlled;  ///< Loops with control dependences between iterations.
  std::vector<CachedAnswer> answers;
};

/// The outermost loop around a node, or the node itself: the unit of dependence analysis.
NodeId whole_nest(const Schedule& schedule, NodeId node);

/// The answer to a query, if it is in the cache or follows from the dependence distances, which
/// steps keep up to date.
std::optional<CarriedDependences> cached_answer(const Schedule& schedule, NodeId nest,
                                                DependenceQuery question,
                                                const std::vector<Ptr<Var>>& loops);

/// Caches an answer about the nest, and the distances that its analysis found.
void cache_answer(const Schedule& schedule, NodeId nest, const Dependences& dependences,
                  const CachedAnswer& answer);

/// Updates the cached dependences of a nest across a step that changes its loops but no access:
/// construct it before the change, describe the change, then call `keep`. Without `keep` the cached
/// entries are dropped.
class DependenceUpdate {
 public:
  /// For the nest around a node.
  DependenceUpdate(Schedule& schedule, NodeId inside);

  /// A loop becomes several, outermost first.
  void split(const For& loop, std::span<const For> parts);
  /// Loops, outermost first, become one.
  void fuse(std::span<const LoopRV> loops, const Ptr<Var>& fused);
  /// Loops come to stand in this order, and all dependences keep theirs.
  void reorder(std::span<const For> order);

  /// Drops answers about vector lanes, which change when a loop becomes concurrent.
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
