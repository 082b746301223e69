// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string_view>

#include "loopsmith/ir/op.h"

namespace loopsmith {

/// What an element-wise function of numbers is, wherever it is computed: a row of the table in
/// math_functions.cc. What no target has an instruction or a library for is expanded into
/// polynomials before code is generated (transform/lower_math.h).
struct MathFunction {
  Op op;
  double (*of_one)(double) = nullptr;          ///< The function in double; for one operand.
  double (*of_two)(double, double) = nullptr;  ///< The same for two.
  bool keeps_integers = false;                 ///< It gives an integer as it is.
  /// C's function of doubles, and LLVM's intrinsic, of what generated code leaves to them.
  std::string_view c = {};
  std::string_view llvm = {};
};

/// The row of an intrinsic; null of what is no such function.
const MathFunction* find_math_function(Op op);

std::span<const MathFunction> all_math_functions();

}  // namespace loopsmith
