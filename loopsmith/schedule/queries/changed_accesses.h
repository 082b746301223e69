// SPDX-License-Identifier: Apache-2.0
// Which memory a step may access otherwise than the program before it.
#pragma once
#include <unordered_map>
#include <unordered_set>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// The memory whose accesses differ between two states of a schedule.
///
/// Theorem. Let `b` be memory for which `has` is false, and let no index, bound or condition read
/// memory for which it is true. Then the accesses to `b` are the same in both states: under the
/// same loops and conditions, at the same indices, each two of them in the same order. Proof: both
/// states are compared from the root. What is aligned, in one order, is the same statement, or a
/// loop, branch or block with the same header, whose bodies are compared in turn; of everything
/// else, all memory is here.
class ChangedAccesses {
 public:
  ChangedAccesses(const Schedule& before, const Schedule& after);

  bool has(const Buffer& buffer) const { return is_all_ || memory_.contains(buffer.data.get()); }
  /// True when a node of `after` may access such memory.
  bool are_in(const Ref& node) const;
  /// True when nothing is known.
  bool is_all() const { return is_all_; }

 private:
  friend class AccessComparison;
  std::unordered_set<const Object*> memory_;  ///< Pointers.
  bool is_all_ = false;
  mutable std::unordered_map<const Object*, bool> asked_;  ///< Of which nodes.
};

}  // namespace loopsmith
