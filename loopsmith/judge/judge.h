// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "loopsmith/ir/function.h"

namespace loopsmith::judge {

/// In which order the iterations of a loop run that run concurrently: loops that are parallel, or
/// bound to threads. Those that are bound to a reduction with an init are combined in their own
/// way, and run in order; so do vectorized loops.
enum class Order : std::uint8_t { forward, backward, shuffled };

struct RunOptions {
  Order order = Order::forward;
  std::uint64_t seed = 0;               ///< Of the shuffles.
  std::int64_t max_steps = 10'000'000;  ///< Statements and iterations, so that nothing hangs.
  std::int64_t max_elements = 1'000'000;
};

/// An argument: the elements of a tensor, compact and row-major, or a number; as the bits of
/// Scalars.
struct JudgeArgument {
  std::vector<std::int64_t> shape = {};
  std::vector<std::int64_t> elements = {};  ///< Of a number: itself.
};

enum class Ending : std::uint8_t {
  ran,
  failed,      ///< It did what no program may do.
  cannot_say,  ///< It has something that the judge does not know, or takes too long.
};

/// A value: an integer of its type as 64 bits, unsigned ones as their bits, or for floating-point
/// types an element of the field of 2^61 - 1. A poison comes from memory never written; its bits
/// say nothing.
struct Scalar {
  std::int64_t bits = 0;
  bool is_poison = false;

  bool operator==(const Scalar&) const = default;
};

/// What a tensor was left as.
struct JudgedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<Scalar> elements;
};

struct JudgeResult {
  Ending ending = Ending::ran;
  std::string message = {};  ///< What it did, or what is not known.
  std::vector<JudgedTensor> tensors = {};
  std::int64_t steps = 0;
  bool runs_concurrently = false;  ///< It has a loop of which the order may matter.
  bool overflows = false;          ///< A signed integer of 32 bits or more did.
};

/// Runs `func` on one argument for each parameter. It walks over the tree and does what each
/// statement says, no more; nothing of what the compiler knows of programs takes part.
JudgeResult run(const PrimFunc& func, std::span<const JudgeArgument> arguments,
                const RunOptions& options = {});

enum class Sameness : std::uint8_t { same, different, cannot_say };

struct Judgement {
  Sameness sameness = Sameness::same;
  std::string reason = {};  ///< The first difference, or why nothing can be said.
};

/// Whether `after` leaves in the tensors of arguments what `before` does, in each order (`seed`: of
/// shuffles). Nothing is said where `before` fails, or of what it overflows in or does not define.
Judgement same(const PrimFunc& before, const PrimFunc& after,
               std::span<const JudgeArgument> arguments, std::uint64_t seed);

}  // namespace loopsmith::judge
