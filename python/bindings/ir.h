// SPDX-License-Identifier: Apache-2.0
// IR nodes in Python: each is seen as one object while Python holds it. With this header, functions
// that are bound take and give Expr, Stmt, Ref and Ptr<T>, and lists of them, like any other value.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

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

  // Throws: an integer may be too large.
  bool from_python(handle source, std::uint32_t, cleanup_list*) {
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
    const char* const text = PyUnicode_AsUTF8(source.ptr());
    if (!text) raise_python_error();
    value = loopsmith::parse_data_type(text);
    return true;
  }
  static handle from_cpp(loopsmith::DataType type, rv_policy, cleanup_list*) noexcept {
    const std::string text = loopsmith::to_string(type);
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  }
};

/// nanobind's casters of lists, pairs and optional values end the process where that of an element
/// throws.
template <class Element>
struct throwing_list_caster : list_caster<std::vector<Element>, Element> {
  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) {
    this->value.clear();
    if (PyUnicode_Check(source.ptr()) || PyBytes_Check(source.ptr()) ||
        !PySequence_Check(source.ptr())) {
      return false;
    }
    const auto items = steal<object>(PySequence_Fast(source.ptr(), ""));
    if (!items.is_valid()) raise_python_error();
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); ++i) {
      make_caster<Element> caster;
      if (!caster.from_python(PySequence_Fast_GET_ITEM(items.ptr(), i), flags, cleanup)) {
        return false;
      }
      this->value.push_back(caster.operator cast_t<Element>());
    }
    return true;
  }
};

template <>
struct type_caster<std::vector<loopsmith::Expr>> : throwing_list_caster<loopsmith::Expr> {};
template <>
struct type_caster<std::vector<loopsmith::DataType>> : throwing_list_caster<loopsmith::DataType> {};
template <>
struct type_caster<std::vector<std::vector<loopsmith::Expr>>>
    : throwing_list_caster<std::vector<loopsmith::Expr>> {};

using Replacement = std::pair<loopsmith::Ptr<loopsmith::Var>, loopsmith::Expr>;
template <>
struct type_caster<Replacement> {
  NB_TYPE_CASTER(Replacement, const_name("tuple[Var, ExprLike]"))

  bool from_python(handle source, std::uint32_t, cleanup_list*) {
    if (!PyTuple_Check(source.ptr()) || PyTuple_GET_SIZE(source.ptr()) != 2) return false;
    const handle variable = PyTuple_GET_ITEM(source.ptr(), 0);
    value.first = loopsmith::Ptr<loopsmith::Var>::from(loopsmith::python::node_of(variable));
    value.second = loopsmith::python::to_expr(PyTuple_GET_ITEM(source.ptr(), 1));
    return value.first.defined() && value.second.defined();
  }
  static handle from_cpp(const Replacement& pair, rv_policy, cleanup_list*) noexcept {
    return make_tuple(pair.first, pair.second).release();
  }
};
template <>
struct type_caster<std::vector<Replacement>> : throwing_list_caster<Replacement> {};

template <>
struct type_caster<std::optional<loopsmith::DataType>> {
  NB_TYPE_CASTER(std::optional<loopsmith::DataType>, const_name("str | None"))

  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) {
    value.reset();
    if (source.is_none()) return true;
    make_caster<loopsmith::DataType> caster;
    if (!caster.from_python(source, flags, cleanup)) return false;
    value = caster.value;
    return true;
  }
};

}  // namespace nanobind::detail
