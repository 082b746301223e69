// SPDX-License-Identifier: Apache-2.0
// Loops that carry one value from each iteration to the next: x[i + 1] = a(i) * x[i] + b(i).
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/ir/accumulation.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// How a store makes the next value of the one before, `state`.
struct Recurrence {
  std::size_t statement = 0;   ///< Which of the body's it is.
  Ptr<Buffer> buffer;          ///< What holds the values.
  std::vector<Expr> indices;   ///< Where an iteration stores its value.
  std::vector<Expr> previous;  ///< Where it finds the one before.
  bool is_in_place = false;    ///< All values are kept in one element, which is read, too.
  Ptr<Var> state;              ///< The value before, in what follows.
  Expr value;                  ///< The next one.
  /// `combine(state, operand)`, or `factor * state + operand`.
  std::optional<Combiner> combiner;
  Expr factor;
  Expr operand;
};

/// What iterations of a beginning of the loop do, and the others do not: the body of a loop that a
/// split has left may have such a condition around it.
struct GuardedBody {
  Expr guard;  ///< Null where all iterations run.
  Stmt body;
};

GuardedBody body_of_beginning(const For& loop);

/// The statements of a body as stores; those in blocks without inits and conditions, with
/// their axes replaced by what they are bound to. Nullopt where there is anything else.
std::optional<std::vector<Stmt>> stores_of(const Stmt& body);

/// The first store in the loop that takes over a value of the iteration before; its operation is
/// left open where it is neither associative nor linear.
std::optional<Recurrence> recurrence_of(const For& loop, const std::vector<Stmt>& stores);

/// `expr` with the load of the value before replaced.
Expr with_state(const Expr& expr, const Recurrence& recurrence, const Expr& state);

}  // namespace loopsmith
