// SPDX-License-Identifier: Apache-2.0
// The class Expr: operators as slots of the type, which is the fastest that Python can call.
#include <cmath>
#include <limits>

#include "bindings/bindings.h"
#include "bindings/ir_detail.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/power.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/type_name.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

Expr int_of(PyObject* value, DataType type) {
  if (type.is_float()) {
    const double number = PyLong_AsDouble(value);
    const bool fits = !PyErr_Occurred();
    PyErr_Clear();
    require(fits, ErrorKind::bounds, "constant_in_range", hint("use a smaller number"), {},
            "an integer constant is out of the range of {}", TypeName(type));
    return float_imm(type, number);
  }
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0) {
    const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(value) : 0;
    const bool fits = overflow > 0 && !PyErr_Occurred();
    PyErr_Clear();
    require(fits, ErrorKind::bounds, "constant_in_range", hint("64 bits are the most"), {},
            "an integer constant has more than 64 bits");
    return int_imm(u64, static_cast<std::int64_t>(large));
  }
  const bool is_given =
      type.is_integer() && !type.is_bool() && number >= min_int(type) && number <= max_int(type);
  if (is_given) return int_imm(type, number);
  const bool small = number >= std::numeric_limits<std::int32_t>::min() &&
                     number <= std::numeric_limits<std::int32_t>::max();
  return int_imm(small ? i32 : i64, number);
}

/// A NumPy scalar, or anything else with `dtype` and `item()`.
Expr numpy_scalar(nb::handle value) {
  if (!nb::hasattr(value, "dtype") || !nb::hasattr(value, "item")) return nullptr;
  const nb::object size = nb::getattr(value, "size", nb::int_(1));
  require(!PyLong_Check(size.ptr()) || nb::cast<std::int64_t>(size) == 1, ErrorKind::type_mismatch,
          "constant_is_number",
          hint("declare a placeholder for it, and pass it to the compiled function"), {},
          "an array of {} elements is no number", nb::str(size).c_str());
  const nb::object dtype = value.attr("dtype");
  const DataType type = parse_data_type(nb::cast<std::string>(nb::str(nb::handle(dtype))));
  return to_expr(value.attr("item")(), type);
}

/// Runs `make`, and turns C++ errors into Python's.
template <class Make>
PyObject* guarded(Make&& make) {
  try {
    return nb::object(make()).release().ptr();
  } catch (...) {
    set_python_error(std::current_exception());
  }
  return nullptr;
}

bool is_number(const Expr& e) {
  return e.defined() && !e.dtype().is_handle() && !e.dtype().is_void();
}

/// The expression that a Python object is; null for numbers, which take the type of the other.
Expr operand(PyObject* value) {
  const Ref node = node_of(value);
  if (const auto* axis = node.as<IterVar>()) return axis->var;
  return Expr::from(node);
}

/// `fn(a, b)`; NotImplemented, so that Python asks the other operand, when one is no expression.
template <class Fn>
PyObject* binary(PyObject* left, PyObject* right, Fn&& fn) {
  return guarded([&]() -> nb::object {
    Expr a = operand(left);
    Expr b = operand(right);
    if (!a.defined()) a = to_expr(left, b.defined() ? b.dtype().element() : void_type);
    if (!b.defined()) b = to_expr(right, a.defined() ? a.dtype().element() : void_type);
    // A text is no operand, nor is anything that is no expression.
    const bool can = is_number(a) || operand(left).defined();
    if (!can || !(is_number(b) || operand(right).defined())) return nb::borrow(Py_NotImplemented);
    return to_python(fn(a, b));
  });
}

template <auto fn>
PyObject* binary_slot(PyObject* left, PyObject* right) {
  return binary(left, right, fn);
}

template <auto fn>
PyObject* unary_slot(PyObject* self) {
  return guarded([&] { return to_python(fn(to_expr(self))); });
}

PyObject* power_slot(PyObject* left, PyObject* right, PyObject*) {
  return binary(left, right, power);
}

PyObject* compare_slot(PyObject* left, PyObject* right, int operation) {
  const Expr a = operand(left), b = operand(right);
  const bool equality = operation == Py_EQ || operation == Py_NE;
  // Pointers and texts are compared as objects.
  if (equality && ((a.defined() && !is_number(a)) || (b.defined() && !is_number(b)))) {
    return PyBool_FromLong((a.defined() && a.same_as(b)) == (operation == Py_EQ));
  }
  return binary(left, right, [operation](const Expr& x, const Expr& y) {
    switch (operation) {
      case Py_LT: return x < y;
      case Py_LE: return x <= y;
      case Py_GT: return x > y;
      case Py_GE: return x >= y;
      case Py_EQ: return x == y;
      default: return x != y;
    }
  });
}

/// The truth of `a == b` is whether they are one object, so that expressions can be keys and be
/// looked for in lists.
int truth_slot(PyObject* self) {
  const Ref node = node_of(self);
  if (const auto* equal = node.as<EQ>()) return equal->a.same_as(equal->b) ? 1 : 0;
  if (const auto* unequal = node.as<NE>()) return unequal->a.same_as(unequal->b) ? 0 : 1;
  if (const auto* constant = node.as<IntImm>()) return constant->value != 0 ? 1 : 0;
  PyObject* none = guarded([&]() -> nb::object {
    fail(ErrorKind::type_mismatch, "expression_has_no_truth_value",
         hint("write tir.all, tir.any or tir.Not; in a script, and, or, not"), node.span(),
         "the expression {} is no Python bool", node);
  });
  Py_XDECREF(none);
  return -1;
}

Py_hash_t hash_slot(PyObject* self) {
  // An axis is equal to its variable.
  const auto address = reinterpret_cast<std::uintptr_t>(operand(self).get());
  return static_cast<Py_hash_t>(address >> 4);
}

PyObject* int_slot(PyObject* self) {
  const Ref node = node_of(self);
  if (const auto* constant = node.as<IntImm>()) {
    return constant->dtype == u64
               ? PyLong_FromUnsignedLongLong(static_cast<std::uint64_t>(constant->value))
               : PyLong_FromLongLong(constant->value);
  }
  PyErr_SetString(PyExc_TypeError, "only a constant can become a Python number");
  return nullptr;
}

using Pair = const Expr&;
constexpr auto plus = [](Pair a, Pair b) { return a + b; };
constexpr auto minus = [](Pair a, Pair b) { return a - b; };
constexpr auto times = [](Pair a, Pair b) { return a * b; };
constexpr auto over = [](Pair a, Pair b) { return a / b; };
constexpr auto floor_over = [](Pair a, Pair b) { return floordiv(a, b); };
constexpr auto modulo = [](Pair a, Pair b) { return floormod(a, b); };
constexpr auto bits_and = [](Pair a, Pair b) { return a & b; };
constexpr auto bits_or = [](Pair a, Pair b) { return a | b; };
constexpr auto bits_xor = [](Pair a, Pair b) { return a ^ b; };
constexpr auto shift_left = [](Pair a, Pair b) { return a << b; };
constexpr auto shift_right = [](Pair a, Pair b) { return a >> b; };
constexpr auto negative = [](Pair a) { return -a; };
constexpr auto positive = [](Pair a) { return a; };
constexpr auto inverted = [](Pair a) { return ~a; };
constexpr auto absolute = [](Pair a) { return abs(a); };

PyObject* float_slot(PyObject* self) {
  const Ref node = node_of(self);
  if (const auto* constant = node.as<FloatImm>()) return PyFloat_FromDouble(constant->value);
  PyObject* whole = int_slot(self);
  if (!whole) return nullptr;
  PyObject* real = PyNumber_Float(whole);
  Py_DECREF(whole);
  return real;
}

template <class Slot>
void* slot(Slot* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

PyType_Slot* operator_slots() {
  static PyType_Slot slots[] = {
      {Py_nb_add, slot(binary_slot<plus>)},
      {Py_nb_subtract, slot(binary_slot<minus>)},
      {Py_nb_multiply, slot(binary_slot<times>)},
      {Py_nb_true_divide, slot(binary_slot<over>)},
      {Py_nb_floor_divide, slot(binary_slot<floor_over>)},
      {Py_nb_remainder, slot(binary_slot<modulo>)},
      {Py_nb_power, slot(power_slot)},
      {Py_nb_and, slot(binary_slot<bits_and>)},
      {Py_nb_or, slot(binary_slot<bits_or>)},
      {Py_nb_xor, slot(binary_slot<bits_xor>)},
      {Py_nb_lshift, slot(binary_slot<shift_left>)},
      {Py_nb_rshift, slot(binary_slot<shift_right>)},
      {Py_nb_negative, slot(unary_slot<negative>)},
      {Py_nb_positive, slot(unary_slot<positive>)},
      {Py_nb_invert, slot(unary_slot<inverted>)},
      {Py_nb_absolute, slot(unary_slot<absolute>)},
      {Py_nb_bool, slot(truth_slot)},
      {Py_nb_int, slot(int_slot)},
      {Py_nb_index, slot(int_slot)},
      {Py_nb_float, slot(float_slot)},
      {Py_tp_richcompare, slot(compare_slot)},
      {Py_tp_hash, slot(hash_slot)},
      {0, nullptr},
  };
  return slots;
}

nb::object bind_expr(nb::module_& m) {
  nb::class_<ExprHandle, NodeHandle> expr(m, "Expr", nb::type_slots(operator_slots()),
                                          "An expression.");
  expr.def_prop_ro(
      "dtype", [](const NodeHandle& self) { return Expr::from(self.ref).dtype(); },
      "The type of its value: `float32x4`.");
  expr.def(
      "astype",
      [](const NodeHandle& self, DataType dtype) { return cast(dtype, Expr::from(self.ref)); },
      nb::arg("dtype"), "The value converted to another type.");
  expr.def(
      "equal",
      [](const NodeHandle& self, nb::handle other) {
        const Expr a = Expr::from(self.ref);
        const Expr b = to_expr(other, a.dtype().element());
        require(b.defined(), ErrorKind::type_mismatch, "argument_is_expression",
                hint("pass an expression or a number"), {}, "equal: a {} is no expression",
                type_name_of(other));
        return a == b;
      },
      nb::arg("other"), nb::sig("def equal(self, other: ExprLike) -> Expr"),
      "The expression that is true where both are equal; the truth of `a == b` is whether both are "
      "one object.");
  // NumPy's scalars leave operators with expressions to us.
  expr.attr("__array_ufunc__") = nb::none();
  return expr;
}

Expr to_expr(nb::handle value, DataType like) {
  PyObject* const object = value.ptr();
  if (PyBool_Check(object)) return Expr(object == Py_True);
  if (PyLong_Check(object)) return int_of(object, like);
  if (PyFloat_Check(object)) {
    return float_imm(like.is_float() ? like : f32, PyFloat_AsDouble(object));
  }
  if (PyUnicode_Check(object)) return string_imm(nb::cast<std::string>(value));
  const Ref node = node_of(value);
  if (const auto* axis = node.as<IterVar>()) return axis->var;
  return node.defined() ? Expr::from(node) : numpy_scalar(value);
}

Expr to_expr(nb::handle value) {
  return to_expr(value, void_type);
}

}  // namespace loopsmith::python
