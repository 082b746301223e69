// SPDX-License-Identifier: Apache-2.0
// For tests only: programs drawn from a grammar of loop nests.
#pragma once
#include <cstdint>
#include <string>

#include "loopsmith/ir/function.h"

namespace loopsmith::schedule_testing {

/// Of what types loops and dimensions are.
enum class IndexTypes : std::uint8_t {
  int32,
  mixed,  ///< Some of 64 bits, beside constants of 32, as arrays from elsewhere have them.
};

/// A program as script: nests of up to four loops that stand beside and in each other, with blocks
/// and without. The same for the same seed. Few of them read what was not written, or leave a
/// buffer; for more there is the judge.
std::string random_script(std::uint64_t seed, IndexTypes types = IndexTypes::int32);

Ptr<PrimFunc> random_program(std::uint64_t seed, IndexTypes types = IndexTypes::int32);

}  // namespace loopsmith::schedule_testing
