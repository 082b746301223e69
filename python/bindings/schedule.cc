// SPDX-License-Identifier: Apache-2.0
// Schedules: one Python method for each primitive, made from its object.
#include "loopsmith/schedule/schedule.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bindings/bindings.h"
#include "bindings/ir.h"
#include "bindings/ir_detail.h"
#include "bindings/tensor_intrin.h"
#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/schedule/analysis.h"
#include "loopsmith/schedule/primitives.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

/// A schedule, and how Python's user wants it to behave.
struct PySchedule {
  Schedule schedule;
  bool checks_tree = false;
  bool checks_dependences = true;
};

/// A handle in Python keeps its schedule alive, and shows itself as script.
template <class T>
struct PyHandle {
  T handle;
  nb::object owner;

  const Schedule& schedule() const { return nb::inst_ptr<PySchedule>(owner)->schedule; }
};

/// What a method needs to know of its primitive, found out once.
struct Method {
  const PrimitiveBase* primitive;
  std::vector<ParameterInfo> parameters;
  std::vector<nb::str> names;
  bool takes_many = false;   ///< Loops may be given one after another.
  int new_names = -1;        ///< The parameter with names for new loops.
  int independence = -1;     ///< The parameter `assume_independent`.
  std::vector<bool> is_map;  ///< Parameters for which a function stands for an index map.
};

[[noreturn]] void refuse_value(const Method& method, std::size_t parameter, nb::handle value) {
  fail(ErrorKind::type_mismatch, "argument_has_type",
       hint(fmt::format("it takes {}", method.parameters[parameter].type)), {},
       "{}: the argument {} is a {}", method.primitive->name, method.parameters[parameter].name,
       type_name_of(value));
}

/// An index map from a Python function of so many indices as it has parameters.
Ref map_of(nb::handle function) {
  const nb::object code = nb::getattr(function, "__code__", nb::none());
  if (code.is_none()) return nullptr;
  const auto count = nb::cast<std::size_t>(code.attr("co_argcount"));
  const nb::object names = code.attr("co_varnames");
  IndexMap map;
  nb::list indices;
  for (std::size_t i = 0; i < count; ++i) {
    map.initial_indices.push_back(var(nb::cast<std::string>(names[i])));
    indices.append(to_python(map.initial_indices.back()));
  }
  const nb::object results = nb::borrow(function)(*nb::tuple(indices));
  const bool is_list = nb::isinstance<nb::sequence>(results);
  const nb::list all = is_list ? nb::list(results) : nb::list();
  if (!is_list) map.final_indices.push_back(to_expr(results));
  for (nb::handle result : all) map.final_indices.push_back(to_expr(result));
  return make(std::move(map));
}

Argument to_argument_of(const Method& method, std::size_t parameter, nb::handle value) {
  PyObject* object = value.ptr();
  if (object == Py_None) return {};
  if (PyBool_Check(object)) return object == Py_True;
  if (PyLong_Check(object)) return static_cast<std::int64_t>(PyLong_AsLongLong(object));
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
  if (PyIndex_Check(object)) {
    return static_cast<std::int64_t>(PyLong_AsLongLong(nb::int_(nb::borrow(value)).ptr()));
  }
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

Arguments read_arguments(const Method& method, const nb::args& args, const nb::kwargs& kwargs) {
  const std::size_t count = method.parameters.size();
  Arguments arguments(count);
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
    for (std::size_t i = 0; i < positional; ++i) {
      arguments.set(i, to_argument_of(method, i, args[i]));
    }
  }
  for (auto [key, value] : kwargs) {
    std::size_t i = 0;
    while (i < count && key.ptr() != method.names[i].ptr() && !key.equal(method.names[i])) ++i;
    require(i < count, ErrorKind::type_mismatch, "argument_exists", hint("see its documentation"),
            {}, "{}: there is no argument {}", method.primitive->name, nb::cast<std::string>(key));
    require(!arguments.given[i], ErrorKind::type_mismatch, "argument_is_given_once",
            hint("leave one out"), {}, "{}: the argument {} is given twice", method.primitive->name,
            method.parameters[i].name);
    arguments.set(i, to_argument_of(method, i, value));
  }
  read_arrow(method, arguments);
  return arguments;
}

nb::object call_method(const Method& method, nb::handle self, const nb::args& args,
                       const nb::kwargs& kwargs) {
  auto& owner = *nb::inst_ptr<PySchedule>(self);
  Arguments arguments = read_arguments(method, args, kwargs);
  if (!owner.checks_dependences && method.independence >= 0) {
    const auto place = static_cast<std::size_t>(method.independence);
    if (!arguments.given[place]) arguments.set(place, true);
  }
  const Argument made = method.primitive->call(owner.schedule, arguments.given);
  if (owner.checks_tree) owner.schedule.check_tree();
  return to_python_value(made, self);
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

std::string signature_of(const Method& method) {
  std::string text = fmt::format("def {}(self", method.primitive->name);
  for (std::size_t i = 0; i < method.parameters.size(); ++i) {
    const ParameterInfo& parameter = method.parameters[i];
    if (i == 0 && method.takes_many) {
      text += fmt::format(", *{}: LoopRV | str | typing.Sequence[LoopRV | str]", parameter.name);
      continue;
    }
    text += fmt::format(", {}: {}", parameter.name, parameter.type);
    if (!parameter.required) text += " = " + default_text(parameter.otherwise);
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

template <class T>
std::string show(const PyHandle<T>& self) {
  const Schedule& schedule = self.schedule();
  if (const auto refusal = schedule.refuse(self.handle)) return explain(schedule, *refusal);
  return to_string(schedule.statement(schedule.node(self.handle)));
}

template <class T>
void bind_handle(nb::module_& m, const char* name, const char* doc) {
  nb::class_<PyHandle<T>>(m, name, doc)
      .def_prop_ro(
          "name",
          [](const PyHandle<T>& self) { return std::string(self.schedule().name(self.handle)); })
      .def("__str__", show<T>)
      .def("__repr__", show<T>)
      .def(
          "__eq__",
          [](const PyHandle<T>& self, nb::handle other) {
            return nb::isinstance<PyHandle<T>>(other) &&
                   nb::inst_ptr<PyHandle<T>>(other)->handle == self.handle;
          },
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const PyHandle<T>& self) { return std::hash<std::uint32_t>()(self.handle.index); });
}

void bind_hole(nb::module_& m) {
  using Hole = PyHandle<ExprRV>;
  const auto value = [](const Hole& self) { return self.schedule().get(self.handle); };
  nb::class_<Hole>(m, "ExprRV", "A number that a schedule has chosen, and may choose anew.")
      .def("__int__", value)
      .def("__index__", value)
      .def("__str__", [value](const Hole& self) { return std::to_string(value(self)); })
      .def("__repr__", [value](const Hole& self) { return std::to_string(value(self)); });
}

void bind_trace(nb::module_& m) {
  nb::class_<Trace>(m, "Trace", "The steps of a schedule: data that makes it again.")
      .def("as_python", &Trace::as_python, nb::arg("remove_postproc") = false,
           "Return the lines of Python that do the steps.")
      .def(
          "as_json",
          [](const Trace& self, bool remove_postproc) {
            return nb::module_::import_("json").attr("loads")(self.as_json(remove_postproc));
          },
          nb::arg("remove_postproc") = false,
          nb::sig("def as_json(self, remove_postproc: bool = False) -> list[typing.Any]"),
          "Return the steps and decisions as lists, ready for JSON.")
      .def(
          "apply_to_schedule",
          [](const Trace& self, PySchedule& sch, bool remove_postproc) {
            self.apply_to(sch.schedule, remove_postproc);
          },
          nb::arg("sch"), nb::arg("remove_postproc") = false,
          nb::sig("def apply_to_schedule(self, sch: Schedule, remove_postproc: bool = False) -> "
                  "None"),
          "Do the steps again, on another schedule.")
      .def_static(
          "apply_json_to_schedule",
          [](const nb::object& json, PySchedule& sch) {
            const bool is_text = nb::isinstance<nb::str>(json);
            const nb::object text =
                is_text ? json : nb::module_::import_("json").attr("dumps")(json);
            Trace::apply_json(nb::cast<std::string>(text), sch.schedule);
          },
          nb::arg("json_obj"), nb::arg("sch"),
          nb::sig("def apply_json_to_schedule(json_obj: typing.Any, sch: Schedule) -> None"),
          "Do the steps that `as_json` gave.")
      .def("simplified", &Trace::simplified, nb::arg("remove_postproc") = false,
           "Return the trace without queries whose results nobody uses.")
      .def(
          "with_decision",
          [](const Trace& self, std::size_t step, const nb::object& decision,
             bool remove_postproc) {
            const Method any{.primitive = self.steps().at(step).primitive,
                             .parameters = {ParameterInfo{"decision", "", "a decision"}},
                             .is_map = {false}};
            return self.with_decision(step, to_argument_of(any, 0, decision), remove_postproc);
          },
          nb::arg("step"), nb::arg("decision"), nb::arg("remove_postproc") = false,
          nb::sig("def with_decision(self, step: int, decision: typing.Any, remove_postproc: bool "
                  "= False) -> Trace"),
          "Return the trace with another decision for the step of that number, from 0.")
      .def(
          "get_decision",
          [](const Trace& self, std::size_t step) -> nb::object {
            const auto decision = self.decision(step);
            return decision ? to_python_value(*decision, nb::none()) : nb::none();
          },
          nb::arg("step"), nb::sig("def get_decision(self, step: int) -> typing.Any"),
          "Return what the step of that number, from 0, decided; None if it decides nothing.")
      .def(
          "show", [](const Trace& self) { nb::print(self.text().c_str()); }, "Print the trace.")
      .def("__len__", [](const Trace& self) { return self.steps().size(); })
      .def("__str__", &Trace::text)
      .def("__repr__", &Trace::text);
}

PySchedule new_schedule(const Ref& program, std::int64_t seed) {
  if (program.is<IRModule>()) return {Schedule(Ptr<IRModule>::from(program), seed)};
  require(program.is<PrimFunc>(), ErrorKind::type_mismatch, "program_is_function_or_module",
          hint("pass a PrimFunc or an IRModule"), {}, "Schedule: the program is a {}",
          node_info(*program.get()).name);
  return {Schedule(Ptr<PrimFunc>::from(program), seed)};
}

/// The program after each step, and before the first.
nb::list programs_of(const PySchedule& self) {
  Schedule again(self.schedule.original());
  nb::list programs;
  programs.append(to_python(again.mod()));
  const auto keep = [&](std::size_t) { programs.append(to_python(again.mod())); };
  self.schedule.trace().apply_to(again, false, {.decide = {}, .done = keep});
  return programs;
}

nb::dict verified(const PySchedule& self) {
  const auto verdict = interp::compare(self.schedule.original(), self.schedule.mod());
  constexpr const char* answers[] = {"same", "different", "undecided"};
  nb::dict fields;
  fields["answer"] = answers[static_cast<int>(verdict.answer)];
  fields["reason"] = verdict.reason;
  fields["buffer"] = verdict.buffer;
  fields["index"] = nb::cast(verdict.index);
  return fields;
}

const std::vector<const Method*>& methods() {
  static const auto* all = [] {
    auto* made = new std::vector<const Method*>;
    for (const PrimitiveBase* primitive : all_primitives()) made->push_back(new_method(*primitive));
    return made;
  }();
  return *all;
}

bool can_apply(const PySchedule& self, const std::string& name, const nb::args& args,
               const nb::kwargs& kwargs) {
  for (const Method* method : methods()) {
    if (method->primitive->name != name) continue;
    const Arguments arguments = read_arguments(*method, args, kwargs);
    return !method->primitive->refuse(self.schedule, arguments.given);
  }
  fail(ErrorKind::schedule, "primitive_exists", hint("name a method of the schedule"), {},
       "can_apply: there is no primitive {}", name);
}

nb::object get_value(nb::handle self, nb::handle handle) {
  const Schedule& schedule = nb::inst_ptr<PySchedule>(self)->schedule;
  const auto alive = [&](const auto& subject) {
    if (auto refusal = schedule.refuse(subject)) throw ScheduleError(schedule, "get", *refusal);
    return subject;
  };
  if (nb::isinstance<PyHandle<LoopRV>>(handle)) {
    const LoopRV loop = alive(nb::inst_ptr<PyHandle<LoopRV>>(handle)->handle);
    return to_python(Ref(&schedule.get(loop)));
  }
  if (nb::isinstance<PyHandle<BlockRV>>(handle)) {
    const BlockRV block = alive(nb::inst_ptr<PyHandle<BlockRV>>(handle)->handle);
    return to_python(Ref(&schedule.get(block)));
  }
  if (nb::isinstance<PyHandle<ExprRV>>(handle)) {
    return nb::int_(schedule.get(alive(nb::inst_ptr<PyHandle<ExprRV>>(handle)->handle)));
  }
  fail(ErrorKind::type_mismatch, "argument_has_type", hint("pass a LoopRV, BlockRV or ExprRV"), {},
       "get: the argument is a {}", type_name_of(handle));
}

}  // namespace

void bind_schedule(nb::module_& m) {
  bind_handle<LoopRV>(m, "LoopRV", "A loop of a schedule.");
  bind_handle<BlockRV>(m, "BlockRV", "A block of a schedule.");
  bind_hole(m);
  bind_trace(m);
  bind_tensor_intrins(m);
  nb::class_<PySchedule> schedule(m, "Schedule", R"(A program that is transformed step by step.

Parameters
----------
mod
    A PrimFunc or an IRModule; it stays as it is.
seed
    Of the numbers that ``sample_*`` draw, from 1 to 2147483647; None: a random one.
debug_mask
    ``"all"`` checks the schedule's own tables after each step.
enable_check
    False takes unknown dependences for none in every step.

Each step gives handles to what it made; a handle that a later step consumed says what became of it.
A step that is refused raises a ScheduleError and changes nothing.)");
  schedule
      .def(
          "__init__",
          [](PySchedule* self, const Ref& mod, std::optional<std::int64_t> seed,
             const nb::object& debug_mask, bool enable_check) {
            new (self) PySchedule(new_schedule(mod, seed.value_or(-1)));
            const bool is_none = nb::isinstance<nb::str>(debug_mask)
                                     ? nb::cast<std::string>(debug_mask) == "none"
                                     : nb::cast<int>(debug_mask) == 0;
            self->checks_tree = !is_none;
            self->checks_dependences = enable_check;
          },
          nb::arg("mod"), nb::kw_only(), nb::arg("seed").none() = nb::none(),
          nb::arg("debug_mask") = "none", nb::arg("enable_check") = true,
          nb::sig("def __init__(self, mod: PrimFunc | IRModule, *, seed: int | None = None, "
                  "debug_mask: str | int = 'none', enable_check: bool = True) -> None"))
      .def_prop_ro(
          "mod", [](const PySchedule& self) { return self.schedule.mod(); },
          "The module as it is scheduled so far.")
      .def_prop_ro(
          "func", [](const PySchedule& self) { return self.schedule.func(); },
          "The function that is worked on.")
      .def_prop_ro(
          "trace", [](const PySchedule& self) { return self.schedule.trace(); },
          "The steps so far.")
      .def_prop_ro(
          "func_working_on",
          [](const PySchedule& self) -> std::optional<std::string> {
            const auto function = self.schedule.function_named();
            if (!function) return {};
            return self.schedule.function_name(*function);
          },
          "The name of the function in which blocks and loops are looked up.")
      .def(
          "work_on", [](PySchedule& self, const std::string& name) { self.schedule.work_on(name); },
          nb::arg("func_name"), "Look up blocks and loops in that function from here on.")
      .def(
          "copy",
          [](PySchedule& self) {
            return PySchedule{self.schedule.copy(), self.checks_tree, self.checks_dependences};
          },
          "Return another schedule of the same program; handles made so far are of use in both.")
      .def(
          "fork",
          [](PySchedule& self) {
            return PySchedule{self.schedule.copy(), self.checks_tree, self.checks_dependences};
          },
          "Return another schedule of the same program; handles made so far are of use in both.")
      .def(
          "undo", [](PySchedule& self, std::size_t steps) { self.schedule.undo(steps); },
          nb::arg("steps") = 1, "Take back the last steps.")
      .def(
          "seed", [](PySchedule& self, std::int64_t seed) { self.schedule.seed(seed); },
          nb::arg("seed"), "Start the random numbers anew.")
      .def(
          "fork_seed", [](PySchedule& self) { return self.schedule.fork_seed(); },
          "Return a seed for another schedule.")
      .def("get", get_value, nb::arg("rv"),
           nb::sig("def get(self, rv: LoopRV | BlockRV | ExprRV) -> typing.Any"),
           "Return the For or Block behind a handle, or the number behind an ExprRV.")
      .def("can_apply", can_apply, nb::arg("name"), nb::arg("args"), nb::arg("kwargs"),
           nb::sig("def can_apply(self, name: str, /, *args: typing.Any, **kwargs: typing.Any) -> "
                   "bool"),
           "Return whether the primitive of that name would be accepted. Changes nothing.")
      .def("programs", programs_of, nb::sig("def programs(self) -> list[IRModule]"),
           "Return the program before the first step and after each one.")
      .def("verdict", verified, nb::sig("def verdict(self) -> dict[str, typing.Any]"),
           "Return what ``verify`` found: ``answer``, ``reason``, ``buffer`` and ``index``.")
      .def(
          "history",
          [](nb::handle self) {
            return nb::module_::import_("loopsmith.schedule").attr("history")(self);
          },
          nb::sig("def history(self) -> typing.Any"),
          "Return the steps, each with the program before and after it and their difference.")
      .def(
          "verify",
          [](nb::handle self) {
            return nb::module_::import_("loopsmith.schedule").attr("verify")(self);
          },
          nb::sig("def verify(self) -> typing.Any"),
          "Compare the program before and after on the interpreter; true when they are the same.")
      .def(
          "show",
          [](const PySchedule& self) {
            nb::print(script(self.schedule.mod()).c_str());
            nb::print(self.schedule.trace().text().c_str());
          },
          "Print the program and the trace.");
  for (const Method* method : methods()) {
    const auto call = [method](nb::handle self, const nb::args& args, const nb::kwargs& kwargs) {
      return call_method(*method, self, args, kwargs);
    };
    const auto define = [&](std::string_view name) {
      schedule.def(kept(std::string(name)), call, nb::sig(kept(signature_of(*method))),
                   kept(documentation_of(*method)));
    };
    define(method->primitive->name);
  }
  schedule.attr("get_axis") = schedule.attr("get_loop");
}

}  // namespace loopsmith::python
