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

/// Throws an error of `kind` where a vector of the function is scalable: no code is made for those.
void refuse_scalable_vectors(const Ptr<PrimFunc>& func, ErrorKind kind);

}  // namespace loopsmith
