// SPDX-License-Identifier: Apache-2.0
// Programs on the interpreter with numbers in and out, so that tests can ask whether a pass keeps
// what a program computes.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "loopsmith/ir/function.h"

namespace loopsmith::testing {

/// What a parameter gets: elements for a tensor (row-major), a number for a scalar.
struct TestArgument {
  std::vector<std::int64_t> shape = {};
  std::vector<double> elements = {};
  std::int64_t scalar = 0;

  bool operator==(const TestArgument&) const = default;
};

/// Runs `func` on `arguments`, in place, with all that the interpreter checks.
void evaluate(const Ptr<PrimFunc>& func, std::span<TestArgument> arguments);

}  // namespace loopsmith::testing
