// SPDX-License-Identifier: Apache-2.0
// Outer loops on several threads.
#pragma once
#include "loopsmith/rules/plain_loops/machine.h"
#include "loopsmith/rules/plain_loops/steps.h"

namespace loopsmith::plain_loops {

/// Cuts a loop that is all of its nest into chunks for threads; gives the loop of one chunk, or the
/// loop itself where it has too little to do.
LoopRV chunk_for_threads(Steps& steps, LoopRV loop, const Machine& machine);

/// Sizes that are known at run time only, from which on a nest should run in threads.
struct LeastSizes {
  std::vector<LoopRV> loops;        ///< Those that have them, the nest itself first or none.
  std::vector<std::int64_t> least;  ///< How often each runs.
};

/// From which sizes on a nest that has too little to do for threads at guessed ones has enough; no
/// loops where its sizes are known, or more of them are open than the model can tell.
LeastSizes least_sizes_for_threads(const Steps& steps, LoopRV nest, const Machine& machine);

/// Runs the outermost loops of a nest that dependences allow, and that have enough to do, on
/// several threads. Sums stay in their order: what a program computes does not depend on how many
/// threads there are.
void parallelize(Steps& steps, LoopRV loop, const Machine& machine);

}  // namespace loopsmith::plain_loops
