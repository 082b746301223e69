// SPDX-License-Identifier: Apache-2.0
// Where a function of loops accesses its buffers, for passes that move or shrink memory.
#pragma once
#include <deque>
#include <unordered_map>
#include <vector>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/relax.h"
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// A place in the tree: what stands directly around statements. Loops, branches (those of
/// if_then_else and what follows an assertion, too), names, memory.
struct Scope {
  const Scope* parent = nullptr;
  std::size_t first = 0, last = 0;  ///< The scopes inside, itself first, in the order of the walk.
  int depth = 0;
  Stmt stmt;       ///< A For, While, LetStmt, Allocate; null for branches and for the function.
  Expr condition;  ///< What holds in a branch; null for anything else.
  bool is_open = true;   ///< While the walk is inside.
  bool is_left = false;  ///< A loop that a `break` or a `continue` is about.
};

/// One access to a buffer.
struct Access {
  const std::vector<Expr>* indices = nullptr;
  const Scope* scope = nullptr;
  bool is_write = false;
};

/// A buffer that the function allocates, and how it is used.
struct Allocation {
  Ptr<Allocate> allocate;
  Ptr<Buffer> buffer;             ///< Null where the memory has no buffer, or several.
  const Scope* scope = nullptr;   ///< Around the allocation.
  const Scope* inside = nullptr;  ///< Of the Allocate itself.
  const Scope* common = nullptr;  ///< The innermost around all accesses; null without any.
  std::vector<Access> accesses;   ///< In the order of the program.
  bool is_opaque = false;         ///< Its pointer is used by itself.
};

/// All allocations of a function, by pointer, with their accesses.
class AccessTable {
 public:
  explicit AccessTable(const PrimFunc& func);

  std::vector<Allocation>& allocations() { return allocations_; }
  /// What an integer, or each lane of a vector of them, may be while all that is inside `outside`
  /// runs, `outside` itself in one iteration; none where none is known.
  std::optional<arith::Interval> values(const Expr& expr, const Scope* outside);
  /// The scope that defines a loop variable or a name; null for any other variable.
  const Scope* definition(const Ref& variable) const;
  /// Knows what the loops around the statements of `scope`, itself included, say of their variables
  /// and ends, until it is asked for another scope.
  Analyzer& analyzer_at(const Scope* scope);

 private:
  void visit(const Ref& ref);
  void visit_children(const Object& node);
  void enter(Scope scope, const Ref& body);
  void note(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices, bool is_write);
  void declare(const Ptr<Buffer>& buffer);
  void gather(const Expr& expr, const Scope* outside, arith::Intervals& ranges) const;

  std::deque<Scope> scopes_;
  const Scope* here_ = nullptr;
  std::vector<Allocation> allocations_;
  std::unordered_map<Ref, std::size_t, RefHash, RefEqual> by_pointer_;
  std::unordered_map<Ref, const Scope*, RefHash, RefEqual> definitions_;
  /// Of the variables that were asked for, by what they are inside of.
  std::unordered_map<const Scope*, arith::Intervals> ranges_;
  /// A loop that the analyzer is inside of.
  struct Entered {
    const Scope* loop;
    ConstraintScope known;
  };
  Analyzer analyzer_;
  std::vector<Entered> entered_;  ///< From the outside in.
};

/// The innermost scope that is around both.
const Scope* common_scope(const Scope* a, const Scope* b);
/// True when `outer` is `inner` or around it.
inline bool is_around(const Scope* outer, const Scope* inner) {
  return outer->first <= inner->first && inner->first <= outer->last;
}
inline bool is_inside(const Scope* outer, const Scope* inner) {
  return outer != inner && is_around(outer, inner);
}

}  // namespace loopsmith
