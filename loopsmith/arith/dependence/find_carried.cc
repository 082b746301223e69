// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/find_carried.h"

#include "loopsmith/arith/dependence/analysis.h"

namespace loopsmith {

std::optional<CarriedDependence> find_carried(
    const Stmt& root, std::span<const Ptr<Var>> loops,
    const std::function<bool(const CarriedDependence&)>& concerns, DependenceOptions options) {
  dependence::Analysis analysis(root, std::move(options));
  for (const Ptr<Var>& variable : loops) {
    const int loop = analysis.loop_of(variable);
    for (const dependence::Dependence& dependence : analysis.dependences()) {
      if (analysis.carrier(dependence) != loop) continue;
      CarriedDependence found = analysis.carried_by(dependence);
      if (!concerns(found)) continue;
      const DependenceAnswer answer = analysis.decide(dependence, {});
      if (answer.verdict == Verdict::proved) continue;
      found.is_certain = answer.verdict == Verdict::violated;
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace loopsmith
