// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/known_facts.h"

#include <algorithm>

namespace loopsmith {

std::shared_ptr<const NestDependences> KnownFacts::dependences(const ProgramTree& tree,
                                                               NodeId nest) const {
  for (const Nest& known : nests_) {
    if (known.node == nest && known.statement.get() == tree.at(nest).object) return known.facts;
  }
  return nullptr;
}

std::shared_ptr<const NestDependences> KnownFacts::take_dependences(const ProgramTree& tree,
                                                                    NodeId nest) {
  std::shared_ptr<const NestDependences> taken = dependences(tree, nest);
  if (taken) std::erase_if(nests_, [&](const Nest& known) { return known.node == nest; });
  return taken;
}

void KnownFacts::keep_dependences(const ProgramTree& tree, NodeId nest,
                                  std::shared_ptr<const NestDependences> facts) {
  std::erase_if(nests_, [&](const Nest& known) {
    return known.node == nest || known.statement.get() != tree.at(known.node).object;
  });
  nests_.push_back({nest, tree.statement(nest), std::move(facts)});
}

bool KnownFacts::has_independent_iterations(LoopRV loop) const {
  return std::ranges::find(independent_loops_, loop.index) != independent_loops_.end();
}

void KnownFacts::set_independent_iterations(LoopRV loop, bool are_independent) {
  if (has_independent_iterations(loop) == are_independent) return;
  if (are_independent) {
    independent_loops_.push_back(loop.index);
  } else {
    std::erase(independent_loops_, loop.index);
  }
}

void KnownFacts::clear() {
  nests_.clear();
  independent_loops_.clear();
}

}  // namespace loopsmith
