// SPDX-License-Identifier: Apache-2.0
#include "bindings/script_values.h"

#include <nanobind/stl/string.h>

#include "bindings/ir.h"
#include "bindings/ir_detail.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

using parsing::Frame;
using parsing::ScriptBuilder;
using parsing::Word;

/// A Python object that the script hands around.
struct PythonValue : ForeignValue {
  explicit PythonValue(nb::object value) : object(std::move(value)) {}
  nb::object object;
};

/// An integer of at most 64 bits; else nothing of the language.
ScriptValue integer_value(nb::handle value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow == 0) return ScriptValue::integer(number);
  const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(value.ptr()) : 0;
  if (overflow > 0 && !PyErr_Occurred()) return ScriptValue::integer(large);
  PyErr_Clear();
  return ScriptValue::Data(
      std::shared_ptr<ForeignValue>(std::make_shared<PythonValue>(nb::borrow(value))));
}

/// The part of the language that a module of Python stands for: `T` or `I`; empty for others.
std::string_view space_of(nb::handle module) {
  const nb::object name = nb::getattr(module, "__script_space__", nb::none());
  if (!nb::isinstance<nb::str>(name)) return {};
  return nb::cast<std::string>(name) == "I" ? "I" : "T";
}

/// The class of tuples that `T.meta_var` gives to a helper of a script.
nb::object meta_tuple() {
  return nb::module_::import_("loopsmith.script.source").attr("MetaTuple");
}

/// True for sequences other than lists and tuples: the fields of nodes, arrays of users.
bool is_other_sequence(nb::handle value) {
  PyObject* const object = value.ptr();
  if (PyRange_Check(object) || PyBytes_Check(object) || PyMemoryView_Check(object)) return false;
  const nb::object sequence = nb::module_::import_("collections.abc").attr("Sequence");
  return PyObject_IsInstance(object, sequence.ptr()) == 1;
}

struct ToPython {
  nb::object operator()(const ScriptValue::None&) const { return nb::none(); }
  nb::object operator()(bool value) const { return nb::bool_(value); }
  nb::object operator()(const ScriptValue::Integer& value) const {
    const auto low = static_cast<long long>(value.value);
    if (low == value.value) return nb::int_(low);
    const auto high = static_cast<long long>(value.value >> 62);
    const auto rest = static_cast<unsigned long long>(value.value & ((__int128{1} << 62) - 1));
    return (nb::int_(high) << nb::int_(62)) | nb::int_(rest);
  }
  nb::object operator()(double value) const { return nb::float_(value); }
  nb::object operator()(const std::string& value) const { return nb::cast(value); }
  nb::object operator()(const ScriptValue::Dots&) const { return nb::ellipsis(); }
  nb::object operator()(const Ref& node) const { return to_python(node); }
  nb::object operator()(DataType type) const { return nb::cast(TypeObject{type}); }
  nb::object operator()(const ScriptValue::Namespace& space) const {
    if (space.name == "T.axis") return nb::cast(SpaceObject{"T.axis"});
    return nb::module_::import_(space.name == "I" ? "loopsmith.script.ir" : "loopsmith.script.tir");
  }
  nb::object operator()(const Word* word) const { return nb::cast(WordObject{word}); }
  nb::object operator()(const std::shared_ptr<const ScriptValue::List>& list) const {
    nb::list items;
    for (const ScriptValue& item : list->items) items.append(std::visit(*this, item.data));
    return list->is_tuple ? nb::object(nb::tuple(items)) : nb::object(items);
  }
  nb::object operator()(const std::shared_ptr<const ScriptValue::Meta>& meta) const {
    return meta_tuple()(std::visit(*this, meta->value[0].data));
  }
  nb::object operator()(const std::shared_ptr<const ScriptValue::Dict>& dict) const {
    nb::dict items;
    for (const auto& [key, value] : dict->items) {
      items[std::visit(*this, key.data)] = std::visit(*this, value.data);
    }
    return items;
  }
  nb::object operator()(const std::shared_ptr<const ScriptValue::Slice>& slice) const {
    const auto part = [&](std::size_t i) { return std::visit(*this, slice->parts[i].data); };
    return nb::steal(PySlice_New(part(0).ptr(), part(1).ptr(), part(2).ptr()));
  }
  nb::object operator()(const std::shared_ptr<const parsing::MacroDefinition>& macro) const {
    return nb::cast(MacroObject{macro});
  }
  nb::object operator()(const std::shared_ptr<Frame>& frame) const {
    if (!ScriptBuilder::is_open()) refuse();
    return nb::cast(FrameObject{frame});
  }
  nb::object operator()(const std::shared_ptr<ForeignValue>& value) const {
    return static_cast<const PythonValue&>(*value).object;
  }
  template <class T>
  nb::object operator()(const T&) const {
    refuse();
  }
  [[noreturn]] static void refuse() {
    fail(ErrorKind::script, "value_is_for_python", hint("pass an expression, a buffer or a number"),
         current_span, "this value means something in a script only");
  }
};

}  // namespace

ScriptValue to_value(nb::handle value) {
  PyObject* const object = value.ptr();
  if (value.is_none()) return {};
  if (PyBool_Check(object)) return ScriptValue::truth(object == Py_True);
  if (PyLong_Check(object)) return integer_value(value);
  if (PyFloat_CheckExact(object)) return ScriptValue::real(PyFloat_AsDouble(object));
  if (PyUnicode_Check(object)) return ScriptValue::text(nb::cast<std::string>(value));
  if (object == Py_Ellipsis) return ScriptValue::Data(ScriptValue::Dots{});
  if (const Ref node = node_of(value); node.defined()) return ScriptValue::node(node);
  if (PyTuple_Check(object)) {
    ScriptValue list = ScriptValue::list(script_values(value), true);
    if (PyTuple_CheckExact(object) || !value.type().is(meta_tuple())) return list;
    return ScriptValue::Data(
        std::make_shared<const ScriptValue::Meta>(ScriptValue::Meta{{std::move(list)}}));
  }
  if (PyList_Check(object)) return ScriptValue::list(script_values(value));
  if (nb::isinstance<WordObject>(value)) {
    return ScriptValue::Data(nb::cast<WordObject&>(value).word);
  }
  if (nb::isinstance<TypeObject>(value))
    return ScriptValue::Data(nb::cast<TypeObject&>(value).type);
  if (nb::isinstance<SpaceObject>(value)) {
    return ScriptValue::Data(ScriptValue::Namespace{"T.axis"});
  }
  if (nb::isinstance<MacroObject>(value)) {
    return ScriptValue::Data(nb::cast<MacroObject&>(value).definition);
  }
  if (PyModule_Check(object)) {
    if (const std::string_view space = space_of(value); !space.empty()) {
      return ScriptValue::Data(ScriptValue::Namespace{space});
    }
  }
  if (PyDict_CheckExact(object)) {
    ScriptValue::Dict dict;
    for (const auto& [key, item] : nb::borrow<nb::dict>(value)) {
      dict.items.emplace_back(to_value(key), to_value(item));
    }
    return ScriptValue::Data(std::make_shared<const ScriptValue::Dict>(std::move(dict)));
  }
  if (PySlice_Check(object)) {
    ScriptValue::Slice slice;
    for (const char* part : {"start", "stop", "step"}) {
      slice.parts.push_back(to_value(nb::getattr(value, part)));
    }
    return ScriptValue::Data(std::make_shared<const ScriptValue::Slice>(std::move(slice)));
  }
  if (is_other_sequence(value)) return ScriptValue::list(script_values(value));
  // NumPy's scalars have a type of their own; its arrays are left as they are.
  const bool is_scalar =
      nb::hasattr(value, "dtype") && nb::hasattr(value, "item") && nb::hasattr(value, "shape") &&
      nb::getattr(value, "shape").equal(nb::make_tuple()) && !nb::hasattr(value, "__setitem__");
  if (is_scalar) return ScriptValue::node(to_expr(value));
  return ScriptValue::Data(
      std::shared_ptr<ForeignValue>(std::make_shared<PythonValue>(nb::borrow(value))));
}

std::vector<ScriptValue> script_values(nb::handle items) {
  std::vector<ScriptValue> values;
  for (nb::handle item : items) values.push_back(to_value(item));
  return values;
}

nb::object from_value(const ScriptValue& value) {
  return std::visit(ToPython(), value.data);
}

}  // namespace loopsmith::python
