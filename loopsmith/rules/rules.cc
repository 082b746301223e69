// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/rules.h"

#include "loopsmith/rules/plain_loops/schedule_plain_loops.h"
#include "loopsmith/rules/schedule_elementwise.h"
#include "loopsmith/rules/schedule_rows.h"
#include "loopsmith/rules/schedule_whole_reduction.h"

namespace loopsmith {

std::span<const Rule> all_rules() {
  // A subject belongs to the first rule that takes it. What none takes is turned into loops by
  // `make_loops`: nests that share rows, as in softmax; reductions across rows, or of sizes that
  // are no constants; products and convolutions; transpositions, clamped borders, and outputs that
  // go past the caches.
  static constexpr Rule rules[] = {
      {"elementwise", schedule_elementwise},
      {"whole_reduction", schedule_whole_reduction},
      {"rows", schedule_rows},
      {"plain_loops", schedule_plain_loops},
  };
  return rules;
}

}  // namespace loopsmith
