// SPDX-License-Identifier: Apache-2.0
// Traces in Python, and the instructions of which they consist.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/bindings.h"
#include "bindings/interpreter_lock.h"
#include "bindings/ir.h"
#include "bindings/schedule.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

/// A step of a trace, with its number there.
struct PyInstruction {
  Step step;
  std::size_t number = 0;
};

struct Parts {
  nb::list inputs;
  nb::list attrs;
  nb::object decision = nb::none();
};

bool is_decision(const ParameterInfo& parameter) {
  return parameter.name == "decision";
}

/// Arguments apart: those that are handles or index maps, the others, and the decision.
Parts parts_of(const PrimitiveBase& primitive, const std::vector<Argument>& arguments,
               nb::handle owner) {
  Parts parts;
  const auto parameters = primitive.parameters();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& type = parameters[i].type;
    const bool is_input =
        type.find("RV") != std::string::npos || type.find("IndexMap") != std::string::npos;
    nb::object value = to_python_value(arguments[i], owner);
    if (is_decision(parameters[i])) {
      parts.decision = std::move(value);
    } else {
      (is_input ? parts.inputs : parts.attrs).append(value);
    }
  }
  return parts;
}

bool decides(const Step& step) {
  const auto parameters = step.primitive->parameters();
  return !parameters.empty() && is_decision(parameters.back());
}

void decide(Step& step, nb::handle decision) {
  require(decides(step), ErrorKind::schedule, "step_has_a_decision", hint("name a sample_* step"),
          {}, "append: {} decides nothing", step.primitive->name);
  step.arguments.back() = decision_of(*step.primitive, decision);
}

/// The number of a step, given as that or as an instruction.
std::size_t number_of(const Trace& trace, nb::handle step) {
  const bool is_instruction = nb::isinstance<PyInstruction>(step);
  std::size_t number = 0;
  if (is_instruction) {
    number = nb::inst_ptr<PyInstruction>(step)->number;
  } else if (!nb::try_cast(step, number)) {
    throw nb::next_overload();
  }
  require(number < trace.steps().size(), ErrorKind::bounds, "step_is_in_the_trace",
          hint("steps are counted from 0"), {}, "trace: there is no step {}, there are {}", number,
          trace.steps().size());
  return number;
}

nb::list instructions_of(const Trace& trace) {
  nb::list all;
  for (std::size_t i = 0; i < trace.steps().size(); ++i) {
    all.append(nb::cast(PyInstruction{trace.steps()[i], i}));
  }
  return all;
}

nb::dict decisions_of(const Trace& trace) {
  nb::dict all;
  for (std::size_t i = 0; i < trace.steps().size(); ++i) {
    const Step& step = trace.steps()[i];
    if (!decides(step)) continue;
    all[nb::cast(PyInstruction{step, i})] = to_python_value(step.arguments.back(), nb::none());
  }
  return all;
}

void apply(const Trace& trace, nb::handle sch, bool remove_postproc, const nb::object& provider) {
  Schedule& schedule = schedule_of(sch).schedule;
  if (provider.is_none()) {
    const Unlocked unlocked;
    return trace.apply_to(schedule, remove_postproc);
  }
  const auto decide = [&](std::size_t i, const std::vector<Argument>& arguments) {
    const Step& step = trace.steps()[i];
    const Parts parts = parts_of(*step.primitive, arguments, sch);
    const nb::object decided =
        provider(nb::cast(PyInstruction{step, i}), parts.inputs, parts.attrs, parts.decision);
    return std::optional(decision_of(*step.primitive, decided));
  };
  trace.apply_to(schedule, remove_postproc, {.decide = decide, .done = {}});
}

Trace new_trace(const std::vector<PyInstruction>& instructions, const nb::dict& decisions) {
  Trace trace;
  for (const PyInstruction& instruction : instructions) {
    Step step = instruction.step;
    const nb::object key = nb::cast(instruction);
    if (decisions.contains(key)) decide(step, decisions[key]);
    trace.append(std::move(step));
  }
  return trace;
}

/// A trace that was made of another one, of the same program if that is known.
nb::object with_original_of(nb::handle other, Trace made) {
  if (!nb::isinstance<ScheduleTrace>(other)) return nb::cast(std::move(made));
  return nb::cast(ScheduleTrace{std::move(made), nb::inst_ptr<ScheduleTrace>(other)->original});
}

void bind_instruction(nb::module_& m) {
  nb::class_<PyInstruction>(m, "Instruction", "One step of a trace.")
      .def_prop_ro(
          "kind", [](const PyInstruction& self) { return std::string(self.step.primitive->name); },
          "The name of the primitive.")
      .def_prop_ro(
          "is_pure", [](const PyInstruction& self) { return self.step.primitive->pure; },
          "Whether it is a query or a choice, which changes nothing.")
      .def_ro("number", &PyInstruction::number, "Its place in the trace, from 0.")
      .def_prop_ro(
          "inputs",
          [](const PyInstruction& self) {
            return parts_of(*self.step.primitive, self.step.arguments, nb::none()).inputs;
          },
          nb::sig("def inputs(self) -> list[typing.Any]"),
          "The arguments that are handles or index maps.")
      .def_prop_ro(
          "attrs",
          [](const PyInstruction& self) {
            return parts_of(*self.step.primitive, self.step.arguments, nb::none()).attrs;
          },
          nb::sig("def attrs(self) -> list[typing.Any]"), "The other arguments.")
      .def_prop_ro(
          "outputs",
          [](const PyInstruction& self) {
            const nb::object made = to_python_value(self.step.result, nb::none());
            if (nb::isinstance<nb::list>(made)) return nb::list(made);
            nb::list one;
            if (!made.is_none()) one.append(made);
            return one;
          },
          nb::sig("def outputs(self) -> list[typing.Any]"), "The handles that it gave.")
      .def(
          "__eq__",
          [](const PyInstruction& self, nb::handle other) {
            if (!nb::isinstance<PyInstruction>(other)) return false;
            const auto& that = *nb::inst_ptr<PyInstruction>(other);
            return that.number == self.number && that.step.primitive == self.step.primitive;
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const PyInstruction& self) { return self.number; })
      .def("__repr__", [](const PyInstruction& self) {
        return fmt::format("Instruction({}, {})", self.number, self.step.primitive->name);
      });
}

}  // namespace

Argument decision_of(const PrimitiveBase& primitive, nb::handle value) {
  const Method any{.primitive = &primitive,
                   .parameters = {ParameterInfo{"decision", "", "a decision"}},
                   .is_map = {false}};
  return to_argument_of(any, 0, value);
}

std::vector<Samples::Decision> to_decisions(nb::handle pairs) {
  std::vector<Samples::Decision> decisions;
  for (nb::handle each : pairs) {
    const nb::tuple pair = nb::cast<nb::tuple>(each);
    const auto kind = nb::cast<std::string>(pair[0]);
    decisions.emplace_back(kind, decision_of(sample_categorical, pair[1]));
  }
  return decisions;
}

nb::list from_decisions(const std::vector<Samples::Decision>& decisions) {
  nb::list pairs;
  for (const auto& [kind, decision] : decisions) {
    pairs.append(nb::make_tuple(kind, to_python_value(decision, nb::none())));
  }
  return pairs;
}

void bind_trace(nb::module_& m) {
  bind_instruction(m);
  nb::class_<Trace>(m, "Trace", "The steps of a schedule: data that makes it again.")
      .def(
          "__init__",
          [](Trace* self, const std::vector<PyInstruction>& insts, const nb::dict& decisions) {
            new (self) Trace(new_trace(insts, decisions));
          },
          nb::arg("insts") = std::vector<PyInstruction>(), nb::arg("decisions") = nb::dict(),
          nb::sig("def __init__(self, insts: typing.Sequence[Instruction] = (), decisions: "
                  "dict[Instruction, typing.Any] = ...) -> None"))
      .def_prop_ro(
          "original",
          [](nb::handle self) {
            return nb::isinstance<ScheduleTrace>(self)
                       ? to_python(nb::inst_ptr<ScheduleTrace>(self)->original)
                       : nb::none();
          },
          nb::for_getter(nb::sig("def original(self) -> IRModule | None")),
          "The program before the first step, of a trace that was taken from a schedule; else "
          "None.")
      .def_prop_ro("insts", instructions_of, nb::sig("def insts(self) -> list[Instruction]"),
                   "The steps, in their order.")
      .def_prop_ro("decisions", decisions_of,
                   nb::sig("def decisions(self) -> dict[Instruction, typing.Any]"),
                   "What the steps that choose have chosen.")
      .def(
          "append",
          [](Trace& self, const PyInstruction& inst, const nb::object& decision) {
            Step step = inst.step;
            if (!decision.is_none()) decide(step, decision);
            self.append(std::move(step));
          },
          nb::arg("inst"), nb::arg("decision").none() = nb::none(),
          nb::sig("def append(self, inst: Instruction, decision: typing.Any = None) -> None"),
          "Add a step, which may use what the steps before it have given.")
      .def(
          "pop",
          [](Trace& self) -> std::optional<PyInstruction> {
            auto step = self.pop();
            if (!step) return {};
            return PyInstruction{*std::move(step), self.steps().size()};
          },
          "Take the last step away and return it; None when there is none.")
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
      .def("apply_to_schedule", apply, nb::arg("sch"), nb::arg("remove_postproc") = false,
           nb::arg("decision_provider").none() = nb::none(),
           nb::sig("def apply_to_schedule(self, sch: Schedule, remove_postproc: bool = False, "
                   "decision_provider: typing.Callable[[Instruction, list[typing.Any], "
                   "list[typing.Any], typing.Any], typing.Any] | None = None) -> None"),
           R"(Do the steps again, on another schedule.

Parameters
----------
sch
    The schedule; its program has the same structure, its sizes may be others.
remove_postproc
    Whether to stop at ``enter_postproc``.
decision_provider
    Called for each step that chooses, with the step, its handles, its other arguments and what it
    had decided; returns what it decides now.)")
      .def(
          "sample_again",
          [](const Trace& self, nb::handle sch) {
            Schedule& schedule = schedule_of(sch).schedule;
            const Unlocked unlocked;
            self.sample_again(schedule);
          },
          nb::arg("sch"), nb::sig("def sample_again(self, sch: Schedule) -> None"),
          "Do the steps again, on another schedule; samples decide anew, or as the schedule was\n"
          "told by `decide_samples`.")
      .def_static(
          "apply_json_to_schedule",
          [](const nb::object& json, PySchedule& sch) {
            const bool is_text = nb::isinstance<nb::str>(json);
            const nb::object text =
                is_text ? json : nb::module_::import_("json").attr("dumps")(json);
            Trace::apply_json(nb::cast<std::string>(text), sch.schedule, all_primitives());
          },
          nb::arg("json_obj"), nb::arg("sch"),
          nb::sig("def apply_json_to_schedule(json_obj: typing.Any, sch: Schedule) -> None"),
          "Do the steps that `as_json` gave.")
      .def_static(
          "from_json",
          [](const std::string& text) { return Trace::from_json(text, all_primitives()); },
          nb::arg("text"),
          "Return the trace that `as_json` gave, as text, apart from any schedule.")
      .def(
          "__reduce__",
          [](const Trace& self) {
            return nb::make_tuple(nb::module_::import_("loopsmith.schedule").attr("trace_of"),
                                  nb::make_tuple(self.as_json()));
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"))
      .def(
          "_repr_html_",
          [](const Trace& self) {
            return nb::module_::import_("loopsmith.display").attr("code_html")(self.text());
          },
          nb::sig("def _repr_html_(self) -> str"))
      .def(
          "simplified",
          [](nb::handle self, bool remove_postproc) {
            const auto& trace = nb::cast<const Trace&>(self);
            return with_original_of(self, trace.simplified(remove_postproc));
          },
          nb::arg("remove_postproc") = false,
          nb::sig("def simplified(self, remove_postproc: bool = False) -> Trace"),
          "Return the trace without queries whose results are not used.")
      .def(
          "with_decision",
          [](nb::handle self, nb::handle inst, const nb::object& decision, bool remove_postproc) {
            const auto& trace = nb::cast<const Trace&>(self);
            const std::size_t step = number_of(trace, inst);
            const Argument decided = decision_of(*trace.steps()[step].primitive, decision);
            return with_original_of(self, trace.with_decision(step, decided, remove_postproc));
          },
          nb::arg("inst"), nb::arg("decision"), nb::arg("remove_postproc") = false,
          nb::sig("def with_decision(self, inst: Instruction | int, decision: typing.Any, "
                  "remove_postproc: bool = False) -> Trace"),
          "Return the trace with another decision for a step, given as such or by its number.")
      .def(
          "get_decision",
          [](const Trace& self, nb::handle inst) -> nb::object {
            const auto decision = self.decision(number_of(self, inst));
            return decision ? to_python_value(*decision, nb::none()) : nb::none();
          },
          nb::arg("inst"), nb::sig("def get_decision(self, inst: Instruction | int) -> typing.Any"),
          "Return what a step decided; None if it decides nothing.")
      .def(
          "show", [](const Trace& self) { nb::print(self.text().c_str()); }, "Print the trace.")
      .def("__len__", [](const Trace& self) { return self.steps().size(); })
      .def("__str__", &Trace::text)
      .def("__repr__", &Trace::text);
  nb::class_<ScheduleTrace, Trace>(m, "ScheduleTrace",
                                   "The trace of a schedule, which knows of what program it is.");
}

}  // namespace loopsmith::python
