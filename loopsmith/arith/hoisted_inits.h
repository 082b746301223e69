// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith::arith {

/// True when `loop_var` is bound to a reduction axis of the block. A loop that is a spatial axis
/// itself has results of its own in each iteration, also where parts of the reduction are as long
/// as it says.
bool is_reduction_loop(const BlockRealize& realize, const Ptr<Var>& loop_var);

/// The inits of reductions as nests of their own. For who walks a program from the outside in, and
/// asks what comes `before` each loop.
class HoistedInits {
 public:
  /// What runs before `loop`, the outermost of a reduction, where the reduction has no elements: it
  /// gives its init. Null where there is nothing, or where it is sure to have some.
  Stmt before(const For& loop);

  /// The init of `realize` as a nest that runs before its reduction; null when that would change
  /// which elements are initialised. `loops` are those around the block from the outermost
  /// reduction loop on; of these the nest has copies of the spatial ones. It does the init where
  /// `condition` holds.
  Stmt nest_of(const BlockRealize& realize, std::span<const For* const> loops,
               const Expr& condition);

 private:
  /// A loop, a condition or a sequence on the way to a block.
  struct Step {
    const For* loop = nullptr;
    Expr condition;

    bool is_sequence() const { return !loop && !condition.defined(); }
  };
  using Path = std::vector<Step>;

  void enter(const For& loop, Path& path);
  /// Goes on to the blocks that `path` leads to, through loops, sequences and conditions.
  void follow(const Stmt& stmt, Path& path);
  void add_init(const BlockRealize& realize, std::span<const Step> path);
  /// True for variables of loops and blocks; false for sizes.
  bool is_bound(const Var& variable);

  std::unordered_set<const For*> nested_;  ///< Loops on a path that starts further out.
  std::unordered_map<const For*, Stmt> inits_;
  std::vector<const For*> outermost_;        ///< Those that were not nested, so far.
  std::unordered_set<const Object*> bound_;  ///< Of the first `looked_into_` of these.
  std::size_t looked_into_ = 0;
};

}  // namespace loopsmith::arith
