// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// A call of a function: what its derivatives are made of.
struct FunctionCall {
  const std::vector<Expr>& args;
  const Expr& value;  ///< The call itself.

  const Expr& x() const { return args[0]; }
  const Expr& y() const { return args[1]; }
};

/// What a function takes.
enum class Operands : std::uint8_t { numbers, integers, floats };

/// Whether a call is worth its first argument, of which it says something.
enum class Identity : std::uint8_t {
  none,
  plain,
  precise,  ///< And the argument is computed as written, whatever `fast_math` allows elsewhere.
};

/// A function of numbers, lane by lane, wherever it is computed: a row of the table in
/// math_functions.cc. Its operands have one type, which is that of the result where the intrinsic's
/// row says so. What no target has an instruction or a library for is expanded into polynomials
/// before code is generated (transform/lower_math.h).
struct MathFunction {
  Op op;
  Operands operands = Operands::numbers;
  std::string_view doc = {};  ///< What it computes: one sentence on `x`, `y`, `z`.
  bool is_mixed = false;      ///< Operands after the first may be numbers of other types.
  Identity identity = Identity::none;
  double (*of_one)(double) = nullptr;          ///< The function in double; for one operand.
  double (*of_two)(double, double) = nullptr;  ///< The same for two.
  /// The derivatives by each operand, of floating-point numbers; see `partial_derivatives`.
  std::vector<Expr> (*partials)(const FunctionCall&) = nullptr;
  /// C's function of doubles, and LLVM's intrinsic, of what generated code leaves to them.
  std::string_view c = {};
  std::string_view llvm = {};
};

/// The row of an intrinsic; null of what is no such function.
const MathFunction* find_math_function(Op op);

/// What the row says of a call's worth; `none` without a row.
Identity identity_of(Op op);

std::span<const MathFunction> all_math_functions();

/// The partial derivatives of a call of an intrinsic by its arguments, one each; null where it is
/// 0. Nothing for an intrinsic that has none, as it is no function of numbers, or is not known.
/// Where a function has no derivative, at a jump or a kink, one from either side is given.
std::optional<std::vector<Expr>> partial_derivatives(const Expr& call);

}  // namespace loopsmith
