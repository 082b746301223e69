// SPDX-License-Identifier: Apache-2.0
// Where the init of a block runs: in each instance whose reduction axes are all at the start of
// their domains, and, if one of these domains is empty, before the loops that bind them.
#pragma once
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith::arith {

/// True for an axis that is reduced over.
inline bool is_reduction(const IterVar& axis) {
  return axis.iter_type == IterType::comm_reduce;
}

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

/// A loop, a condition, or neither: a sequence. What stands between a block and what is around it.
struct PathStep {
  const For* loop = nullptr;
  Expr condition;
};

/// An init that runs before the loops of its reduction.
struct HoistedInit {
  Stmt init;
  bool is_for_nothing = false;  ///< It runs where a domain is empty, too.
};

/// The init of `realize` as a nest that goes before the loop with which `path` begins, the way to
/// the block from there: under copies of the loops that bind none of its reduction axes. It may
/// only run there where no instance accesses what another one's init stores. Nullopt where
/// conditions do not tell when it runs, may change on the way, or read what it stores.
std::optional<HoistedInit> init_before(const BlockRealize& realize, std::span<const PathStep> path);

/// True when instances with different values of the loops on the path that bind none of the
/// reduction axes access different elements of what the block writes: each spatial axis that reads
/// one of these loops is an index by itself, the same one in all accesses.
bool have_own_elements(const BlockRealize& realize, std::span<const PathStep> path);

/// Where on the way to a block its init goes when the loop at place `regrouping` accumulates its
/// updates apart: before that one, or before the outermost loop that binds reduction axes, if
/// nothing but loops stands between, and those that bind reduction axes bind no others.
std::size_t init_place(const BlockRealize& realize, std::span<const PathStep> path,
                       std::size_t regrouping);

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

/// A block that does the init of `realize` at its spatial axes where `predicate` holds. To the
/// init, reduction axes are at the start of their domains.
Stmt init_block(const BlockRealize& realize, Expr predicate);

}  // namespace loopsmith::arith
