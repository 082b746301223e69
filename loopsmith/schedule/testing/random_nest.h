// SPDX-License-Identifier: Apache-2.0
// For tests only: programs of the grammar of loop nests, and what random steps make of them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "loopsmith/ir/function.h"

namespace loopsmith::schedule_testing {

/// What is to run the program.
enum class Machine : std::uint8_t {
  processor,  ///< Loops become parallel, vectorized or unrolled.
  gpu,        ///< Loops become blocks and threads, too.
};

/// A program and its schedule.
struct RandomNest {
  std::uint64_t seed;
  Ptr<PrimFunc> before;
  Ptr<PrimFunc> after;  ///< As it leaves the schedule.
  std::string trace;    ///< The steps.

  /// What reproduces it.
  std::string text() const;
};

/// A program under some steps of any primitive, then steps for loops that run concurrently: what
/// lowering makes most of. The same for the same seed. Nullopt where the program itself may not
/// run, or is not to be lowered after these steps: as its parameters are others, it has
/// obligations, or threads and no GPU.
std::optional<RandomNest> random_nest(std::uint64_t seed, Machine machine = Machine::processor);

/// True for complaints of the interpreter about memory and sums that no result needs: of what no
/// result uses, less may be stored than was; sums of parts may be too large.
bool is_of_no_result(const std::string& complaint);

}  // namespace loopsmith::schedule_testing
