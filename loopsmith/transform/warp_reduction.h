// SPDX-License-Identifier: Apache-2.0
// How the threads of a warp combine what each of them has: they exchange values, without memory.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// How consecutive threads reduce: groups of `lanes`, a power of two and no more than a warp, and
/// how many of these have to be combined.
struct WarpGroup {
  int lanes = 1;
  int groups = 1;
  int warp_size = 1;
};

/// The groups of `threads` threads along x; none where these are no whole warps and no even part
/// of one, or there are no warps.
std::optional<WarpGroup> warp_group(std::int64_t threads, int warp_size);

using CombineTuples =
    std::function<std::vector<Expr>(const std::vector<Expr>&, const std::vector<Expr>&)>;

/// Combines the tuples `own[0]` of `lanes` neighbours, in the order of their numbers; each of them
/// then has the result there. `thread` is a thread's number along x:
///
///     other = tvm_warp_shuffle(..., own[0], lane ^ 1, lanes, 32)
///     own[0] = combine(own[0], other)
///     other = tvm_warp_shuffle(..., own[0], lane ^ 2, lanes, 32)
///     ...
std::vector<Stmt> combine_lanes(const std::vector<Ptr<Buffer>>& own, const Expr& thread, int lanes,
                                int warp_size, const CombineTuples& combine);

/// into[at] = values, all of the tuple at once.
Stmt store_tuple(const std::vector<Ptr<Buffer>>& into, const std::vector<Expr>& at,
                 const std::vector<Expr>& values);

}  // namespace loopsmith
