// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/dependence_answers.h"

namespace loopsmith {
namespace {

Witness::Iteration iteration_of(const ConflictSide& side) {
  Witness::Iteration made{.loops = {}, .writes = side.writes};
  for (const auto& [var, value] : side.iteration) made.loops.emplace_back(var->name, value);
  return made;
}

}  // namespace

std::optional<Witness> witness_of(const DependenceAnswer& found) {
  if (!found.witness) return {};
  return Witness{.first = iteration_of(found.witness->first),
                 .second = iteration_of(found.witness->second),
                 .buffer = found.witness->buffer->name,
                 .element = found.witness->element};
}

OrderAnswer answer_of(const DependenceAnswer& found) {
  switch (found.verdict) {
    case Verdict::proved: return {.kind = OrderAnswer::Kind::proved};
    case Verdict::unknown: return {.kind = OrderAnswer::Kind::unknown, .why = found.reason};
    case Verdict::violated: break;
  }
  return {.kind = OrderAnswer::Kind::violated, .witness = witness_of(found), .why = found.reason};
}

}  // namespace loopsmith
