// SPDX-License-Identifier: Apache-2.0
// Which memory an access is to. Private to this folder.
#pragma once
#include <unordered_map>
#include <vector>

#include "loopsmith/arith/dependence/program.h"
#include "loopsmith/arith/dependence/views.h"

namespace loopsmith::dependence {

/// What is known of the pointers of a program while it is read.
class Memories {
 public:
  /// Memory that is allocated inside `depth` loops.
  void allocate(const Ref& pointer, int depth) { allocated_[pointer.get()] = depth; }
  /// A pointer that is let.
  void name(const Ptr<Var>& pointer, const Expr& value);
  /// A buffer that is a part of another.
  void match(const MatchBufferRegion& match) { views_.add(match); }

  /// What a pointer leads to: it, where it is no name for another. Null: any memory.
  Ref of(const Ref& pointer) const;
  /// Says which memory is accessed, and by which indices.
  void place(Access& access, const Ptr<Buffer>& buffer, const std::vector<Expr>& indices) const;

 private:
  Ref at(const Expr& value) const;

  Views views_;
  std::unordered_map<const Object*, int> allocated_;
  std::unordered_map<const Object*, Ref> named_;  ///< What pointers lead to that are let.
};

}  // namespace loopsmith::dependence
