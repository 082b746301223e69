// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "loopsmith/ir/function.h"

namespace loopsmith::judge {

/// In which order the iterations of a loop run that run at once: loops that are parallel, or bound
/// to threads. Those that are bound to a reduction with an init are combined in their own way, and
/// run in order; so do vectorized loops.
enum class Order : std::uint8_t { forward, backward, shuffled };

struct RunOptions {
  Order order = Order::forward;
  std::uint64_t seed = 0;  ///< Of the shuffles.
  /// Statements and iterations, so that nothing hangs.
  std::int64_t max_steps = 10'000'000;
  std::int64_t max_elements = 1'000'000;
};

/// An argument: the elements of a tensor, compact and row-major, or a number. Integers as they are,
/// unsigned ones by their bits, floating-point values as elements of the field of 2^61 - 1.
struct JudgeArgument {
  std::vector<std::int64_t> shape = {};
  std::vector<std::int64_t> elements = {};  ///< Of a number: itself.
};

enum class Ending : std::uint8_t {
  ran,
  failed,      ///< It did what no program may do.
  cannot_say,  ///< It has something that the judge does not know, or takes too long.
};

/// What an argument was left as.
struct JudgedTensor {
  std::string name;
  std::vector<std::int64_t> shape = {};
  std::vector<std::int64_t> elements = {};
  std::vector<bool> is_undefined = {};  ///< It was computed from memory that was never written.
};

struct JudgeResult {
  Ending ending = Ending::ran;
  std::string message = {};  ///< What it did, or what is not known.
  std::vector<JudgedTensor> tensors = {};
  std::int64_t steps = 0;
  bool runs_concurrently = false;  ///< It has a loop of which the order may matter.
};

/// Runs `func` on one argument for each parameter. It walks over the tree and does what each
/// statement says, no more; nothing of what the compiler knows of programs takes part.
JudgeResult run(const PrimFunc& func, std::span<const JudgeArgument> arguments,
                const RunOptions& options = {});

/// Random arguments for a function, whose sizes are `sizes`, in the order of their first use, from
/// the front again when they are more. Signed integers are small, so that they do not overflow.
std::vector<JudgeArgument> draw_arguments(const PrimFunc& func, std::span<const std::int64_t> sizes,
                                          std::uint64_t seed);

enum class Sameness : std::uint8_t { same, different, cannot_say };

struct Judgement {
  Sameness sameness = Sameness::same;
  std::string reason = {};  ///< The first difference, or why nothing can be said.
};

/// Whether `after` leaves in the tensors of arguments what `before` does: on arguments of each of
/// the seeds, in each order. Where `before` fails, or leaves what is not defined, nothing is said.
Judgement same(const PrimFunc& before, const PrimFunc& after, std::span<const std::int64_t> sizes,
               std::span<const std::uint64_t> seeds);

}  // namespace loopsmith::judge
