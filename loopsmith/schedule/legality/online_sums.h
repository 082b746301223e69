// SPDX-License-Identifier: Apache-2.0
// Sums whose terms scale with a maximum, which can be rescaled while it grows.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "loopsmith/arith/reducers.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// Theorem. Let m be the maximum of x(j), and S the sum of terms w(j) exp(x(j) - m). Then after
/// some of the j, with the maximum m' of their x(j) and the sum S' of their w(j) exp(x(j) - m'),
/// S' exp(m' - m) is their share of S, by exp(a + b) = exp(a) exp(b). So one loop finds m and S, if
/// S is multiplied by exp(m' - m'') where the maximum changes from m' to m''; no exponential is
/// larger than 1. Where x(j) may be infinitely small, so may m': then max(m', the smallest finite
/// number) takes its place, with which exponentials of what is infinitely small are 0 (and so is a
/// sum of nothing else, which m itself would make NaN). Exponentials that are kept in memory are
/// those of the maximum so far; they have to be used up before it changes.
class OnlineSums {
 public:
  /// `loop` is that over the terms of the maximum, which are found through a maximum of parts.
  OnlineSums(const Schedule& schedule, BlockRV maximum, LoopRV loop, KnownReduction reduction);

  /// Adds a block that depends on the maximum, in the order of the program: a sum, or one that
  /// keeps values, as does a sum that an iteration of `loop`, which is to join that of the maximum,
  /// makes as a whole. Says why that does not scale with the maximum; empty: it does.
  std::string add(BlockRV block, LoopRV loop, bool is_whole);

  /// A sum, and the element of the maximum by which its terms scale, in terms of its axes; none:
  /// it does not depend on the maximum.
  struct Sum {
    BlockRV block;
    std::vector<Expr> maximum;
  };
  const std::vector<Sum>& sums() const { return sums_; }
  /// True when the expression reads the maximum, or what is kept of values that scale with it.
  bool is_read_by(const Ref& expr) const;
  /// What is kept in memory of values that scale.
  const std::vector<Ptr<Buffer>>& kept() const { return kept_buffers_; }

  const Ptr<Buffer>& buffer() const { return reduction_.buffers[0]; }
  const std::vector<Expr>& indices() const { return reduction_.indices; }
  /// The maximum, finite.
  Expr finite(const Expr& maximum) const;
  /// By what a sum is multiplied as the maximum changes.
  Expr factor(const Expr& before, const Expr& after) const;

 private:
  friend class TermReader;

  /// A value in memory: what it is, and its element.
  struct Kept {
    BlockRV block;
    std::vector<Expr> indices, maximum;
    int degree = 0;
  };

  /// What the maximum is of where a condition holds, in terms of axes.
  struct GuardedTerm {
    Expr value, condition;
  };

  void add_term(Expr term);
  bool holds_in(const Expr& condition, BlockRV block) const;
  const Kept* kept_in(const Ptr<Buffer>& buffer) const;
  bool is_term_so_far(const Expr& value, const std::vector<Expr>& place, BlockRV block,
                      LoopRV loop) const;
  bool is_reached(const Expr& last, const Expr& index, BlockRV block, LoopRV loop) const;
  bool is_found_in_loop(const std::vector<Expr>& element, BlockRV block) const;

  const Schedule& schedule_;
  BlockRV maximum_;
  LoopRV loop_;
  KnownReduction reduction_;
  std::vector<GuardedTerm> terms_;  ///< What the maximum is of, or parts of it.
  Substitution last_;               ///< Values of axes and loops in the last term of an iteration.
  std::optional<Op> power_;
  double scale_ = 1;
  std::vector<Sum> sums_;
  std::vector<Kept> kept_;
  std::vector<Ptr<Buffer>> kept_buffers_;
};

/// True when no iteration of the loop reads what another one of it writes to the buffer.
bool stays_in_iterations(const Schedule& schedule, LoopRV loop, const Ptr<Buffer>& buffer);

}  // namespace loopsmith
