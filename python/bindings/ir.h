// SPDX-License-Identifier: Apache-2.0
// IR nodes in Python: each is seen as one object while Python holds it. With this header, functions
// that are bound take and give Expr, Stmt, Ref and Ptr<T>, and lists of them, like any other value.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "loopsmith/ir/function.h"

namespace loopsmith::python {

/// The Python object of `node`: the one that lives, or a new one. None for null.
nanobind::object to_python(const Ref& node);

/// The node behind a Python object; null if it is none.
Ref node_of(nanobind::handle value);

/// An expression from an expression, an axis, or a Python or NumPy scalar: an int is int32 if it
/// fits, else int64; a float is float32. Null for anything else.
Expr to_expr(nanobind::handle value);

/// The same, but a Python number takes the element type of `like`, where that can hold it.
Expr to_expr(nanobind::handle value, DataType like);

/// A value among annotations, from Python and back: bool, int, float, str, list and dict stand for
/// nodes.
Ref to_attribute(nanobind::handle value);
nanobind::object from_attribute(const Ref& value);
Attrs to_attributes(nanobind::handle mapping);
nanobind::dict from_attributes(const Attrs& attrs);

}  // namespace loopsmith::python

namespace nanobind::detail {

/// A C++ name, as nanobind's signatures spell it.
template <class T>
constexpr auto node_type_name() {
  constexpr std::string_view text = loopsmith::type_name<T>();
  std::array<char, text.size() + 1> letters{};
  for (std::size_t i = 0; i < text.size(); ++i) letters[i] = text[i];
  return letters;
}

template <class T, std::size_t... I>
constexpr auto node_descr(std::index_sequence<I...>) {
  constexpr auto letters = node_type_name<T>();
  constexpr char name[] = {letters[I]..., '\0'};
  return const_name(name);
}
template <class T>
constexpr auto node_descr() {
  return node_descr<T>(std::make_index_sequence<loopsmith::type_name<T>().size()>());
}

template <>
struct type_caster<loopsmith::Expr> {
  NB_TYPE_CASTER(loopsmith::Expr, const_name("ExprLike"))

  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value = loopsmith::python::to_expr(source);
    return value.defined();
  }
  static handle from_cpp(const loopsmith::Expr& node, rv_policy, cleanup_list*) noexcept {
    return loopsmith::python::to_python(node).release();
  }
};

/// References whose node must be of a type.
template <class Reference, class Target>
struct node_caster {
  NB_TYPE_CASTER(Reference, node_descr<Target>())

  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    const loopsmith::Ref node = loopsmith::python::node_of(source);
    value = Reference::from(node);
    return value.defined();
  }
  static handle from_cpp(const Reference& node, rv_policy, cleanup_list*) noexcept {
    return loopsmith::python::to_python(node).release();
  }
};

template <>
struct type_caster<loopsmith::Stmt> : node_caster<loopsmith::Stmt, loopsmith::Stmt> {};
template <class T>
struct type_caster<loopsmith::Ptr<T>> : node_caster<loopsmith::Ptr<T>, T> {};

template <>
struct type_caster<loopsmith::Ref> {
  NB_TYPE_CASTER(loopsmith::Ref, const_name("Node"))

  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value = loopsmith::python::node_of(source);
    return value.defined();
  }
  static handle from_cpp(const loopsmith::Ref& node, rv_policy, cleanup_list*) noexcept {
    return loopsmith::python::to_python(node).release();
  }
};

/// A data type is its text: "float32x4".
template <>
struct type_caster<loopsmith::DataType> {
  NB_TYPE_CASTER(loopsmith::DataType, const_name("str"))

  bool from_python(handle source, std::uint32_t, cleanup_list*) {
    if (!PyUnicode_Check(source.ptr())) return false;
    value = loopsmith::parse_data_type(nanobind::cast<std::string>(source));
    return true;
  }
  static handle from_cpp(loopsmith::DataType type, rv_policy, cleanup_list*) noexcept {
    const std::string text = loopsmith::to_string(type);
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  }
};

}  // namespace nanobind::detail
