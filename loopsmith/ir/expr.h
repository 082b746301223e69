// SPDX-License-Identifier: Apache-2.0
// The expressions. Names and fields are those of the field's scripts; `canonicalize` checks a node
// and derives its type.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "loopsmith/ir/node.h"
#include "loopsmith/support/lifetime.h"

namespace loopsmith {

/// An integer or bool constant of type `dtype`; a uint64 above INT64_MAX is stored by its bits.
struct IntImm : ExprNode<IntImm> {
  std::int64_t value = 0;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("value", &IntImm::value);
    visit("dtype", &IntImm::dtype);
  }
};
void canonicalize(IntImm& node);

/// A floating-point constant; `value` is representable in `dtype`.
struct FloatImm : ExprNode<FloatImm> {
  double value = 0;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("value", &FloatImm::value);
    visit("dtype", &FloatImm::dtype);
  }
};
void canonicalize(FloatImm& node);

/// A text constant: names of functions, messages.
struct StringImm : ExprNode<StringImm> {
  std::string value;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("value", &StringImm::value);
  }
};
void canonicalize(StringImm& node);

/// What a pointer points to.
struct PointerType : PartNode<PointerType> {
  DataType element;
  std::string storage_scope;  ///< `global` unless given.

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("element", &PointerType::element);
    visit("storage_scope", &PointerType::storage_scope);
  }
};
void canonicalize(PointerType& node);

/// A variable is its object: two of the same name differ.
struct Var : ExprNode<Var> {
  std::string name;
  Ptr<PointerType> pointer;  ///< For handles whose element type is known; else null.
  bool is_size = false;      ///< A size: never negative (SizeVar).

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("name", &Var::name, Role::label);
    visit("dtype", &Var::dtype);
    visit("pointer", &Var::pointer, Role::optional);
    visit("is_size", &Var::is_size);
  }
};
void canonicalize(Var& node);

/// `value` converted to `dtype`; what is lost is in docs/semantics.md.
struct Cast : ExprNode<Cast> {
  Expr value;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("dtype", &Cast::dtype);
    visit("value", &Cast::value);
  }
};
void canonicalize(Cast& node);

struct Add : ExprNode<Add> {
  Expr a, b;
  template <class V>
  static constexpr void fields(V&& visit) {
    visit("a", &Add::a), visit("b", &Add::b);
  }
};
struct Sub : ExprNode<Sub> {
  Expr a, b;
  template <class V>
  static constexpr void fields(V&& visit) {
    visit("a", &Sub::a), visit("b", &Sub::b);
  }
};
struct Mul : ExprNode<Mul> {
  Expr a, b;
  template <class V>
  static constexpr void fields(V&& visit) {
    visit("a", &Mul::a), visit("b", &Mul::b);
  }
};
/// Division; of integers, rounded toward zero.
struct Div : ExprNode<Div> {
  Expr a, b;
  template <class V>
  static constexpr void fields(V&& visit) {
    visit("a", &Div::a), visit("b", &Div::b);
  }
};
/// The remainder of Div: it has the sign of `a`.
struct Mod : ExprNode<Mod> {
  Expr a, b;
  template <class V>
  static constexpr void fields(V&& visit) {
    visit("a", &Mod::a), visit("b", &Mod::b);
  }
};
/// Integer division rounded down.
struct FloorDiv : ExprNode<FloorDiv> {
  Expr a, b;
  template <class V>
  static constexpr void fields(V&& visit) {
    visit("a", &FloorDiv::a), visit("b", &FloorDiv::b);
  }
};
/// The remainder of FloorDiv: it has the sign of `b`.
struct FloorMod : ExprNode<FloorMod> {
  Expr a, b;
  template <class V>
  static constexpr void fields(V&& visit) {
    visit("a", &FloorMod::a), visit("b", &FloorMod::b);
  }
};
/// The smaller; of floats, NaN if either is.
struct Min : ExprNode<Min> {
  Expr a, b;
  template <class V>
  static constexpr void fields(V&& visit) {
    visit("a", &Min::a), visit("b", &Min::b);
  }
};
/// The larger; of floats, NaN if either is.
struct Max : ExprNode<Max> {
  Expr a, b;
  template <class V>
  static constexpr void fields(V&& visit) {
    visit("a", &Max::a), visit("b", &Max::b);
  }
};
struct EQ : ExprNode<EQ> {
  Expr a, b;
  template <class V>
  static constexpr void fields(V&& visit) {
    visit("a", &EQ::a), visit("b", &EQ::b);
  }
};
struct NE : ExprNode<NE> {
  Expr a, b;
  template <class V>
  static constexpr void fields(V&& visit) {
    visit("a", &NE::a), visit("b", &NE::b);
  }
};
struct LT : ExprNode<LT> {
  Expr a, b;
  template <class V>
  static constexpr void fields(V&& visit) {
    visit("a", &LT::a), visit("b", &LT::b);
  }
};
struct LE : ExprNode<LE> {
  Expr a, b;
  template <class V>
  static constexpr void fields(V&& visit) {
    visit("a", &LE::a), visit("b", &LE::b);
  }
};
struct GT : ExprNode<GT> {
  Expr a, b;
  template <class V>
  static constexpr void fields(V&& visit) {
    visit("a", &GT::a), visit("b", &GT::b);
  }
};
struct GE : ExprNode<GE> {
  Expr a, b;
  template <class V>
  static constexpr void fields(V&& visit) {
    visit("a", &GE::a), visit("b", &GE::b);
  }
};
/// Both; neither side has an effect, so either may be evaluated.
struct And : ExprNode<And> {
  Expr a, b;
  template <class V>
  static constexpr void fields(V&& visit) {
    visit("a", &And::a), visit("b", &And::b);
  }
};
struct Or : ExprNode<Or> {
  Expr a, b;
  template <class V>
  static constexpr void fields(V&& visit) {
    visit("a", &Or::a), visit("b", &Or::b);
  }
};
struct Not : ExprNode<Not> {
  Expr a;
  template <class V>
  static constexpr void fields(V&& visit) {
    visit("a", &Not::a);
  }
};
void canonicalize(Add& node);
void canonicalize(Sub& node);
void canonicalize(Mul& node);
void canonicalize(Div& node);
void canonicalize(Mod& node);
void canonicalize(FloorDiv& node);
void canonicalize(FloorMod& node);
void canonicalize(Min& node);
void canonicalize(Max& node);
void canonicalize(EQ& node);
void canonicalize(NE& node);
void canonicalize(LT& node);
void canonicalize(LE& node);
void canonicalize(GT& node);
void canonicalize(GE& node);
void canonicalize(And& node);
void canonicalize(Or& node);
void canonicalize(Not& node);

/// One of two values, both of which are evaluated.
struct Select : ExprNode<Select> {
  Expr condition;
  Expr true_value;
  Expr false_value;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("condition", &Select::condition);
    visit("true_value", &Select::true_value);
    visit("false_value", &Select::false_value);
  }
};
void canonicalize(Select& node);

/// The vector base, base + stride, ..., of `lanes` values.
struct Ramp : ExprNode<Ramp> {
  Expr base;
  Expr stride;
  std::int64_t lanes = 1;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("base", &Ramp::base);
    visit("stride", &Ramp::stride);
    visit("lanes", &Ramp::lanes);
  }
};
void canonicalize(Ramp& node);

/// The vector of `lanes` times `value`.
struct Broadcast : ExprNode<Broadcast> {
  Expr value;
  std::int64_t lanes = 1;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("value", &Broadcast::value);
    visit("lanes", &Broadcast::lanes);
  }
};
void canonicalize(Broadcast& node);

/// Lanes chosen by constant `indices` from the concatenation of `vectors`.
struct Shuffle : ExprNode<Shuffle> {
  std::vector<Expr> vectors;
  std::vector<Expr> indices;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("vectors", &Shuffle::vectors);
    visit("indices", &Shuffle::indices);
  }
};
void canonicalize(Shuffle& node);

/// `body`, in which `var` is `value`.
struct Let : ExprNode<Let> {
  Expr value;
  Ptr<Var> var;
  Expr body;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("value", &Let::value);
    visit("var", &Let::var, Role::binds);
    visit("body", &Let::body);
  }
};
void canonicalize(Let& node);

/// The intrinsic `op` applied to `args`.
struct Call : ExprNode<Call> {
  Op op;
  std::vector<Expr> args;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("dtype", &Call::dtype);
    visit("op", &Call::op);
    visit("args", &Call::args);
  }
};
void canonicalize(Call& node);

/// The name of a function of the module; the first argument of a `call_global`.
struct GlobalVar : ExprNode<GlobalVar> {
  std::string name_hint;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("name_hint", &GlobalVar::name_hint);
  }
};
void canonicalize(GlobalVar& node);

/// Elements of `buffer` at `indices`, one for each dimension; only the last may be a vector.
struct BufferLoad : ExprNode<BufferLoad> {
  Ptr<Buffer> buffer;
  std::vector<Expr> indices;
  Expr predicate;  ///< A bool for each lane; lanes without it are undefined. May be null.

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("buffer", &BufferLoad::buffer);
    visit("indices", &BufferLoad::indices);
    visit("predicate", &BufferLoad::predicate, Role::optional);
  }
};
void canonicalize(BufferLoad& node);

/// An element of a tensor, in tensor expressions only.
struct ProducerLoad : ExprNode<ProducerLoad> {
  Ptr<Tensor> producer;
  std::vector<Expr> indices;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("producer", &ProducerLoad::producer);
    visit("indices", &ProducerLoad::indices);
  }
};
void canonicalize(ProducerLoad& node);

/// The values min, min + 1, ..., min + extent - 1.
struct Range : PartNode<Range> {
  Expr min;
  Expr extent;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("min", &Range::min);
    visit("extent", &Range::extent);
  }
};
void canonicalize(Range& node);

/// What an axis may be used for.
enum class IterType : std::int32_t {
  data_par,      ///< Spatial: each value writes its own elements (S).
  thread_index,  ///< A GPU thread.
  comm_reduce,   ///< A commutative reduction (R).
  ordered,       ///< In order: scans.
  opaque,        ///< Nothing is known of it.
};
template <>
struct EnumNames<IterType> {
  static constexpr std::string_view names[] = {"data_par", "thread_index", "comm_reduce", "ordered",
                                               "opaque"};
};

/// An axis: a variable with its domain and what it may be used for.
struct IterVar : PartNode<IterVar> {
  Ptr<Range> dom;  ///< May be null for threads.
  Ptr<Var> var;
  IterType iter_type = IterType::data_par;
  std::string thread_tag;  ///< `threadIdx.x`, ...; empty for others.

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("dom", &IterVar::dom, Role::optional);
    visit("var", &IterVar::var, Role::binds);
    visit("iter_type", &IterVar::iter_type);
    visit("thread_tag", &IterVar::thread_tag);
  }
};
void canonicalize(IterVar& node);

/// A commutative, associative combination of tuples: `result` of `lhs` and `rhs`, with its neutral
/// element.
struct CommReducer : PartNode<CommReducer> {
  std::vector<Ptr<Var>> lhs;
  std::vector<Ptr<Var>> rhs;
  std::vector<Expr> result;
  std::vector<Expr> identity_element;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("lhs", &CommReducer::lhs, Role::binds);
    visit("rhs", &CommReducer::rhs, Role::binds);
    visit("result", &CommReducer::result);
    visit("identity_element", &CommReducer::identity_element);
  }
};
void canonicalize(CommReducer& node);

/// Element `value_index` of the reduction of `source` over `axis`, in tensor expressions only.
struct Reduce : ExprNode<Reduce> {
  Ptr<CommReducer> combiner;
  std::vector<Ptr<IterVar>> axis;
  std::vector<Expr> source;
  std::vector<Expr> init;  ///< What to start from; empty: the neutral element.
  Expr condition;          ///< Where false, nothing is combined.
  std::int64_t value_index = 0;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("combiner", &Reduce::combiner);
    visit("axis", &Reduce::axis, Role::binds);
    visit("source", &Reduce::source);
    visit("init", &Reduce::init);
    visit("condition", &Reduce::condition);
    visit("value_index", &Reduce::value_index);
  }
};
void canonicalize(Reduce& node);

/// A function from indices to indices.
struct IndexMap : PartNode<IndexMap> {
  std::vector<Ptr<Var>> initial_indices;
  std::vector<Expr> final_indices;
  Ptr<IndexMap> inverse_index_map;  ///< Where the user gave it; else null.

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("initial_indices", &IndexMap::initial_indices, Role::binds);
    visit("final_indices", &IndexMap::final_indices);
    visit("inverse_index_map", &IndexMap::inverse_index_map, Role::optional);
  }
};

/// A list among annotations.
struct List : PartNode<List> {
  std::vector<Ref> items;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("items", &List::items);
  }
};

/// Named values among annotations.
struct Dict : PartNode<Dict> {
  Attrs items;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("items", &Dict::items);
  }
};

/// Constants. `int_imm` and `float_imm` check that the value fits the type.
Expr int_imm(DataType dtype, std::int64_t value);
Expr float_imm(DataType dtype, double value);
Expr string_imm(std::string value);
/// `value` as a constant of any numeric type, broadcast over its lanes.
Expr const_of(DataType dtype, double value);
Expr zero_of(DataType dtype);

/// New variables.
Ptr<Var> var(std::string name, DataType dtype = i32);
Ptr<Var> size_var(std::string name, DataType dtype = i32);
Ptr<Var> pointer_var(std::string name, DataType element, std::string scope = {});

Ptr<Range> range(Expr min, Expr extent);

/// The value of an integer constant, or of a broadcast one; nullptr for anything else.
const std::int64_t* as_int(const Expr& expr LOOPSMITH_LIFETIME_BOUND);
/// True for the integer (or float) constant `value`, or its broadcast.
bool is_const_int(const Expr& expr, std::int64_t value);
/// The value of a float constant; nullptr for anything else.
const double* as_float(const Expr& expr);

}  // namespace loopsmith
