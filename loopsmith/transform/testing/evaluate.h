// SPDX-License-Identifier: Apache-2.0
// A small, slow evaluator of any stage of lowering, so that tests can ask whether a pass keeps what
// a program computes. Integers are exact in 64 bits; floats are computed in double.
#pragma once
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "loopsmith/ir/function.h"

namespace loopsmith::testing {

/// What a parameter gets: elements for a tensor (row-major), a number for a scalar.
struct Argument {
  std::vector<std::int64_t> shape = {};
  std::vector<double> elements = {};
  std::int64_t scalar = 0;

  bool operator==(const Argument&) const = default;
};

/// Why a program cannot be evaluated: an access out of bounds, a read before a write, a signed
/// integer of 32 bits or more that overflows, a node that is not known.
struct EvaluationError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Runs `func` on `arguments`, in place. Loops run in order, whatever their kind; the lanes of a
/// vector are computed before any is stored.
void evaluate(const PrimFunc& func, std::span<Argument> arguments);

}  // namespace loopsmith::testing
