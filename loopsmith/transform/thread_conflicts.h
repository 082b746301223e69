// SPDX-License-Identifier: Apache-2.0
// Whether threads of a block conflict: use one element of memory, one of them to write it.
#pragma once
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// A statement that uses memory, in what stands around it up to some place: loops, conditions and
/// names.
struct ThreadAccess {
  Stmt nest;
  bool is_opaque = false;  ///< It may use any memory.
  bool is_atomic = false;  ///< An update in one step.
  /// The threads of a warp wait for each other between it and what it is compared with.
  bool is_ordered_in_warp = false;
};

/// Answers for the threads of one launch.
class ThreadConflicts {
 public:
  /// Where conflicts `are_likely`, they are looked for before it is proved that there is none.
  explicit ThreadConflicts(std::vector<Ptr<For>> threads, bool are_likely = false)
      : threads_(std::move(threads)), are_likely_(are_likely) {}

  /// True unless it is proved that no two threads use one element, one of them to write it, when
  /// each does `first` and `second`. `around` are the statements around both, from the outside in.
  bool may_conflict(const ThreadAccess& first, const ThreadAccess& second,
                    const std::vector<Stmt>& around) const;

  /// The same where `second` is in a later iteration of `loop`, `first` in an earlier one of it;
  /// in the next one if `is_next`.
  bool may_conflict_later(const ThreadAccess& first, const ThreadAccess& second, const For& loop,
                          bool is_next, const std::vector<Stmt>& around) const;

 private:
  class Pair;

  bool carries(const ThreadAccess& first, const ThreadAccess& second, Stmt both,
               const std::vector<Stmt>& around, const Ptr<For>& outermost = nullptr) const;

  std::vector<Ptr<For>> threads_;
  bool are_likely_;
};

}  // namespace loopsmith
