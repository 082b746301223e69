// SPDX-License-Identifier: Apache-2.0
// Random nests of loops, and what plain enumeration of their runs says about a transformation.
#pragma once
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/arith/dependence/enumerate_test.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/support/error.h"

namespace loopsmith::testing {

using Loops = std::vector<Ptr<Var>>;

/// A perfect nest of two or three loops around a few statements, some of them under conditions or
/// in loops of their own; or two such nests, one after the other.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed);

  struct Nest {
    Loops loops;
    std::vector<Stmt> parts;
    Stmt root;
  };

  Nest first, second;
  Stmt root;
  Ptr<Var> n = var("n");

  bool is_symbolic() const { return is_symbolic_; }
  /// Minima and maxima of loops, which may make a question too complex.
  bool has_extremes() const { return extremes_left_ < max_extremes; }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  Nest nest(const std::string& name, int depth);
  Expr extent();
  Stmt statement();
  Stmt assignment();
  const Ptr<Buffer>& buffer() { return buffers_[static_cast<std::size_t>(pick(3))]; }
  Expr access();
  std::vector<Expr> indices(const Buffer& target);
  Expr variable();
  Expr index();
  Expr extreme();
  Expr condition();

  std::mt19937 random_;
  std::vector<Ptr<Buffer>> buffers_;
  Loops scope_;
  bool is_symbolic_ = false;
  static constexpr int max_extremes = 2;
  int extremes_left_ = max_extremes;
};

/// The iteration of a loop at which an access was recorded, or -1.
std::int64_t iteration_of(const RecordedAccess& access, const Ptr<Var>& loop);

/// The steps of an access, to be compared as words.
using Times = std::vector<std::int64_t>;
Times times_of(const RecordedAccess& access);

/// True when what happened first, at `a`, happens no longer before `b`.
using Breaks = std::function<bool(const RecordedAccess& a, const RecordedAccess& b)>;

/// The run of a program. Updates x = x + e of one element may change places with each other.
class Oracle {
 public:
  Oracle(const Stmt& root, const std::map<const Object*, std::int64_t>& sizes);

  bool is_broken(const Breaks& breaks) const;
  /// True when the witness is in the record, its sides in their order, and broken.
  bool confirms(const ConflictWitness& witness, const Breaks& breaks) const;

 private:
  bool may_change_places(const RecordedAccess& a, const RecordedAccess& b) const;

  std::vector<RecordedAccess> log_;
  std::map<const Object*, bool> updates_;
  std::map<std::pair<const Object*, std::vector<std::int64_t>>, std::vector<std::size_t>>
      by_element_;
};

/// Answers about a random program, held against its runs at small sizes.
class Checker {
 public:
  explicit Checker(RandomProgram& program);

  Dependences& dependences() { return dependences_; }
  bool is_broken(const Breaks& breaks) const;
  /// Fails where the answer to `question` is not what the runs say.
  void check(const std::string& question, const DependenceAnswer& answer, const Breaks& breaks);

  int proved = 0, violated = 0;

 private:
  RandomProgram& program_;
  Dependences dependences_;
  std::vector<Oracle> oracles_;
};

}  // namespace loopsmith::testing
