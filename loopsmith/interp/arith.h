// SPDX-License-Identifier: Apache-2.0
// What operators do, for each type: handlers that read `a` (and `b`, `c`) and write `d`.
#pragma once
#include <optional>

#include "loopsmith/interp/code.h"
#include "loopsmith/interp/interp.h"

namespace loopsmith::interp {

/// The handler of a binary node (Add, ..., GE, And, Or) on operands of type `operand`; null if
/// there is none.
Handler binary_handler(std::uint16_t kind, DataType operand, const Options& options);

/// The handlers of Not, of Select, and of a conversion.
Handler not_handler(DataType type);
Handler select_handler(DataType type);
Handler cast_handler(DataType from, DataType to, const Options& options);

/// base, base + stride, ...
Handler ramp_handler(DataType type, const Options& options);
/// Copies lanes.
Handler copy_handler(int lanes);

/// The handler of an intrinsic that works lane by lane, and what its instruction takes along.
struct Intrinsic {
  Handler handler = nullptr;
  double (*function)(double) = nullptr;
  double (*function2)(double, double) = nullptr;
};
Intrinsic intrinsic(Op op, DataType operand, DataType result, const Options& options);

/// Whether an integer of `type` may not overflow unnoticed.
inline bool is_checked(DataType type, const Options& options) {
  return type.is_index() && !options.wrap_overflow;
}

}  // namespace loopsmith::interp
