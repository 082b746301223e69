// SPDX-License-Identifier: Apache-2.0
// Where the init of a block runs: in each instance whose reduction axes are all at the start of
// their domains, and, if one of these domains is empty, before the loops that bind them.
#pragma once
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith::arith {

/// True when `loop_var` binds a reduction axis of the block. A loop that is a spatial axis itself
/// has results of its own in each iteration, also where parts of the reduction are as long as it
/// says.
bool is_reduction_loop(const BlockRealize& realize, const Ptr<Var>& loop_var);

/// The condition under which the init of `realize` runs in the first iteration of `loops`, or
/// because there is nothing to reduce; it reads none of these loops. Undefined where the init may
/// run in another iteration, or in several. `loops` are those that bind reduction axes, outermost
/// first, and `conditions` all those on the way to the block that read them.
Expr init_condition(const BlockRealize& realize, std::span<const For* const> loops,
                    std::span<const Expr> conditions);

/// The inits of reductions over nothing. For who walks a program from the outside in, and asks
/// what runs before each loop.
class EmptyReductions {
 public:
  /// The inits that run before `loop` if a reduction axis has an empty domain, with that condition:
  /// of blocks for which it is the outermost loop that binds one. They run once in each iteration
  /// of the other loops between it and the block, where the conditions hold that do not read loops
  /// of the reduction. Null where there are none: where all domains are known to have elements;
  /// where a spatial axis, or the bounds of another loop, read a loop of the reduction; and where
  /// memory is read that a statement inside `loop` may write.
  Stmt before(const For& loop);
  /// The block that such an init starts; null for any other block.
  Ptr<Block> started_by(const Block& init) const;

 private:
  /// A loop, a condition or a sequence on the way to a block.
  struct Step {
    const For* loop = nullptr;
    Expr condition;
  };
  using Path = std::vector<Step>;

  void enter(const For& loop, Path& path);
  void follow(const Stmt& stmt, Path& path);
  void add_init(const BlockRealize& realize, std::span<const Step> path);

  std::unordered_set<const For*> nested_;  ///< Loops on a path that starts further out.
  std::unordered_map<const For*, Stmt> inits_;
  std::vector<std::pair<Ptr<Block>, Ptr<Block>>> started_;  ///< An init, and its block.
};

/// A block that does the init of `realize` at its spatial axes where `predicate` holds. To the
/// init, reduction axes are at the start of their domains.
Stmt init_block(const BlockRealize& realize, Expr predicate);

}  // namespace loopsmith::arith
