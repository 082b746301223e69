// SPDX-License-Identifier: Apache-2.0
// What analyses have found out about a scheduled program, and is not looked for again.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "loopsmith/schedule/program_tree.h"

namespace loopsmith {

struct NestDependences;

/// Facts about a program, each as long as no step has made it doubtful.
class KnownFacts {
 public:
  /// What dependence analysis found out about the nest whose outermost loop is that node; null when
  /// there is nothing, or a step has changed the nest since.
  std::shared_ptr<const NestDependences> dependences(const ProgramTree& tree, NodeId nest) const;
  /// The same, which is then forgotten.
  std::shared_ptr<const NestDependences> take_dependences(const ProgramTree& tree, NodeId nest);
  /// Keeps what was found out about a nest as it is now.
  void keep_dependences(const ProgramTree& tree, NodeId nest,
                        std::shared_ptr<const NestDependences> facts);
  bool has_dependences() const { return !nests_.empty(); }

  /// True when iterations of a loop that runs them concurrently were found to be independent.
  bool has_independent_iterations(LoopRV loop) const;
  void set_independent_iterations(LoopRV loop, bool are_independent);

  /// Forgets all of it.
  void clear();

 private:
  /// A nest that was changed since is another statement.
  struct Nest {
    NodeId node;
    Stmt statement;
    std::shared_ptr<const NestDependences> facts;
  };

  std::vector<Nest> nests_;
  std::vector<std::uint32_t> independent_loops_;  ///< By the numbers of their handles.
};

}  // namespace loopsmith
