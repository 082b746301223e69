// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "loopsmith/ir/function.h"
#include "loopsmith/runtime/argument.h"
#include "loopsmith/runtime/host_function.h"

namespace loopsmith::interp {

/// What a floating-point value is while a program runs.
enum class Mode {
  typed,  ///< A number of the program's type, to the bit.
  ring,   ///< An element of the field of 2^61 - 1, so that the order of a sum does not matter.
};

/// How a program is run, and when to give up.
struct Options {
  Mode mode = Mode::typed;
  /// Signed integers of 32 bits and more wrap; else their overflow is an error.
  bool wrap_overflow = false;
  /// Integer division by zero gives 0, as in compiled code; else it is an error.
  bool zero_division = false;
  bool check_races = true;
  /// Threads wait for each other where lowering will let them, in functions without blocks, too.
  bool implies_barriers = false;
  std::uint64_t seed = 0;  ///< Of the hashes of ring mode.
  std::int64_t max_statements = 20'000'000'000;
  std::int64_t max_bytes = std::int64_t{8} << 30;  ///< Of the memory that the program allocates.
  /// Called once in about a million statements; what it throws ends the run.
  std::function<void()> on_pause = {};
  /// What `call_extern`, `call_pure_extern` and `call_packed` call. In ring mode a pure function is
  /// a hash of its operands, unless all of them and its result are integers.
  HostFunctions functions = {};
};

/// What a run came to.
struct Outcome {
  std::int64_t statements = 0;  ///< Stores, evaluations and iterations of loops.
  DataType type = void_type;    ///< Of the value that was returned; void: none.
  std::int64_t integer = 0;     ///< The value; in ring mode also one of a floating-point type.
  double real = 0;
};

/// Runs `func` on `arguments`, one for each parameter: tensors, which are written in place, and
/// numbers. In ring mode tensors of floating-point types are given as uint64 elements of the field.
///
/// Throws an error of kind `interp` where the program does what it may not: an access out of
/// bounds, a read of what was never written, a race between parallel iterations, an overflow, a
/// division by zero, a failed assertion; and of kind `call` where the arguments do not fit.
Outcome run(const Ptr<PrimFunc>& func, std::span<const CallArgument> arguments,
            const Options& options = {});

/// The same for a function of a module, which may call the others.
Outcome run(const Ptr<IRModule>& module, std::string_view name,
            std::span<const CallArgument> arguments, const Options& options = {});

}  // namespace loopsmith::interp
