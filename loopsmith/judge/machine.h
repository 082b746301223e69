// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/judge/judge.h"
#include "loopsmith/judge/scalar.h"

namespace loopsmith::judge {

/// Ends a run that failed, or of which nothing can be said.
struct Stop {
  Ending ending;
  std::string message;
};
[[noreturn]] inline void fail(std::string message) {
  throw Stop{Ending::failed, std::move(message)};
}
[[noreturn]] inline void cannot_say(std::string message) {
  throw Stop{Ending::cannot_say, std::move(message)};
}

/// What a pointer points to.
struct Memory {
  DataType type;
  std::vector<Scalar> elements;
};

/// A buffer whose place in memory does not follow from its own expressions.
struct View {
  Memory* memory = nullptr;
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
};

/// How a statement ended.
enum class Flow : std::uint8_t { on, broken, continued, returned };

/// One run of a function.
class Machine {
 public:
  explicit Machine(const RunOptions& options) : options_(options), random_(options.seed) {}

  /// Throws a Stop.
  void run(const PrimFunc& func, std::span<const JudgeArgument> arguments);
  /// What the tensors hold after `run`.
  JudgeResult result(const PrimFunc& func, std::span<const JudgeArgument> arguments);

 private:
  // ---- Names ----

  void define(const Ptr<Var>& var, Scalar value) { values_.emplace_back(var.get(), value); }
  Scalar value_of(const Var& var) const;
  /// Defines a variable that has no value yet; anything else must have that value.
  void match(const Expr& pattern, std::int64_t value, const char* what);

  // ---- Memory ----

  static std::vector<std::int64_t> compact(const std::vector<std::int64_t>& shape);
  void take_tensor(const Buffer& buffer, const JudgeArgument& argument);
  void allocate(const Var& data, DataType type, const std::vector<Expr>& extents);
  void match_buffer(const MatchBufferRegion& matched);
  /// Holds until the next call.
  const View& view_of(const Buffer& buffer);
  Scalar& element(const Buffer& buffer, const std::vector<Expr>& indices, const Expr& predicate);

  // ---- Expressions ----

  std::int64_t number(const Expr& expr);
  Scalar evaluate(const Expr& expr);
  /// A side that decides is enough.
  Scalar both(const Expr& a, const Expr& b, bool decides);
  Scalar binary_node(const Expr& expr);
  Scalar call(const Call& call);
  Scalar atomic(const Call& call);

  // ---- Statements ----

  Flow do_stmt(const Stmt& stmt);
  Flow do_in_scope(const Stmt& stmt);
  Flow do_loop(const For& loop);
  Flow do_block(const BlockRealize& realize);

  // ---- Reductions over nothing ----

  /// A block with an init on the way from a loop, through loops, conditions and sequences alone,
  /// that is the outermost one to bind a reduction axis of it.
  struct Started {
    const BlockRealize* realize = nullptr;
    std::vector<const For*> reductions, others;
    std::vector<std::pair<Expr, bool>> conditions;  ///< And whether they have to hold.
    bool is_shared = false;                         ///< Other statements may run before it.
  };
  static bool binds_reduction(const BlockRealize& realize, const For& loop);
  /// Notes what stands below `stmt`; `way` are the statements around it, the innermost last.
  void find_started(const Stmt& stmt, std::vector<std::pair<const Object*, bool>>& way);
  /// Runs the inits of blocks that have nothing to reduce in the loop.
  void start_empty_reductions(const For& loop);
  void start_if_empty(const Started& started);
  /// Runs the init in each iteration of the other loops, from `depth` on.
  void start_each(const Started& started, const std::vector<Expr>& conditions, std::size_t depth);
  /// True when a block inside has an init and a reduction axis that the loop drives, if only
  /// through the axes of blocks around it.
  bool drives_reduction(const For& loop);

  const RunOptions& options_;
  std::mt19937_64 random_;
  std::int64_t steps_ = 0;
  std::uint64_t poisons_ = 0;
  std::vector<std::pair<const Var*, Scalar>> values_;
  std::unordered_map<const Var*, Memory> memories_;
  std::unordered_map<const Buffer*, View> views_;
  View computed_;
  bool runs_concurrently_ = false;
  std::unordered_map<const For*, bool> reductions_;
  std::unordered_map<const For*, std::vector<Started>> started_;
};

}  // namespace loopsmith::judge
