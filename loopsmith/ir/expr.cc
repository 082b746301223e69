// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/expr.h"

#include <array>
#include <cmath>

#include "loopsmith/ir/access.h"
#include "loopsmith/ir/buffer.h"
#include "loopsmith/ir/tensor.h"
#include "loopsmith/ir/type_name.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

constexpr std::int64_t max_lanes = 0xFFFF;

/// The operands have one type; the result has it too.
template <class T>
void canonicalize_arithmetic(T& node, std::string_view what) {
  const DataType a = node.a.dtype();
  const DataType b = node.b.dtype();
  require(a == b, ErrorKind::type_mismatch, "operands_have_one_type",
          hint("cast one operand, or build it with the operator, which converts"), node.span,
          "{}: the operands are {} and {}, not of one type", what, TypeName(a), TypeName(b));
  require(!a.is_void() && !(a.is_handle()), ErrorKind::type_mismatch, "operands_are_numbers",
          hint("only numbers can be computed with"), node.span,
          "{}: the operands are {}, not numbers", what, TypeName(a));
  node.dtype = a;
}

template <class T>
void canonicalize_integer_arithmetic(T& node, std::string_view what) {
  canonicalize_arithmetic(node, what);
  require(node.dtype.is_integer(), ErrorKind::type_mismatch, "operands_are_integers",
          hint("use Div, or fmod, for floating-point operands"), node.span,
          "{}: the operands are {}, not integers", what, TypeName(node.dtype));
}

template <class T>
void canonicalize_comparison(T& node, std::string_view what) {
  const DataType a = node.a.dtype();
  const DataType b = node.b.dtype();
  require(a == b, ErrorKind::type_mismatch, "operands_have_one_type",
          hint("cast one operand, or build it with the operator, which converts"), node.span,
          "{}: the operands are {} and {}, not of one type", what, TypeName(a), TypeName(b));
  node.dtype = boolean.with_lanes(a.lanes);
}

template <class T>
void canonicalize_logic(T& node, std::string_view what) {
  canonicalize_comparison(node, what);
  require(node.a.dtype().is_bool(), ErrorKind::type_mismatch, "operands_are_bool",
          hint("compare with 0 to make a bool"), node.span, "{}: the operands are {}, not bool",
          what, TypeName(node.a.dtype()));
}

DataType with_lanes(const Object& node, DataType element, std::int64_t lanes,
                    std::string_view what) {
  require(lanes >= 1 && lanes <= max_lanes && lanes != scalable_lanes, ErrorKind::type_mismatch,
          "lanes_in_range",
          hint("a vector has 1 to 32767 lanes; split the loop by a smaller factor"), node.span,
          "{}: {} lanes", what, lanes);
  return element.with_lanes(static_cast<int>(lanes));
}

/// Checks indices of a buffer; gives the lanes of the access.
int check_indices(const Object& node, const Buffer& buffer, const std::vector<Expr>& indices,
                  std::string_view what) {
  require(indices.size() == buffer.shape.size(), ErrorKind::type_mismatch, "one_index_a_dimension",
          hint("give one index for each dimension"), node.span,
          "{}: buffer {} has {} dimensions, {} indices were given", what, buffer.name,
          buffer.shape.size(), indices.size());
  int lanes = 1;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const DataType type = indices[i].dtype();
    require(type.is_integer(), ErrorKind::type_mismatch, "index_is_integer",
            hint("cast the index to int32 or int64"), node.span,
            "{}: index {} of buffer {} is {}, not an integer", what, i, buffer.name,
            TypeName(type));
    require(type.is_scalar() || i + 1 == indices.size(), ErrorKind::type_mismatch,
            "only_last_index_is_vector", hint("make the vectorised loop the last dimension"),
            node.span, "{}: index {} of buffer {} is a vector, only the last may be", what, i,
            buffer.name);
    lanes = type.lanes;
  }
  return lanes;
}

}  // namespace

namespace detail {
/// Shared by loads and stores: the type of what is accessed.
DataType access_type(const Object& node, const Ptr<Buffer>& buffer,
                     const std::vector<Expr>& indices, const Expr& predicate,
                     std::string_view what) {
  const int lanes = check_indices(node, *buffer, indices, what);
  const DataType type =
      with_lanes(node, buffer->dtype, std::int64_t{lanes} * buffer->dtype.lanes, what);
  require(!predicate.defined() || predicate.dtype() == boolean.with_lanes(lanes),
          ErrorKind::type_mismatch, "predicate_is_mask", hint("give a bool for each lane"),
          node.span, "{}: the predicate is {}, expected {}", what,
          predicate.defined() ? to_string(predicate.dtype()) : "",
          TypeName(boolean.with_lanes(lanes)));
  return type;
}
}  // namespace detail

void canonicalize(IntImm& node) {
  const DataType type = node.dtype;
  require(type.is_integer() && type.is_scalar(), ErrorKind::type_mismatch, "constant_is_integer",
          hint("use float_imm for floating-point constants"), node.span,
          "constant {} is {}, not a scalar integer", node.value, TypeName(type));
  const bool fits = type == u64 || (node.value >= min_int(type) && node.value <= max_int(type));
  require(fits, ErrorKind::bounds, "constant_in_range", hint("use a wider type"), node.span,
          "constant {} is out of the range of {}", node.value, TypeName(type));
}

void canonicalize(FloatImm& node) {
  const DataType type = node.dtype;
  require(type.is_float() && type.is_scalar(), ErrorKind::type_mismatch, "constant_is_float",
          hint("use int_imm for integer constants"), node.span,
          "constant {} is {}, not a scalar float", node.value, TypeName(type));
  const double rounded = round_to(type, node.value);
  // The largest number that is nearer to 448 than to 480, which e4m3 has no infinity instead of.
  constexpr double largest_e4m3 = 464;
  const bool fits = type == f8e4m3 ? std::abs(node.value) <= largest_e4m3 : std::isfinite(rounded);
  require(fits || !std::isfinite(node.value), ErrorKind::bounds, "constant_in_range",
          hint("use a wider type"), node.span, "constant {} is out of the range of {}", node.value,
          TypeName(type));
  node.value = rounded;
}

void canonicalize(StringImm& node) {
  node.dtype = handle_type;
}
void canonicalize(GlobalVar& node) {
  node.dtype = handle_type;
}

void canonicalize(PointerType& node) {
  if (node.storage_scope.empty()) node.storage_scope = "global";
}

void canonicalize(Var& node) {
  if (node.pointer && node.dtype.is_void()) node.dtype = handle_type;
  require(!node.dtype.is_void(), ErrorKind::type_mismatch, "variable_has_type",
          hint("give the variable a data type"), node.span, "variable {} has type void", node.name);
  require(!node.is_size || (node.dtype.is_integer() && node.dtype.is_scalar()),
          ErrorKind::type_mismatch, "size_is_integer", hint("make it int32 or int64"), node.span,
          "size variable {} is {}, not an integer", node.name, TypeName(node.dtype));
}

void canonicalize(Cast& node) {
  const DataType from = node.value.dtype();
  require(from.lanes == node.dtype.lanes, ErrorKind::type_mismatch, "cast_keeps_lanes",
          hint("broadcast the value first"), node.span,
          "cast: {} to {} changes the number of lanes", TypeName(from), TypeName(node.dtype));
  require(from.is_handle() == node.dtype.is_handle() && !node.dtype.is_void(),
          ErrorKind::type_mismatch, "cast_of_number", hint("use reinterpret for pointers"),
          node.span, "cast: {} to {}", TypeName(from), TypeName(node.dtype));
}

void canonicalize(Add& node) {
  canonicalize_arithmetic(node, "Add");
}
void canonicalize(Sub& node) {
  canonicalize_arithmetic(node, "Sub");
}
void canonicalize(Mul& node) {
  canonicalize_arithmetic(node, "Mul");
}
void canonicalize(Div& node) {
  canonicalize_arithmetic(node, "Div");
}
void canonicalize(Mod& node) {
  canonicalize_integer_arithmetic(node, "Mod");
}
void canonicalize(FloorDiv& node) {
  canonicalize_integer_arithmetic(node, "FloorDiv");
}
void canonicalize(FloorMod& node) {
  canonicalize_integer_arithmetic(node, "FloorMod");
}
void canonicalize(Min& node) {
  canonicalize_arithmetic(node, "Min");
}
void canonicalize(Max& node) {
  canonicalize_arithmetic(node, "Max");
}
void canonicalize(EQ& node) {
  canonicalize_comparison(node, "EQ");
}
void canonicalize(NE& node) {
  canonicalize_comparison(node, "NE");
}
void canonicalize(LT& node) {
  canonicalize_comparison(node, "LT");
}
void canonicalize(LE& node) {
  canonicalize_comparison(node, "LE");
}
void canonicalize(GT& node) {
  canonicalize_comparison(node, "GT");
}
void canonicalize(GE& node) {
  canonicalize_comparison(node, "GE");
}
void canonicalize(And& node) {
  canonicalize_logic(node, "And");
}
void canonicalize(Or& node) {
  canonicalize_logic(node, "Or");
}

void canonicalize(Not& node) {
  require(node.a.dtype().is_bool(), ErrorKind::type_mismatch, "operands_are_bool",
          hint("compare with 0 to make a bool"), node.span, "Not: the operand is {}, not bool",
          TypeName(node.a.dtype()));
  node.dtype = node.a.dtype();
}

void canonicalize(Select& node) {
  const DataType condition = node.condition.dtype();
  const DataType yes = node.true_value.dtype();
  const DataType no = node.false_value.dtype();
  require(yes == no, ErrorKind::type_mismatch, "operands_have_one_type",
          hint("cast one of the values"), node.span,
          "Select: the values are {} and {}, not of one type", TypeName(yes), TypeName(no));
  require(condition.is_bool() && (condition.is_scalar() || condition.lanes == yes.lanes),
          ErrorKind::type_mismatch, "condition_is_bool", hint("give a bool, or one for each lane"),
          node.span, "Select: the condition is {}, the values are {}", TypeName(condition),
          TypeName(yes));
  node.dtype = yes;
}

void canonicalize(Ramp& node) {
  const DataType type = node.base.dtype();
  require(type.is_integer() && type.is_scalar() && type == node.stride.dtype(),
          ErrorKind::type_mismatch, "ramp_of_integers",
          hint("give base and stride one integer type"), node.span,
          "Ramp: base is {}, stride is {}", TypeName(type), TypeName(node.stride.dtype()));
  node.dtype = with_lanes(node, type, node.lanes, "Ramp");
}

void canonicalize(Broadcast& node) {
  const DataType type = node.value.dtype();
  require(type.is_scalar(), ErrorKind::type_mismatch, "broadcast_of_scalar",
          hint("broadcast a scalar"), node.span, "Broadcast: the value is {}, not a scalar",
          TypeName(type));
  node.dtype = with_lanes(node, type, node.lanes, "Broadcast");
}

void canonicalize(Shuffle& node) {
  require(!node.vectors.empty() && !node.indices.empty(), ErrorKind::type_mismatch,
          "shuffle_has_operands", hint("give at least one vector and one index"), node.span,
          "Shuffle: {} vectors, {} indices", node.vectors.size(), node.indices.size());
  std::int64_t lanes = 0;
  for (const Expr& vector : node.vectors) {
    require(vector.dtype().element() == node.vectors[0].dtype().element(), ErrorKind::type_mismatch,
            "operands_have_one_type", hint("cast the vectors to one type"), node.span,
            "Shuffle: vectors of {} and {}", TypeName(node.vectors[0].dtype()),
            TypeName(vector.dtype()));
    lanes += vector.dtype().lanes;
  }
  for (const Expr& index : node.indices) {
    const std::int64_t* value = as_int(index);
    require(value && *value >= 0 && *value < lanes, ErrorKind::bounds, "shuffle_index_in_range",
            hint("indices are constants that count the lanes of all vectors"), node.span,
            "Shuffle: an index is not a constant in [0, {})", lanes);
  }
  node.dtype = with_lanes(node, node.vectors[0].dtype().element(),
                          static_cast<std::int64_t>(node.indices.size()), "Shuffle");
}

void canonicalize(Let& node) {
  require(node.var->dtype == node.value.dtype(), ErrorKind::type_mismatch, "let_has_type_of_value",
          hint("cast the value"), node.span, "Let: variable {} is {}, its value {}", node.var->name,
          TypeName(node.var->dtype), TypeName(node.value.dtype()));
  node.dtype = node.body.dtype();
}

void canonicalize(BufferLoad& node) {
  node.dtype = detail::access_type(node, node.buffer, node.indices, node.predicate, "load");
}

void canonicalize(ProducerLoad& node) {
  require(node.indices.size() == node.producer->shape.size(), ErrorKind::type_mismatch,
          "one_index_a_dimension", hint("give one index for each dimension"), node.span,
          "a tensor of {} dimensions needs as many indices, {} were given",
          node.producer->shape.size(), node.indices.size());
  for (std::size_t i = 0; i < node.indices.size(); ++i) {
    require(node.indices[i].dtype().is_integer(), ErrorKind::type_mismatch, "index_is_integer",
            hint("cast the index to int32 or int64"), node.span,
            "index {} of a tensor is {}, not an integer", i, TypeName(node.indices[i].dtype()));
  }
  node.dtype = node.producer->dtype;
}

void canonicalize(Range& node) {
  require(node.min.dtype() == node.extent.dtype() && node.min.dtype().is_integer() &&
              node.min.dtype().is_scalar(),
          ErrorKind::type_mismatch, "range_of_integers",
          hint("give min and extent one integer type"), node.span, "range: min is {}, extent is {}",
          TypeName(node.min.dtype()), TypeName(node.extent.dtype()));
}

void canonicalize(IterVar& node) {
  require(!node.dom || node.dom->extent.dtype() == node.var->dtype, ErrorKind::type_mismatch,
          "axis_has_type_of_domain", hint("cast the extent, or give the axis its type"), node.span,
          "axis {} is {}, its domain {}", node.var->name, TypeName(node.var->dtype),
          node.dom ? to_string(node.dom->extent.dtype()) : "");
}

void canonicalize(CommReducer& node) {
  const std::size_t n = node.result.size();
  require(
      n > 0 && node.lhs.size() == n && node.rhs.size() == n && node.identity_element.size() == n,
      ErrorKind::type_mismatch, "reducer_is_whole",
      hint("the combination and the identity give as many values as it takes"), node.span,
      "reducer: {} and {} operands, {} results, {} identity elements", node.lhs.size(),
      node.rhs.size(), n, node.identity_element.size());
  for (std::size_t i = 0; i < n; ++i) {
    const DataType type = node.lhs[i]->dtype;
    require(type == node.rhs[i]->dtype && type == node.result[i].dtype() &&
                type == node.identity_element[i].dtype(),
            ErrorKind::type_mismatch, "reducer_has_one_type",
            hint("give operands, result and identity one type"), node.span,
            "reducer: value {} is {}, {}, its result {}, its identity {}", i, TypeName(type),
            TypeName(node.rhs[i]->dtype), TypeName(node.result[i].dtype()),
            TypeName(node.identity_element[i].dtype()));
  }
}

void canonicalize(Reduce& node) {
  const std::size_t n = node.combiner->result.size();
  require(node.source.size() == n, ErrorKind::type_mismatch, "reduction_fits_reducer",
          hint("reduce as many values as the reducer combines"), node.span,
          "reduction: {} values for a reducer of {}", node.source.size(), n);
  require(node.init.empty() || node.init.size() == n, ErrorKind::type_mismatch,
          "reduction_fits_reducer", hint("give one initial value for each"), node.span,
          "reduction: {} initial values for a reducer of {}", node.init.size(), n);
  require(node.condition.dtype() == boolean, ErrorKind::type_mismatch, "condition_is_bool",
          hint("give a comparison"), node.span, "reduction: the condition is {}, not bool",
          TypeName(node.condition.dtype()));
  require(node.value_index >= 0 && static_cast<std::size_t>(node.value_index) < n,
          ErrorKind::bounds, "reduction_value_in_range", hint("count from 0"), node.span,
          "reduction: value {} of a reducer of {}", node.value_index, n);
  for (std::size_t i = 0; i < n; ++i) {
    const DataType expected = node.combiner->lhs[i]->dtype;
    require(node.source[i].dtype() == expected &&
                (node.init.empty() || node.init[i].dtype() == expected),
            ErrorKind::type_mismatch, "reduction_fits_reducer", hint("cast the value"), node.span,
            "reduction: value {} is {}, the reducer takes {}", i, TypeName(node.source[i].dtype()),
            TypeName(expected));
  }
  node.dtype = node.source[static_cast<std::size_t>(node.value_index)].dtype();
}

namespace {

/// int32 constants that are asked for again and again, and bools; never deleted.
constexpr int smallest_cached = -16;
constexpr int largest_cached = 255;

const IntImm* immortal_constant(DataType dtype, std::int64_t value) {
  auto* node = new IntImm{.value = value};
  node->dtype = dtype;
  node->span = {};
  node->count = Object::immortal;
  return node;
}

const IntImm* cached_constant(int value) {
  static const auto* cache = [] {
    auto* constants = new std::array<const IntImm*, largest_cached - smallest_cached + 1>;
    for (int i = smallest_cached; i <= largest_cached; ++i) {
      (*constants)[static_cast<std::size_t>(i - smallest_cached)] = immortal_constant(i32, i);
    }
    return constants;
  }();
  return (*cache)[static_cast<std::size_t>(value - smallest_cached)];
}

}  // namespace

Expr::Expr(int value) : Expr(int_imm(i32, value)) {}
Expr::Expr(bool value) : Expr(int_imm(boolean, value ? 1 : 0)) {}

Expr int_imm(DataType dtype, std::int64_t value) {
  if (dtype == i32 && value >= smallest_cached && value <= largest_cached) {
    return Expr(static_cast<const ExprBase*>(cached_constant(static_cast<int>(value))));
  }
  if (dtype == boolean && (value == 0 || value == 1)) {
    static const IntImm* constants[] = {immortal_constant(boolean, 0),
                                        immortal_constant(boolean, 1)};
    return Expr(static_cast<const ExprBase*>(constants[value]));
  }
  return make(IntImm{.value = value}, dtype);
}

Expr float_imm(DataType dtype, double value) {
  return make(FloatImm{.value = value}, dtype);
}
Expr string_imm(std::string value) {
  return make(StringImm{.value = std::move(value)});
}

Expr const_of(DataType dtype, double value) {
  const DataType element = dtype.element();
  Expr scalar;
  if (element.is_float()) {
    scalar = float_imm(element, value);
  } else {
    require(std::abs(value) <= std::ldexp(1.0, 62) && value == std::trunc(value), ErrorKind::bounds,
            "constant_in_range", hint("give a whole number that fits the type"), {},
            "constant {} is not a value of {}", value, TypeName(element));
    scalar = int_imm(element, static_cast<std::int64_t>(value));
  }
  return dtype.is_scalar() ? scalar : Expr(make(Broadcast{.value = scalar, .lanes = dtype.lanes}));
}

Expr zero_of(DataType dtype) {
  return const_of(dtype, 0);
}

Ptr<Var> var(std::string name, DataType dtype) {
  return make(Var{.name = std::move(name)}, dtype);
}

Ptr<Var> size_var(std::string name, DataType dtype) {
  return make(Var{.name = std::move(name), .is_size = true}, dtype);
}

Ptr<Var> pointer_var(std::string name, DataType element, std::string scope) {
  auto pointer = make(PointerType{.element = element, .storage_scope = std::move(scope)});
  return make(Var{.name = std::move(name), .pointer = std::move(pointer)}, handle_type);
}

namespace {

/// An integer as one of another type.
Expr as_integer(DataType type, const Expr& value) {
  if (value.dtype() == type) return value;
  const auto* constant = value.as<IntImm>();
  if (constant) return int_imm(type, constant->value);
  Cast made{.value = value};
  made.dtype = type;
  return make(std::move(made));
}

}  // namespace

Ptr<Range> range(Expr min, Expr extent) {
  const DataType from = min.dtype(), count = extent.dtype();
  if (from.is_index() && count.is_index() && from.is_scalar() && count.is_scalar()) {
    const DataType wider = from.bits < count.bits ? count : from;
    min = as_integer(wider, min);
    extent = as_integer(wider, extent);
  }
  return make(Range{.min = std::move(min), .extent = std::move(extent)});
}

const std::int64_t* as_int(const Expr& expr) {
  if (const auto* broadcast = expr.as<Broadcast>()) return as_int(broadcast->value);
  const auto* constant = expr.as<IntImm>();
  return constant ? &constant->value : nullptr;
}

bool is_const_int(const Expr& expr, std::int64_t value) {
  if (const auto* real = as_float(expr)) return *real == static_cast<double>(value);
  const std::int64_t* constant = as_int(expr);
  return constant && *constant == value;
}

const double* as_float(const Expr& expr) {
  if (const auto* broadcast = expr.as<Broadcast>()) return as_float(broadcast->value);
  const auto* constant = expr.as<FloatImm>();
  return constant ? &constant->value : nullptr;
}

}  // namespace loopsmith
