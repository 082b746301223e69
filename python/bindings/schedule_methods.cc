// SPDX-License-Identifier: Apache-2.0
// One Python method for each primitive, made from its object.
#include <nanobind/stl/string.h>

#include "bindings/bindings.h"
#include "bindings/ir.h"
#include "bindings/ir_detail.h"
#include "bindings/schedule.h"
#include "bindings/tensor_intrin.h"
#include "loopsmith/schedule/schedule_error.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

[[noreturn]] void refuse_value(const Method& method, std::size_t parameter, nb::handle value) {
  const std::string& type = method.parameters[parameter].type;
  const bool is_annotation = type == python_type<Annotation>();
  fail(ErrorKind::type_mismatch, "argument_has_type",
       hint(fmt::format(
           "it takes {}",
           is_annotation ? "a text, a number, True or False, or lists and dicts of them" : type)),
       {}, "{}: the argument {} is a {}", method.primitive->name, method.parameters[parameter].name,
       type_name_of(value));
}

/// A whole number of 64 bits.
std::int64_t number_of(const Method& method, std::size_t parameter, nb::handle value) {
  const nb::object number = nb::steal(PyNumber_Index(value.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  int overflow = 0;
  const std::int64_t result = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  require(overflow == 0, ErrorKind::bounds, "argument_fits_64_bits", hint("pass a smaller one"), {},
          "{}: the argument {} has a number of more than 64 bits", method.primitive->name,
          method.parameters[parameter].name);
  return result;
}

/// The code of a Python function; none of what else can be called.
nb::object code_of(nb::handle function) {
  return nb::getattr(function, "__code__", nb::none());
}

/// True when a function takes a list of indices, `*a`, so that its parameters do not count them.
bool takes_any_number(nb::handle function) {
  constexpr long takes_list = 4;  // Of inspect.CO_VARARGS.
  const nb::object code = code_of(function);
  return !code.is_none() && (nb::cast<long>(code.attr("co_flags")) & takes_list) != 0;
}

/// An index map from a Python function of `count` indices, or as many as it has parameters.
Ref map_of(nb::handle function, std::optional<std::size_t> count = {}) {
  const nb::object code = code_of(function);
  if (code.is_none()) return nullptr;
  const auto named = nb::cast<std::size_t>(code.attr("co_argcount"));
  const nb::object names = code.attr("co_varnames");
  if (!count && takes_any_number(function)) {
    const std::size_t last = named + nb::cast<std::size_t>(code.attr("co_kwonlyargcount"));
    fail(ErrorKind::type_mismatch, "index_map_names_indices",
         hint("name them, or pass arith.index_map(function, ndim)"), {},
         "an index map takes *{}: how many indices there are is not known",
         nb::cast<std::string>(names[last]));
  }
  IndexMap map;
  nb::list indices;
  for (std::size_t i = 0; i < count.value_or(named); ++i) {
    const std::string name = i < named ? nb::cast<std::string>(names[i]) : fmt::format("i{}", i);
    map.initial_indices.push_back(var(name));
    indices.append(to_python(map.initial_indices.back()));
  }
  const nb::object results = nb::borrow(function)(*nb::tuple(indices));
  const bool is_list = nb::isinstance<nb::sequence>(results);
  const nb::list all = is_list ? nb::list(results) : nb::list();
  if (!is_list) map.final_indices.push_back(to_expr(results));
  for (nb::handle result : all) map.final_indices.push_back(to_expr(result));
  return make(std::move(map));
}

}  // namespace

Argument to_argument_of(const Method& method, std::size_t parameter, nb::handle value) {
  PyObject* object = value.ptr();
  if (object == Py_None) return {};
  if (PyBool_Check(object)) return object == Py_True;
  if (PyLong_Check(object)) return number_of(method, parameter, value);
  if (PyUnicode_Check(object)) {
    auto text = nb::cast<std::string>(value);
    const bool is_intrin = method.parameters[parameter].name == "tensor_intrin";
    return is_intrin ? to_argument(select_tensor_intrin(text)) : Argument(std::move(text));
  }
  if (PyFloat_Check(object)) return PyFloat_AS_DOUBLE(object);
  if (nb::isinstance<PyHandle<LoopRV>>(value)) return nb::inst_ptr<PyHandle<LoopRV>>(value)->handle;
  if (nb::isinstance<PyHandle<BlockRV>>(value)) {
    return nb::inst_ptr<PyHandle<BlockRV>>(value)->handle;
  }
  if (nb::isinstance<PyHandle<ExprRV>>(value)) return nb::inst_ptr<PyHandle<ExprRV>>(value)->handle;
  if (Ref node = node_of(value); node.defined()) return node;
  if (PyList_Check(object) || PyTuple_Check(object)) {
    Argument::List list;
    for (nb::handle item : nb::borrow<nb::sequence>(value)) {
      list.push_back(to_argument_of(method, parameter, item));
    }
    return list;
  }
  if (PyDict_Check(object)) return to_attribute(value);
  if (method.is_map[parameter] && PyCallable_Check(object)) {
    if (Ref map = map_of(value); map.defined()) return map;
  }
  if (PyIndex_Check(object)) return number_of(method, parameter, value);
  refuse_value(method, parameter, value);
}

nb::object to_python_value(const Argument& value, nb::handle owner) {
  if (const auto* loop = value.as<LoopRV>()) {
    return nb::cast(PyHandle<LoopRV>{*loop, nb::borrow(owner)});
  }
  if (const auto* block = value.as<BlockRV>()) {
    return nb::cast(PyHandle<BlockRV>{*block, nb::borrow(owner)});
  }
  if (const auto* hole = value.as<ExprRV>()) {
    return nb::cast(PyHandle<ExprRV>{*hole, nb::borrow(owner)});
  }
  if (const auto* items = value.as<Argument::List>()) {
    nb::list list;
    for (const Argument& item : *items) list.append(to_python_value(item, owner));
    return list;
  }
  if (const auto* flag = value.as<bool>()) return nb::bool_(*flag);
  if (const auto* number = value.as<std::int64_t>()) return nb::int_(*number);
  if (const auto* real = value.as<double>()) return nb::float_(*real);
  if (const auto* text = value.as<std::string>()) return nb::str(text->c_str(), text->size());
  if (const auto* node = value.as<Ref>()) return from_attribute(*node);
  return nb::none();
}

namespace {

Argument::List names_in(std::string_view text) {
  Argument::List names;
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view name = text.substr(0, comma);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    names.emplace_back(name);
    if (comma == std::string_view::npos) return names;
    text.remove_prefix(comma + 1);
  }
}

/// The arguments of one call, in the order of the parameters; null ones are not given.
struct Arguments {
  std::vector<Argument> values;
  std::vector<const Argument*> given;

  explicit Arguments(std::size_t count) : values(count), given(count, nullptr) {}
  void set(std::size_t i, Argument value) {
    values[i] = std::move(value);
    given[i] = &values[i];
  }
};

/// "i => io, ii": loops by name, and the names of what they become.
void read_arrow(const Method& method, Arguments& arguments) {
  const auto* text = arguments.given.empty() || !arguments.given[0]
                         ? nullptr
                         : arguments.values[0].as<std::string>();
  if (!text || method.new_names < 0) return;
  std::size_t arrow = text->find("=>");
  if (arrow == std::string::npos) arrow = text->find("->");
  if (arrow == std::string::npos) return;
  Argument::List left = names_in(std::string_view(*text).substr(0, arrow));
  Argument::List right = names_in(std::string_view(*text).substr(arrow + 2));
  const auto place = static_cast<std::size_t>(method.new_names);
  const bool is_one = method.parameters[place].name == "name";
  arguments.set(place, is_one ? right[0] : Argument(std::move(right)));
  arguments.set(0, method.takes_many ? Argument(std::move(left)) : left[0]);
}

/// An index map that a function gives of as many indices as the other arguments say.
struct OpenMap {
  std::size_t parameter = 0;
  nb::object function;

  /// True when the value is such a function; it is read once the others are.
  bool take(const Method& method, std::size_t i, nb::handle value, Arguments& arguments) {
    const bool is_open = method.parameters[i].name == "index_map" &&
                         PyCallable_Check(value.ptr()) && takes_any_number(value);
    if (!is_open) return false;
    parameter = i;
    function = nb::borrow(value);
    arguments.set(i, Ref(make(IndexMap{})));
    return true;
  }

  void close(const Method& method, const Schedule& schedule, Arguments& arguments) const {
    if (!function.is_valid()) return;
    const auto count = method.primitive->index_count(schedule, arguments.given);
    arguments.set(parameter, map_of(function, count));
  }
};

Arguments read_arguments(const Method& method, const Schedule& schedule, const nb::args& args,
                         const nb::kwargs& kwargs) {
  const std::size_t count = method.parameters.size();
  Arguments arguments(count);
  OpenMap map;
  const auto read = [&](std::size_t i, nb::handle value) {
    if (!map.take(method, i, value, arguments)) {
      arguments.set(i, to_argument_of(method, i, value));
    }
  };
  const std::size_t positional = args.size();
  if (method.takes_many && positional > 0) {
    const bool is_list = PyList_Check(nb::handle(args[0]).ptr()) ||
                         PyTuple_Check(nb::handle(args[0]).ptr()) ||
                         PyUnicode_Check(nb::handle(args[0]).ptr());
    if (positional == 1 && is_list) {
      arguments.set(0, to_argument_of(method, 0, args[0]));
    } else {
      arguments.set(0, to_argument_of(method, 0, args));
    }
  } else {
    require(positional <= count, ErrorKind::type_mismatch, "arguments_are_few",
            hint("see its documentation"), {}, "{}: takes {} arguments, {} were given",
            method.primitive->name, count, positional);
    for (std::size_t i = 0; i < positional; ++i) read(i, args[i]);
  }
  for (auto [key, value] : kwargs) {
    std::size_t i = 0;
    while (i < count && key.ptr() != method.names[i].ptr() && !key.equal(method.names[i])) ++i;
    require(i < count, ErrorKind::type_mismatch, "argument_exists", hint("see its documentation"),
            {}, "{}: there is no argument {}", method.primitive->name, nb::cast<std::string>(key));
    require(!arguments.given[i], ErrorKind::type_mismatch, "argument_is_given_once",
            hint("leave one out"), {}, "{}: the argument {} is given twice", method.primitive->name,
            method.parameters[i].name);
    read(i, value);
  }
  read_arrow(method, arguments);
  map.close(method, schedule, arguments);
  return arguments;
}

const Method* new_method(const PrimitiveBase& primitive) {
  // As long as Python runs: its methods hold it.
  auto* method = new Method{.primitive = &primitive, .parameters = primitive.parameters()};
  for (std::size_t i = 0; i < method->parameters.size(); ++i) {
    const ParameterInfo& parameter = method->parameters[i];
    PyObject* name = PyUnicode_FromStringAndSize(parameter.name.data(),
                                                 static_cast<Py_ssize_t>(parameter.name.size()));
    PyUnicode_InternInPlace(&name);
    method->names.push_back(nb::steal<nb::str>(name));
    if (parameter.name == "names" || parameter.name == "name") {
      method->new_names = static_cast<int>(i);
    }
    if (parameter.name == "assume_independent") method->independence = static_cast<int>(i);
    method->is_map.push_back(parameter.type.find("IndexMap") != std::string::npos);
  }
  method->takes_many = !method->parameters.empty() &&
                       method->parameters[0].type == python_type<std::vector<LoopRV>>();
  return method;
}

std::string default_text(const Argument& value) {
  if (const auto* flag = value.as<bool>()) return *flag ? "True" : "False";
  if (const auto* number = value.as<std::int64_t>()) return std::to_string(*number);
  if (const auto* real = value.as<double>()) return fmt::format("{}", *real);
  if (const auto* text = value.as<std::string>()) return fmt::format("'{}'", *text);
  if (value.as<Argument::List>()) return "()";
  return "None";
}

}  // namespace

nb::object call_method(const Method& method, nb::handle self, const nb::args& args,
                       const nb::kwargs& kwargs) {
  PySchedule& owner = schedule_of(self);
  Arguments arguments = read_arguments(method, owner.schedule, args, kwargs);
  if (!owner.checks_dependences && method.independence >= 0) {
    const auto place = static_cast<std::size_t>(method.independence);
    if (!arguments.given[place]) arguments.set(place, true);
  }
  Argument made;
  try {
    made = method.primitive->call(owner.schedule, arguments.given);
  } catch (ScheduleError& error) {
    error.set_detail(owner.detail);
    throw;
  }
  if (owner.checks_tree) owner.schedule.check_tree();
  return to_python_value(made, self);
}

bool can_call(const Method& method, const PySchedule& self, const nb::args& args,
              const nb::kwargs& kwargs) {
  const Arguments arguments = read_arguments(method, self.schedule, args, kwargs);
  return !method.primitive->refuse(self.schedule, arguments.given);
}

std::string signature_of(const Method& method) {
  std::string text = fmt::format("def {}(self", method.primitive->name);
  for (std::size_t i = 0; i < method.parameters.size(); ++i) {
    const ParameterInfo& parameter = method.parameters[i];
    if (i == 0 && method.takes_many) {
      text += fmt::format(", *{}: LoopRV | str | typing.Sequence[LoopRV | str]", parameter.name);
      continue;
    }
    text += fmt::format(", {}: {}", parameter.name, parameter.type);
    if (!parameter.required) text += " = " + default_text(parameter.default_value);
  }
  return text + ") -> " + method.primitive->result_type();
}

std::string documentation_of(const Method& method) {
  std::string text(method.primitive->doc);
  std::string parameters;
  for (const ParameterInfo& parameter : method.parameters) {
    if (!parameter.doc.empty()) {
      parameters += fmt::format("\n{}\n    {}", parameter.name, parameter.doc);
    }
  }
  if (!parameters.empty()) text += "\n\nParameters\n----------" + parameters;
  std::string conditions;
  for (const Condition* condition : method.primitive->conditions) {
    conditions += fmt::format("\n    {}: {}", condition->id, condition->problem);
  }
  if (!conditions.empty()) text += "\n\nRaises\n------\nScheduleError" + conditions;
  return text;
}

nb::list primitive_list() {
  nb::list all;
  for (const Method* method : schedule_methods()) {
    nb::list parameters;
    for (const ParameterInfo& parameter : method->parameters) {
      nb::dict fields;
      fields["name"] = std::string(parameter.name);
      fields["type"] = parameter.type;
      fields["doc"] = std::string(parameter.doc);
      fields["is_promise"] = parameter.is_promise;
      fields["default"] = parameter.required
                              ? nb::none()
                              : nb::object(nb::cast(default_text(parameter.default_value)));
      parameters.append(fields);
    }
    nb::list conditions;
    for (const Condition* condition : method->primitive->conditions) {
      nb::dict fields;
      fields["code"] = std::string(condition->id);
      fields["problem"] = std::string(condition->problem);
      fields["hint"] = std::string(condition->hint);
      conditions.append(fields);
    }
    nb::dict primitive;
    primitive["name"] = std::string(method->primitive->name);
    primitive["doc"] = std::string(method->primitive->doc);
    primitive["is_pure"] = method->primitive->pure;
    primitive["signature"] = signature_of(*method);
    primitive["result"] = method->primitive->result_type();
    primitive["parameters"] = parameters;
    primitive["conditions"] = conditions;
    all.append(primitive);
  }
  return all;
}

const std::vector<const Method*>& schedule_methods() {
  static const auto* all = [] {
    auto* made = new std::vector<const Method*>;
    for (const PrimitiveBase* primitive : all_primitives()) made->push_back(new_method(*primitive));
    return made;
  }();
  return *all;
}

}  // namespace loopsmith::python
