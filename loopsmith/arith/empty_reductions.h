// SPDX-License-Identifier: Apache-2.0
// Where the init of a block runs if one of the domains that it reduces over is empty: before the
// loops that bind them.
#pragma once
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/stmt.h"

namespace loopsmith::arith {

/// The init of a reduction over nothing: a statement before the loop `outermost`.
struct EmptyInit {
  const For* outermost;
  Stmt init;
  std::vector<const For*> loops;  ///< Of which those around the init are copies, outermost first.
  std::vector<Expr> conditions;   ///< Under which it runs, beside that a domain is empty.
  std::vector<Expr> extents;      ///< Of domains that may be empty, where the reduction starts.
};

/// What the init of a block is where a reduction axis has an empty domain. `path` leads to the
/// block from the outside in, from what `EmptyReductions::before` starts from. Nullopt where there
/// is none, see there.
std::optional<EmptyInit> init_of_nothing(const BlockRealize& realize,
                                         std::span<const PathStep> path);

/// The inits of reductions over nothing. For walks of a program from the outside in, which ask
/// what runs before each loop.
class EmptyReductions {
 public:
  /// The inits that run before `loop` if a reduction axis has an empty domain, with that condition:
  /// of blocks for which it is the outermost loop that binds one. They run once in each iteration
  /// of the other loops between it and the block, where the conditions hold that do not read loops
  /// of the reduction. Null where there are none: where all domains are known to have elements;
  /// where a spatial axis, or the bounds of another loop, read a loop of the reduction; and where
  /// memory is read that a statement inside `loop` may write.
  Stmt before(const For& loop) { return before(loop, {}); }
  /// The same but for blocks that get such inits elsewhere.
  Stmt before(const For& loop, const std::unordered_set<const Block*>& others);
  /// Such an init of a block, with the loop before which it runs; of loops that were asked for.
  std::optional<std::pair<const For*, Stmt>> init_of(const Block& block) const;
  /// The block that such an init starts; null for any other block.
  Ptr<Block> started_by(const Block& init) const;
  /// The variable of the loop of which a loop of such an init is a copy; null for any other loop.
  Ptr<Var> copied_from(const For& loop) const;

 private:
  using Path = std::vector<PathStep>;

  void enter(const For& loop, Path& path);
  void follow(const Stmt& stmt, Path& path);
  void add_init(const BlockRealize& realize, std::span<const PathStep> path);

  std::unordered_set<const For*> nested_;  ///< Loops on a path that starts further out.
  std::unordered_map<const For*, std::vector<std::pair<const Block*, Stmt>>> inits_;
  std::set<std::pair<const For*, const Block*>> made_;      ///< Those of which blocks there are.
  std::vector<std::pair<Ptr<Block>, Ptr<Block>>> started_;  ///< An init, and its block.
  std::unordered_map<const Object*, Ptr<Var>> copied_;      ///< By the variable of the copy.
};

}  // namespace loopsmith::arith
