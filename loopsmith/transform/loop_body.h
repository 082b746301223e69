// SPDX-License-Identifier: Apache-2.0
// What passes that keep memory in registers see of an innermost loop.
#pragma once
#include <span>
#include <unordered_set>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

/// What the body of an innermost loop does, if it is stores, names and conditions alone.
struct LoopBody {
  std::vector<const BufferStore*> stores;
  std::vector<const BufferStore*> sure_stores;    ///< Those of each iteration, to all lanes.
  std::vector<const BufferStore*> masked_stores;  ///< Those of each iteration, to some.
  std::vector<const BufferLoad*> loads;
  std::vector<std::size_t> loads_before;  ///< By store: how many of the loads come before it.
  std::unordered_set<const Object*> sure_loads;
  std::unordered_set<const Object*> named;  ///< Variables that are defined in it.
  bool is_simple = true;

  explicit LoopBody(const Stmt& body) { visit(body, true); }

  /// True when the value of an index does not change while an iteration runs.
  bool is_fixed(const Expr& index) const;

 private:
  void visit(const Stmt& stmt, bool is_sure);
  void read(const Expr& expr, bool is_sure);
};

/// A loop in the loops around it, from the outside in, all of which run in turn: what is asked of
/// the loop may use what these say of its variables.
Stmt in_turn_inside(const For& loop, std::span<const For* const> around);

/// Which memory overlaps no other at the place that a rewriter has come to: what the function
/// allocates, and its parameters where `tir.noalias` says so of the function or of a statement.
class DistinctMemory {
 public:
  /// Follows `rewrite`, which must have no rules of its own for AttrStmt and Allocate.
  DistinctMemory(const PrimFunc& func, Rewriter& rewrite);
  DistinctMemory(const DistinctMemory&) = delete;
  DistinctMemory& operator=(const DistinctMemory&) = delete;

  bool contains(const Ptr<Buffer>& buffer) const;
  /// True when accesses to the two never alias. What the function allocates is no part of what it
  /// is given.
  bool are_apart(const Ptr<Buffer>& a, const Ptr<Buffer>& b) const {
    const Object* const one = a->data.get();
    const Object* const other = b->data.get();
    return one != other && ((contains(a) && contains(b)) ||
                            (allocated_.contains(one) && parameters_.contains(other)) ||
                            (parameters_.contains(one) && allocated_.contains(other)));
  }

 private:
  std::unordered_set<const Object*> parameters_;
  std::unordered_set<const Object*> allocated_;
  bool are_parameters_distinct_;
};

/// Memory for `buffer`, a register, around `body`.
Stmt with_register(const Ptr<Buffer>& buffer, Stmt body);

}  // namespace loopsmith
