// SPDX-License-Identifier: Apache-2.0
// Functions that make expressions, by the names of the script language.
#include <cmath>

#include "bindings/ir_detail.h"
#include "loopsmith/ir/math_functions.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/packed_array.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/type_name.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

/// Operands of a packed call: buffers are passed whole.
std::vector<Expr> packed_arguments(const nb::args& args) {
  std::vector<Expr> expressions;
  for (nb::handle arg : args) {
    const auto buffer = Ptr<Buffer>::from(node_of(arg));
    expressions.push_back(buffer ? make_packed_array(buffer) : to_expr(arg, void_type));
    require(expressions.back().defined(), ErrorKind::type_mismatch, "argument_is_expression",
            hint("pass a buffer, an expression, a number or a text"), {},
            "an argument is a {}, not an expression", type_name_of(arg));
  }
  return expressions;
}

/// Arguments as expressions; numbers take the type of the first one that is an expression.
std::vector<Expr> arguments(const nb::args& args) {
  DataType like = void_type;
  for (nb::handle arg : args) {
    const Expr e = Expr::from(node_of(arg));
    if (e.defined() && !e.dtype().is_handle()) {
      like = e.dtype().element();
      break;
    }
  }
  std::vector<Expr> expressions;
  for (nb::handle arg : args) {
    expressions.push_back(to_expr(arg, like));
    require(expressions.back().defined(), ErrorKind::type_mismatch, "argument_is_expression",
            hint("pass an expression or a number; of a tensor, its elements: "
                 "te.compute(A.shape, lambda *i: f(A(*i)))"),
            {}, "an argument is a {}, not an expression", type_name_of(arg));
  }
  return expressions;
}

/// A number or an expression as a value of `type`: a float keeps all its digits on the way.
Expr as_type(nb::handle value, DataType type) {
  const bool is_real = PyFloat_Check(value.ptr());
  const Expr plain = to_expr(value, is_real && !type.is_float() ? f64 : type.element());
  require(plain.defined() && !plain.is<StringImm>(), ErrorKind::type_mismatch, "constant_is_number",
          hint("pass a number"), {}, "constant: a {} is no number", type_name_of(value));
  return cast(type, plain);
}

/// Whether a constant is a value of an integer type; true of what is no constant.
bool is_value_of(DataType type, const Expr& constant) {
  if (const auto* real = constant.as<FloatImm>()) return std::isfinite(real->value);
  const std::int64_t* value = as_int(constant);
  if (!value) return true;
  const bool is_huge = constant.dtype() == u64 && *value < 0;
  return is_huge ? type == u64 : *value >= min_int(type) && *value <= max_int(type);
}

/// A number of Python as a value of `type`, which has it.
Expr constant(nb::handle value, DataType type) {
  const DataType element = type.element();
  if (element.is_integer() && !element.is_bool()) {
    const Expr plain = to_expr(value);
    require(!plain.defined() || is_value_of(element, plain), ErrorKind::bounds, "constant_in_range",
            hint("use a wider type"), {}, "constant {} is out of the range of {}", plain,
            TypeName(element));
  }
  return as_type(value, type);
}

/// The operands of an element-wise function of two, as one type.
std::vector<Expr> matched(Op op, std::vector<Expr> args) {
  const MathFunction* function = find_math_function(op);
  const bool both = function && op.info().arity == 2 && args.size() == 2 && !function->is_mixed;
  if (!both) return args;
  auto [a, b] = match_types(args[0], args[1]);
  return {a, b};
}

Op op_named(std::string_view name) {
  if (name.starts_with("tir.")) name.remove_prefix(4);
  const OpInfo* info = find_op(name);
  require(info, ErrorKind::type_mismatch, "intrinsic_is_known", hint("see the table of intrinsics"),
          {}, "there is no intrinsic '{}'", name);
  return op_of(info);
}

std::string signature(const OpInfo& info) {
  std::string text = fmt::format("def {}(", info.name);
  if (info.result == Result::given) text += "dtype: str, ";
  if (info.arity < 0) {
    return text + (is_packed_call(op_of(&info)) ? "*args: ExprLike | Buffer" : "*args: ExprLike") +
           ") -> Expr";
  }
  static constexpr std::string_view names[] = {"x", "y", "z"};
  for (int i = 0; i < info.arity; ++i) {
    text += info.arity <= 3 ? fmt::format("{}: ExprLike, ", names[i])
                            : fmt::format("x{}: ExprLike, ", i);
  }
  return text + "/) -> Expr";
}

/// Intrinsics that operators or functions of their own make.
bool has_function(const OpInfo& info) {
  constexpr std::string_view others[] = {"if_then_else", "likely", "reinterpret", "call_global"};
  for (const std::string_view name : others) {
    if (info.name == name) return true;
  }
  return false;
}

void bind_intrinsics(nb::module_& m) {
  for (std::uint16_t i = 0; i < detail::op_count; ++i) {
    const Op op(i);
    const OpInfo& info = op.info();
    if (has_function(info)) continue;
    const MathFunction* function = find_math_function(op);
    std::string text = signature(info);
    if (const auto empty = text.find("(/)"); empty != std::string::npos)
      text.replace(empty, 3, "()");
    const nb::sig sig(kept(std::move(text)));
    if (info.result == Result::given) {
      m.def(
          info.name.data(),
          [op](DataType dtype, nb::args args) { return call(dtype, op, arguments(args)); }, sig);
    } else if (is_packed_call(op)) {
      const auto packed = [op](nb::args args) { return call(op, packed_arguments(args)); };
      m.def(info.name.data(), packed, sig);
      const std::string_view name = info.name.substr(std::string_view("tvm_").size());
      m.def(name.data(), packed,
            nb::sig(kept(fmt::format("def {}(*args: ExprLike | Buffer) -> Expr", name))));
    } else {
      m.def(
          info.name.data(), [op](nb::args args) { return call(op, matched(op, arguments(args))); },
          sig, function ? function->doc.data() : "");
    }
  }
}

/// The combination of all conditions, given one by one or as one list; of none: what `none` says.
template <class Join>
Expr joined(const nb::args& conditions, bool none, Join&& join) {
  const nb::object first = conditions.size() == 1 ? nb::object(conditions[0]) : nb::none();
  const bool is_list = PyList_Check(first.ptr()) || PyTuple_Check(first.ptr());
  const std::vector<Expr> all =
      arguments(is_list ? nb::steal<nb::args>(PySequence_Tuple(first.ptr())) : conditions);
  Expr result = none;
  for (const Expr& condition : all) result = join(result, condition);
  return result;
}

using E = const Expr&;

/// A function of two expressions; a number takes the type of the other one.
template <class Fn>
void def_binary(nb::module_& m, const char* name, Fn fn) {
  m.def(
      name,
      [fn](nb::handle a, nb::handle b) {
        const std::vector<Expr> both = arguments(nb::borrow<nb::args>(nb::make_tuple(a, b)));
        return fn(both[0], both[1]);
      },
      nb::sig(kept(fmt::format("def {}(a: ExprLike, b: ExprLike) -> Expr", name))));
}

}  // namespace

void bind_functions(nb::module_& m) {
  bind_intrinsics(m);
  m.def(
      "functions_of_numbers",
      [] {
        std::vector<std::string> names;
        for (const MathFunction& function : all_math_functions()) {
          if (function.identity == Identity::none) names.emplace_back(function.op.name());
        }
        return names;
      },
      "The names of the intrinsics that compute a number from numbers, lane by lane.");
  m.def(
      "is_identity",
      [](const std::string& name) { return identity_of(op_named(name)) != Identity::none; },
      nb::arg("name"), "Whether a call of an intrinsic is worth its first argument.");
  const auto two = [&](const char* name, auto fn) { def_binary(m, name, fn); };
  two("floordiv", [](E a, E b) { return floordiv(a, b); });
  two("floormod", [](E a, E b) { return floormod(a, b); });
  two("truncdiv", [](E a, E b) { return truncdiv(a, b); });
  two("truncmod", [](E a, E b) { return truncmod(a, b); });
  two("ceildiv", [](E a, E b) { return ceildiv(a, b); });
  two("div", [](E a, E b) {
    return a.dtype().is_integer() && b.dtype().is_integer() ? truncdiv(a, b) : a / b;
  });
  two("min", [](E a, E b) { return min(a, b); });
  two("max", [](E a, E b) { return max(a, b); });
  m.def("abs", [](E x) { return abs(x); }, nb::arg("x"));
  m.def(
      "all",
      [](const nb::args& conditions) {
        return joined(conditions, true, [](E a, E b) { return a && b; });
      },
      nb::sig("def all(*conditions: ExprLike | collections.abc.Sequence[ExprLike]) -> Expr"),
      "True where each of the conditions is.");
  m.def(
      "any",
      [](const nb::args& conditions) {
        return joined(conditions, false, [](E a, E b) { return a || b; });
      },
      nb::sig("def any(*conditions: ExprLike | collections.abc.Sequence[ExprLike]) -> Expr"),
      "True where one of the conditions is.");
  const auto choice = [&](const char* name, auto fn, const char* doc) {
    m.def(
        name,
        [fn](E condition, nb::handle yes, nb::handle no) {
          const std::vector<Expr> both = arguments(nb::borrow<nb::args>(nb::make_tuple(yes, no)));
          return fn(condition, both[0], both[1]);
        },
        nb::arg("condition"), nb::arg("true_value"), nb::arg("false_value"),
        nb::sig(kept(fmt::format("def {}(condition: ExprLike, true_value: ExprLike, "
                                 "false_value: ExprLike) -> Expr",
                                 name))),
        doc);
  };
  choice(
      "select", [](E c, E t, E f) { return select(c, t, f); },
      "One of two values, both evaluated.");
  choice(
      "if_then_else", [](E c, E t, E f) { return if_then_else(c, t, f); },
      "One of two values, of which only it is evaluated.");
  m.def("likely", [](E c) { return likely(c); }, nb::arg("condition"));
  m.def(
      "reinterpret", [](DataType t, E x) { return reinterpret(t, x); }, nb::arg("dtype"),
      nb::arg("value"), "The bits of a value as those of another type.");
  m.def(
      "cast", [](DataType type, nb::handle value) { return as_type(value, type); },
      nb::arg("dtype"), nb::arg("value"), nb::sig("def cast(dtype: str, value: ExprLike) -> Expr"));
  m.def(
      "broadcast", [](E x, int n) { return broadcast(x, n); }, nb::arg("value"), nb::arg("lanes"));
  m.def("min_value", min_value, nb::arg("dtype"), "The smallest finite value of a type.");
  m.def("max_value", max_value, nb::arg("dtype"), "The largest finite value of a type.");
  m.def("infinity", infinity, nb::arg("dtype"));
  m.def(
      "const",
      [](nb::handle value, const std::string& dtype) {
        if (!dtype.empty()) return constant(value, parse_data_type(dtype));
        const Expr plain = to_expr(value);
        require(plain.defined(), ErrorKind::type_mismatch, "constant_is_number",
                hint("pass a number"), {}, "constant: a {} is no number", type_name_of(value));
        return plain;
      },
      nb::arg("value"), nb::arg("dtype") = "",
      nb::sig("def const(value: ExprLike, dtype: str = \"\") -> Expr"), "A constant.");
  m.def(
      "call_intrin",
      [](DataType dtype, const std::string& name, nb::args args) {
        return call(dtype, op_named(name), arguments(args));
      },
      nb::sig("def call_intrin(dtype: str, name: str, *args: ExprLike) -> Expr"),
      "A call of the intrinsic of that name, of any type.");
}

}  // namespace loopsmith::python
