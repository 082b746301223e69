// SPDX-License-Identifier: Apache-2.0
// What the law of legality asks of a step.
#pragma once
#include <cstdint>
#include <string_view>

namespace loopsmith {

/// What has to hold of two programs for the one to compute what the other does.
enum class LegalityQuestion : std::uint8_t {
  order,        ///< Accesses that conflict keep their order.
  cover,        ///< What is read was computed before.
  repeat,       ///< What runs more than once does the same each time.
  leave_out,    ///< What does not run any more is not needed.
  add,          ///< What runs only now changes nothing.
  coherence,    ///< A copy holds what its original would.
  concurrency,  ///< Iterations that run concurrently do not conflict.
  regroup,      ///< Partial results are read by no statement before they are combined.
  understood,   ///< The instances of both programs are known.
};

std::string_view name_of(LegalityQuestion question);

}  // namespace loopsmith
