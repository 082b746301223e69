// SPDX-License-Identifier: Apache-2.0
// Which candidates of a search come next: each strategy makes a batch.
#pragma once
#include <vector>

#include "loopsmith/tune/search/search.h"
#include "loopsmith/tune/search/strategy.h"

namespace loopsmith::tune {

/// Breeds candidates of the quickest that were measured, and of those that a model likes best.
///
/// For each batch, a pool is what was left of the last one, or drawn of the space, bred of the
/// quickest that were measured, and for a second generation of those of the pool that are predicted
/// to be quickest: by a change of one decision, or a cross of two.
std::vector<Candidate> evolutionary(Search& search);

/// Walks from candidate to candidate, ever less often to one that is predicted to be slower.
///
/// Simulated annealing (Kirkpatrick, Gelatt, Vecchi, 1983) of the logarithm of the predicted time.
/// For each batch, walkers start at the quickest that were measured, or anywhere. Each step changes
/// one decision, and is taken with `chance_of`, whose temperature falls. The pool is all that was
/// seen, and what was left of the last one.
std::vector<Candidate> annealed(Search& search);
/// The chance that a step is taken between predicted times: 1 where it leads to no longer one, else
/// exp(-d / temperature), where d is by how much the logarithm grows.
double chance_of(double here, double there, double temperature);

/// Draws of the whole space, and prefers none.
std::vector<Candidate> at_random(Search& search);

/// What makes the batches of a strategy.
Search::NextCandidates candidates_by(Strategy strategy);

}  // namespace loopsmith::tune
