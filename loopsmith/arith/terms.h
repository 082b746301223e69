// SPDX-License-Identifier: Apache-2.0
// Expressions as the analysis sees them: numbered, each structure once, so that equality is that of
// two numbers and what is known of a term is an array element. Private to this floor.
#pragma once
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "loopsmith/ir/expr.h"
#include "loopsmith/ir/node_map.h"

namespace loopsmith::arith {

/// A term: its number in a `Terms`.
enum class Term : std::uint32_t { none = 0 };

constexpr std::size_t index_of(Term term) {
  return static_cast<std::size_t>(term);
}

/// What a term is. GT and GE are `lt` and `le` with their operands swapped.
enum class Kind : std::uint8_t {
  constant,  ///< An integer or bool, or that value in each lane of a vector.
  variable,
  other,  ///< Anything without a kind of its own, by identity.
  real,   ///< A floating-point constant.
  add,
  sub,
  mul,
  div,
  mod,
  floordiv,
  floormod,
  min,
  max,
  eq,
  ne,
  lt,
  le,
  and_,
  or_,
  not_,
  select,
  if_then_else,
  cast,
  ramp,
  broadcast,
  call,  ///< Of an intrinsic without an effect.
  load,  ///< Of a buffer.
};
inline constexpr std::size_t kind_count = static_cast<std::size_t>(Kind::load) + 1;

constexpr bool is_binary(Kind kind) {
  return kind >= Kind::add && kind <= Kind::or_;
}
constexpr bool is_division(Kind kind) {
  return kind >= Kind::div && kind <= Kind::floormod;
}
constexpr bool is_comparison(Kind kind) {
  return kind >= Kind::eq && kind <= Kind::le;
}
constexpr bool is_commutative(Kind kind) {
  return kind == Kind::add || kind == Kind::mul || kind == Kind::min || kind == Kind::max ||
         kind == Kind::eq || kind == Kind::ne || kind == Kind::and_ || kind == Kind::or_;
}

/// One term. Operands are in `a`, `b`, `c`; those of a call or load in `Terms::arguments`.
struct TermNode {
  Kind kind = Kind::other;
  bool has_effect = false;    ///< Evaluating it does something: it is kept as it stands.
  bool reads_memory = false;  ///< Its value may change between statements.
  bool is_data = false;  ///< Made of values that a program reads: they may be any of their type.
  DataType type;
  Term a = Term::none;
  Term b = Term::none;
  Term c = Term::none;
  std::int64_t value = 0;  ///< A constant; the bits of a real; an intrinsic; an identity.
};

/// The bank of terms.
class Terms {
 public:
  Terms();
  Terms(const Terms&) = delete;
  Terms& operator=(const Terms&) = delete;

  /// The term of an expression. Shared nodes are read once; any depth.
  Term read(const Expr& expr);
  /// An expression of the term: the one it was read from, if any.
  Expr to_expr(Term term);

  Term constant(DataType type, std::int64_t value);
  Term real(DataType type, double value);
  Term boolean_of(bool value, int lanes = 1);
  Term make(Kind kind, DataType type, Term a, Term b = Term::none, Term c = Term::none);
  Term make_call(DataType type, Op op, std::span<const Term> arguments);
  /// A call or load like `like`, of other arguments.
  Term with_arguments(Term like, std::span<const Term> arguments);

  const TermNode& operator[](Term term) const { return nodes_[index_of(term)]; }
  std::span<const Term> arguments(Term term) const;
  /// A variable holds a value that the program read, or made of such.
  void mark_data(Term variable) { nodes_[index_of(variable)].is_data = true; }
  std::size_t size() const { return nodes_.size(); }
  /// Forgets all terms but `roots` and what they are made of; gives the new number of each old
  /// term.
  std::vector<Term> compact(std::span<const Term> roots);

  bool is_constant(Term term) const { return (*this)[term].kind == Kind::constant; }
  bool is_constant(Term term, std::int64_t value) const {
    return is_constant(term) && (*this)[term].value == value;
  }
  DataType type(Term term) const { return (*this)[term].type; }
  Op op(Term call) const { return Op(static_cast<std::uint16_t>((*this)[call].value)); }
  bool is_call(Term term, Op op) const {
    return (*this)[term].kind == Kind::call && this->op(term) == op;
  }

 private:
  Term read_node(const ExprBase& node);
  Term read_leaf(const ExprBase& node, Kind kind);
  Term read_call(const Call& node);
  Term read_load(const BufferLoad& node);
  Term find_or_add(const TermNode& node, std::span<const Term> arguments = {});
  void remember(Term term, const ExprBase& node);
  void fill_table();
  Expr build(Term term);
  std::vector<Expr> build_arguments(Term term);

  std::vector<TermNode> nodes_;
  std::vector<Expr> origins_;
  std::vector<Term> arguments_;
  std::vector<std::uint32_t> table_;
  std::unordered_map<const Object*, Ref> buffers_;  ///< Those whose addresses are in nodes.
  NodeMap<Term> known_;                             ///< Shared nodes that have been read.
};

}  // namespace loopsmith::arith
