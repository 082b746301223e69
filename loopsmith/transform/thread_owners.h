// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <unordered_set>

#include "loopsmith/transform/shared_accesses.h"

namespace loopsmith {

/// Two statements that each thread of a block runs, and what threads have alike when they do.
struct ThreadPair {
  std::span<const Ptr<For>> threads;  ///< The loops that are threads.
  std::span<const SharedAccess> first;
  std::span<const SharedAccess> second;
  Ptr<For> loop;  ///< Each statement is in any iteration of it, where it is not null.
  /// Variables that may differ from thread to thread, and that the loops here do not define.
  std::unordered_set<const Object*> own = {};
};

/// True when each element that both use, one of them to write it, belongs to one thread.
///
/// Theorem (mixed radix), of one buffer whose different indices are different elements. Let an
/// index be b + sum s_i a_i in the one access and b + sum s_i c_i in the other, with digits 0 <=
/// a_i, c_i < e_i and weights s_{i+1} >= s_i e_i > 0, and b alike in all threads. Where the indices
/// are equal, so are all pairs of digits: the heaviest that differ would outweigh the rest, as
/// sum_{j<i} s_j (e_j - 1) <= sum_{j<i} (s_{j+1} - s_j) < s_i. So if a_i and c_i are the same digit
/// of a thread's variable, and such digits of all indices make up the variables, two accesses to
/// one element are of one thread. An access without a digit of some weight has 0 there.
bool are_of_one_thread(const ThreadPair& pair);

}  // namespace loopsmith
