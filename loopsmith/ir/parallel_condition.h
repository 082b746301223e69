// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// The annotation of a parallel loop with the condition under which it runs in threads; where that
/// does not hold, it runs in the thread that comes to it.
inline constexpr std::string_view parallel_if_key = "parallel_if";

/// The condition under which a parallel loop runs in threads; 1: always.
inline Expr parallel_condition(const For& loop) {
  const Expr condition = Expr::from(loop.annotations.get(parallel_if_key));
  return condition.defined() ? condition : Expr(true);
}

}  // namespace loopsmith
