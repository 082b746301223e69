// SPDX-License-Identifier: Apache-2.0
// Calls of constants, where the result is exact.
#include <bit>
#include <cmath>
#include <optional>

#include "loopsmith/arith/simplifier.h"
#include "loopsmith/ir/math_functions.h"

namespace loopsmith::arith {
namespace {

/// The value of a function of one float where it is exact in every type; NaN where it may not be.
double exact_value(Op call, double x) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  const MathFunction* function = find_math_function(call);
  if (function && function->operands == Operands::numbers && function->of_one) {
    return function->of_one(x);  // It rounds to a whole number, or measures.
  }
  if (call == op("log2")) {
    int exponent = 0;
    const bool is_power = x > 0 && std::isfinite(x) && std::frexp(x, &exponent) == 0.5;
    return is_power ? exponent - 1 : unknown;
  }
  if (call == op("exp2")) {
    constexpr double largest = 8;  // 2^8 and 2^-8 are exact in every float but those of 8 bits.
    return x == std::trunc(x) && std::fabs(x) <= largest ? std::exp2(x) : unknown;
  }
  return unknown;
}

/// The bits of two numbers of one type, combined; nullopt: by another function.
std::optional<std::int64_t> combined_bits(Op call, std::int64_t a, std::int64_t b) {
  if (call == op("bitwise_and")) return a & b;
  if (call == op("bitwise_or")) return a | b;
  if (call == op("bitwise_xor")) return a ^ b;
  return std::nullopt;
}

}  // namespace

/// The constant that a call of constants gives; none where it is not known exactly.
Term Simplifier::fold_call(Op call, DataType type, std::span<const Term> arguments) {
  if (arguments.size() == 2) {
    const TermNode a = terms_[arguments[0]], b = terms_[arguments[1]];
    const bool is_constant = a.kind == Kind::constant && b.kind == Kind::constant;
    const auto bits = is_constant ? combined_bits(call, a.value, b.value) : std::nullopt;
    return bits ? terms_.constant(type, *bits) : Term::none;
  }
  if (arguments.size() != 1) return Term::none;
  const TermNode argument = terms_[arguments[0]];
  if (argument.kind == Kind::real && type == argument.type && type.bits >= 16) {
    const double value = exact_value(call, std::bit_cast<double>(argument.value));
    return std::isnan(value) ? Term::none : terms_.real(type, value);
  }
  if (argument.kind != Kind::constant) return Term::none;
  const int bits = argument.type.bits;
  const auto shifted = static_cast<std::uint64_t>(argument.value) << (64 - bits);
  if (call == op("popcount")) return terms_.constant(type, std::popcount(shifted));
  if (call == op("clz") && shifted != 0) return terms_.constant(type, std::countl_zero(shifted));
  return Term::none;
}

}  // namespace loopsmith::arith
