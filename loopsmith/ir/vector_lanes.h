// SPDX-License-Identifier: Apache-2.0
// Counts of lanes: constants, or multiples of `vscale`, which only the machine knows.
#pragma once
#include <optional>

#include "loopsmith/ir/function.h"

namespace loopsmith {

/// The lanes that an expression counts: a constant n, or `scalable_lanes | n` for vscale() * n;
/// nullopt for any other.
std::optional<std::int64_t> lanes_of(const Expr& count);

/// The expression that counts `lanes`: its inverse.
Expr lanes_expr(std::int64_t lanes);

/// The `vscale` of a machine whose vectors have so many bits: how often they hold 128, at least 1.
inline int vscale_of(int vector_bits) {
  return vector_bits < 256 ? 1 : vector_bits / 128;
}

/// The function on a machine whose `vscale` is known: T.vscale() is that number, and scalable
/// vectors have as many lanes as it makes of theirs.
Ptr<PrimFunc> with_vscale(const Ptr<PrimFunc>& func, int vscale);

}  // namespace loopsmith
