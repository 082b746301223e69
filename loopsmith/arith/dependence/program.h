// SPDX-License-Identifier: Apache-2.0
// A statement tree as dependence analysis sees it: loops, statements, and what they access.
// Private to this folder.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "loopsmith/arith/dependence/linear.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/stmt.h"

namespace loopsmith::dependence {

/// A sum of products of sizes, each with a factor that is linear in the other symbols: i*n*m + j*m.
/// By the sizes, sorted.
using Polynomial = std::map<std::vector<Symbol>, Linear>;

enum class SymbolKind : std::uint8_t {
  parameter,  ///< A size: the same value everywhere.
  iterator,   ///< How many iterations of a loop came before: 0, 1, ...
  quotient,   ///< A linear form divided by a constant, rounded down.
  maximum,    ///< The larger of two linear forms.
  local,      ///< Any value from 0 to an extent: one element of a region, one lane of a vector.
};

struct SymbolInfo {
  SymbolKind kind = SymbolKind::parameter;
  Interval range = {};    ///< Constants between which the values lie.
  Expr source = nullptr;  ///< What a parameter is: a variable, or an expression of variables.
  /// Of a quotient; one form of a maximum; what a parameter is that stands for a sum of others.
  Linear dividend = {};
  Linear other = {};         ///< Of a maximum.
  std::int64_t divisor = 0;  ///< Of a quotient; positive.
  Linear extent = {};        ///< Of a local.
};

/// form >= 0, or form == 0.
struct Constraint {
  Linear form;
  bool is_equality = false;
};
/// All of them hold.
using Conjunction = std::vector<Constraint>;
/// One of them holds.
using Clause = std::vector<Conjunction>;

struct Loop {
  Stmt node;  ///< A For or a While.
  Symbol iterator = 0;
  std::vector<Linear> extents;  ///< The iterator is below each; what is not linear is left out.
  std::string control;          ///< Why iterations depend on earlier ones: `break`; else empty.
  /// Of a loop around the init of a reduction over nothing: that of the loop which it is a copy of,
  /// and with which it is scheduled. Else null.
  Ptr<Var> original = nullptr;

  const For* as_for() const { return node.as<For>(); }
  /// By which questions name the loop, and its copies with it; null for a While.
  Ptr<Var> variable() const {
    if (original) return original;
    return as_for() ? as_for()->loop_var : nullptr;
  }
};

/// What stands around a statement, from the outside in: what a replay of one instance evaluates.
struct Context {
  enum class Kind : std::uint8_t {
    loop,       ///< A For.
    condition,  ///< `value` holds.
    negation,   ///< `value` does not hold.
    binding,    ///< `variable` is `value`.
    opaque,     ///< Whether the statement is reached cannot be told.
  };
  Kind kind;
  Ref node = nullptr;           ///< The For or Block.
  Expr value = nullptr;         ///< The condition or value.
  Ptr<Var> variable = nullptr;  ///< What is bound.
};

/// The operator with which an accumulator is updated.
enum class Update : std::uint8_t {
  none,
  declared,  ///< That of a block with an init.
  combiner,  ///< From here on, a Combiner.
};
inline Update update_by(Combiner combiner) {
  return static_cast<Update>(static_cast<int>(Update::combiner) + static_cast<int>(combiner));
}

struct Access {
  int statement = 0;
  Ptr<Buffer> buffer;  ///< Null: any memory.
  Ref memory;          ///< The pointer; buffers that share it overlap.
  bool writes = false;
  bool whole = false;                        ///< Any element.
  std::vector<std::optional<Linear>> index;  ///< Nothing where it is not linear: any value.
  /// Of the same length where some index is none: those that are products of sizes after all.
  std::vector<std::optional<Polynomial>> products;
  std::vector<Expr> expressions;      ///< The index, as it stands.
  std::vector<Symbol> locals;         ///< Those of the index.
  std::vector<Clause> guards;         ///< Conditions inside the expression.
  std::vector<Context> surroundings;  ///< The same, for a replay.
  Update update = Update::none;
  int reduction = -1;     ///< The block whose accumulator this is, by number.
  bool is_init = false;   ///< It stands in the init of that block.
  bool is_local = false;  ///< Nothing outside the program reads what it stores to the memory.
  int private_depth = 0;  ///< Loops around the allocation: their iterations have memory each.
};

/// A branch of an `if` whose condition is not known.
struct Choice {
  int number;  ///< Of the `if`: each time, one of its branches runs.
  bool holds;  ///< The statement is in the first of them.
  int depth;   ///< How many loops are around the `if`.
};

/// An outermost block of the tree: its instances are named by the values of its axes.
struct PlacedBlock {
  Ref realize;                              ///< The BlockRealize.
  int depth = 0;                            ///< How many loops are around it.
  std::vector<std::optional<Linear>> axes;  ///< Their values; nullopt where one is not linear.
  bool is_exact = true;                     ///< Loops and guards say exactly which instances run.
  /// It is the init of that block, where there is nothing to reduce; else null.
  Ptr<Block> started = nullptr;

  const BlockRealize& node() const { return *realize.as<BlockRealize>(); }
};

struct Statement {
  Stmt node;
  int block = -1;          ///< The outermost block around it, by number.
  std::vector<int> loops;  ///< From the outside in.
  std::vector<Clause> guards;
  std::vector<Context> surroundings;
  std::vector<Choice> choices;  ///< From the outside in.
  bool is_exact = true;         ///< Loops, guards and choices say exactly when it happens.
  int first_access = 0;
  int access_count = 0;
};

/// A statement of a sequence, with the leaf statements that it contains.
struct SequencePart {
  const Object* node;
  std::vector<int> loops;  ///< Around it.
  int first_statement;
  int end_statement = 0;
};

struct Program {
  std::vector<SymbolInfo> symbols;
  std::vector<Loop> loops;
  std::vector<Statement> statements;  ///< In the order of the text.
  std::vector<Access> accesses;       ///< Statement by statement.
  std::vector<SequencePart> parts;
  std::vector<PlacedBlock> blocks;

  /// The loop of that variable, or -1.
  int find_loop(const Ptr<Var>& variable) const;
  /// How many loops surround both statements.
  int common_depth(int a, int b) const;
  /// Constants between which the form lies.
  Interval range(const Linear& form) const;
  /// Appends the maxima of which the form is made.
  void find_maxima(const Linear& form, std::vector<Symbol>& found) const;
  /// Those in the index of an access, and in what says when it happens.
  std::vector<Symbol> maxima_of(const Access& access) const;
};

/// Values of variables that are to be taken as known.
using KnownValues = std::vector<std::pair<Ptr<Var>, std::int64_t>>;

/// Reads a statement. What is not quasi-affine is widened to any value, never left out. `local`:
/// buffers that are allocated around it and used only in it; `shared`: those allocated in it, of
/// which there is one for all iterations.
Program extract(const Stmt& root, const std::vector<Ptr<Buffer>>& local = {},
                const std::vector<Ptr<Buffer>>& shared = {}, const KnownValues& known = {});
/// Reads two statements as if one followed the other; statements from number `border` on are of the
/// second.
Program extract_both(const Stmt& first, const Stmt& second, const std::vector<Ptr<Buffer>>& local,
                     int& border);

}  // namespace loopsmith::dependence
