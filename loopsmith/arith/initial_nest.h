// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "loopsmith/ir/stmt.h"

namespace loopsmith::arith {

/// True when `loop_var` drives a reduction axis of the block. A loop that is a spatial axis itself
/// has results of its own in each iteration, also where parts of the reduction are as long as it
/// says.
bool is_reduction_loop(const BlockRealize& realize, const Ptr<Var>& loop_var);

/// True where the first iteration of the loops passes the condition if they run at all: if it did
/// not, one of them would be empty.
bool holds_if_run(const Expr& condition, std::span<const For* const> loops);

/// The init of `realize` as a nest of its own, which runs before its reduction; null when that
/// would change which elements are initialised. `loops` are those around the block with nothing
/// but each other between them, from the outermost reduction loop on; of these the nest has copies
/// of the spatial ones. It does the init where `condition` holds.
Stmt initial_nest(const BlockRealize& realize, std::span<const For* const> loops,
                  const Expr& condition);

/// The inits of reductions without iterations, which give the identity. For who walks a program
/// from the outside in.
class EmptyReductions {
 public:
  /// What runs before `loop`, the outermost of a reduction, where one of its loops has no
  /// iteration; null where there is nothing, or where all of them are sure to have some.
  Stmt before(const For& loop);

 private:
  void find(const For& outermost);

  std::unordered_set<const For*> nested_;  ///< Loops that another one has as its body.
  std::unordered_map<const For*, Stmt> inits_;
};

}  // namespace loopsmith::arith
