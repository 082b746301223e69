// SPDX-License-Identifier: Apache-2.0
// Whether threads of different warps of a block conflict in an element of memory.
#pragma once
#include <optional>

#include "loopsmith/transform/thread_axes.h"
#include "loopsmith/transform/thread_conflicts.h"

namespace loopsmith {

/// Answers for the warps of one launch, as `ThreadConflicts` does for its threads: the lanes of a
/// warp are iterations of a loop.
class WarpConflicts {
 public:
  /// `thread` is the loop along x, `warps` those over the warps: threads along y and z, and what
  /// `thread` has beyond `lane`.
  WarpConflicts(Ptr<Var> thread, For lane, Expr number, std::vector<Ptr<For>> warps)
      : thread_(std::move(thread)),
        lane_(std::move(lane)),
        number_(std::move(number)),
        is_one_(warps.empty()),
        conflicts_(std::move(warps), /*are_likely=*/true) {}

  bool may_conflict(const ThreadAccess& first, const ThreadAccess& second,
                    const std::vector<Stmt>& around) const;
  bool may_conflict_later(const ThreadAccess& first, const ThreadAccess& second, const For& loop,
                          bool is_next, const std::vector<Stmt>& around) const;

 private:
  ThreadAccess in_warp(const ThreadAccess& access) const;
  bool is_of_thread(const std::vector<Stmt>& around) const;

  Ptr<Var> thread_;
  For lane_;
  Expr number_;  ///< Of a thread along x, by its lane.
  bool is_one_;
  ThreadConflicts conflicts_;
};

/// None where threads along x are not a multiple of `warp_size`, or where products of four warps
/// read what other warps have written.
std::optional<WarpConflicts> warp_conflicts(const Launch& launch, int warp_size);

}  // namespace loopsmith
