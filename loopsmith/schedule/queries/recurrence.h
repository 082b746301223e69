// SPDX-License-Identifier: Apache-2.0
// Loops that carry values from each iteration to the next: x[i + 1] = a(i) * x[i] + b(i).
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// A value that an iteration takes over from the one before.
struct CarriedValue {
  Ptr<Buffer> buffer;          ///< What holds the values.
  std::vector<Expr> indices;   ///< Where an iteration stores its value.
  std::vector<Expr> previous;  ///< Where it finds the one before.
  Ptr<Var> state;              ///< The value before, in `value` of all that are carried.
  Expr value;                  ///< The next one.
  bool is_unset = false;       ///< Nothing has stored a value before the first iteration.
};

/// What iterations that follow each other do to the values they carry, told by a few numbers,
/// whatever count of iterations it is. Joining is associative.
struct Composition {
  using Numbers = std::vector<Expr>;
  using Join = std::function<Numbers(const Numbers& first, const Numbers& then)>;

  std::vector<Ptr<Buffer>> named_after;  ///< Whose name and type each number gets.
  Numbers identity;                      ///< Of no iterations.
  Numbers iteration;                     ///< Of one, in terms of the loop's variable.
  Join joined;            ///< Of those that `first` tells, and then those that `then` tells.
  Join applied;           ///< What values, `first`, are after the iterations that `then` tells.
  bool commutes = false;  ///< Joining commutes, too.
  bool rounds = false;    ///< Joined in another order, numbers are rounded otherwise.
};

/// How stores make the next values of those before.
struct Recurrence {
  std::size_t statement = 0;          ///< The first of these stores in the body.
  std::vector<CarriedValue> carried;  ///< One for each store, which follow each other.
  bool is_in_place = false;           ///< All values are kept in one element, which is read, too.
  std::optional<Composition> composition;

  bool has(std::size_t store) const {
    return store >= statement && store < statement + carried.size();
  }
};

/// What iterations of a beginning of the loop do, and the others do not: the body of a loop that a
/// split has left may have such a condition around it.
struct GuardedBody {
  Expr guard;  ///< Null where all iterations run.
  Stmt body;
};

GuardedBody body_of_beginning(const For& loop);

/// A body that is a sequence of stores.
struct StoredBody {
  std::vector<Stmt> stores;
  Ptr<CommReducer> reducer;  ///< That a block around some of them declares; or null.
};

/// The statements of a body as stores; those in blocks without inits and conditions, with
/// their axes replaced by what they are bound to. Nullopt where there is anything else.
std::optional<StoredBody> stored_body_of(const Stmt& body);

/// The first store in the loop that takes over a value of the iteration before; its composition is
/// left open where the operation is neither associative nor linear. With a reducer, the stores one
/// after another that take over a tuple; the composition is left open where that is not what they
/// make of it. That a reducer is associative, and its identity neutral, is its author's word.
std::optional<Recurrence> recurrence_of(const For& loop, const std::vector<Stmt>& stores,
                                        const Ptr<CommReducer>& reducer = {});

/// `expr` with the loads of the values before replaced, each by one of `states`.
Expr with_states(const Expr& expr, const Recurrence& recurrence, const std::vector<Expr>& states);

}  // namespace loopsmith
