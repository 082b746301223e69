// SPDX-License-Identifier: Apache-2.0
// Where the init of a block runs: in each instance whose reduction axes are all at the start of
// their domains. For empty domains see empty_reductions.h.
#pragma once
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "loopsmith/ir/stmt.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::arith {

/// True for an axis that is reduced over.
inline bool is_reduction(const IterVar& axis) {
  return axis.iter_type == IterType::comm_reduce;
}

/// True when `loop_var` binds a reduction axis of the block. A loop that is a spatial axis itself
/// has results of its own in each iteration, also where parts of the reduction are as long as it
/// says.
bool is_reduction_loop(const BlockRealize& realize, const Ptr<Var>& loop_var);

using VarSet = std::unordered_set<const Object*>;
/// True when `root` uses one of the variables.
bool uses_any(const Ref& root, const VarSet& variables);

/// The first value of each of the loops, outermost first.
Substitution first_values(std::span<const For* const> loops);
/// The extents of the domains of reduction axes that may be empty, where the loops have these
/// values.
std::vector<Expr> unsure_domains(const Block& block, const Substitution& first);
/// That one of these extents is that of an empty domain.
Expr is_empty(std::span<const Expr> extents);

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

/// A block that does the init of `realize` at its spatial axes where `predicate` holds. To the
/// init, reduction axes are at the start of their domains.
Stmt init_block(const BlockRealize& realize, Expr predicate);

}  // namespace loopsmith::arith
