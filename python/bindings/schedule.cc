// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bindings/bindings.h"
#include "bindings/host_functions.h"
#include "bindings/interpreter_lock.h"
#include "bindings/ir.h"
#include "bindings/ir_detail.h"
#include "bindings/schedule.h"
#include "bindings/tensor_intrin.h"
#include "loopsmith/arith/reducers.h"
#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/obligations.h"
#include "loopsmith/schedule/legality/regroupings.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/primitives/merge_online.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/schedule_error.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

Schedule new_schedule(const Ref& program, std::int64_t seed) {
  if (program.is<IRModule>()) return Schedule(Ptr<IRModule>::from(program), seed);
  require(program.is<PrimFunc>(), ErrorKind::type_mismatch, "program_is_function_or_module",
          hint("pass a PrimFunc or an IRModule"), {}, "Schedule: the program is a {}",
          node_info(*program.get()).name);
  return Schedule(Ptr<PrimFunc>::from(program), seed);
}

/// "all", "none", or a number: 0 is none, -1 all.
bool is_debugged(const std::variant<std::int64_t, std::string>& mask) {
  const auto* name = std::get_if<std::string>(&mask);
  const auto* bits = std::get_if<std::int64_t>(&mask);
  const bool is_known = name ? *name == "all" || *name == "none" : *bits >= -1;
  require(is_known, ErrorKind::schedule, "debug_mask_is_known", hint("say all or none"), {},
          "Schedule: the debug_mask is {}", name ? *name : std::to_string(*bits));
  return name ? *name == "all" : *bits != 0;
}

ErrorDetail detail_of(std::string_view level) {
  require(level == "detail" || level == "fast" || level == "none", ErrorKind::schedule,
          "error_render_level_is_known", hint("say detail, fast or none"), {},
          "Schedule: the error_render_level is {}", level);
  if (level == "none") return ErrorDetail::none;
  return level == "fast" ? ErrorDetail::brief : ErrorDetail::full;
}

/// The program after each step, and before the first.
nb::list programs_of(const PySchedule& self) {
  Schedule again(self.schedule.original());
  nb::list programs;
  programs.append(to_python(recorded_mod(again)));
  const auto keep = [&](std::size_t) { programs.append(to_python(recorded_mod(again))); };
  self.schedule.trace().apply_to(again, false, {.decide = {}, .done = keep});
  return programs;
}

void decide_samples(PySchedule& self, nb::sequence decisions) {
  self.schedule.samples().tell(to_decisions(decisions));
}

/// True when reducers that are taken at their word combine values of the program.
bool declares_reducers(const IRModule& module) {
  bool found = false;
  for (const auto& function : module.functions) {
    pre_order_visit(function, [&](const Ref& ref) {
      const auto* block = ref.as<Block>();
      found = found || (block && block->annotations.contains(reducer_annotation));
      return !found && !is_expr(*ref.get());
    });
  }
  return found;
}

/// True when the schedule may count on laws of exp, which the field of the interpreter does not
/// know.
bool may_split_powers(const Schedule& schedule) {
  if (declares_reducers(*schedule.original())) return true;
  for (const Step& step : schedule.steps()) {
    if (step.primitive == &merge_online) return true;
  }
  return false;
}

nb::dict verified(const PySchedule& self, const nb::dict& functions) {
  require_no_obligations(self.schedule, "verify");
  const interp::CompareOptions options{.functions = host_functions(functions),
                                       .splits_powers = may_split_powers(self.schedule),
                                       .implies_barriers = true};
  const auto verdict = [&] {
    const Unlocked unlocked;
    return interp::compare(self.schedule.original(), self.schedule.mod(), options);
  }();
  constexpr const char* answers[] = {"same", "different", "undecided"};
  nb::dict fields;
  fields["answer"] = answers[static_cast<int>(verdict.answer)];
  fields["reason"] = verdict.reason;
  fields["buffer"] = verdict.buffer;
  fields["index"] = nb::cast(verdict.index);
  return fields;
}

bool can_apply(const PySchedule& self, const std::string& name, const nb::args& args,
               const nb::kwargs& kwargs) {
  for (const Method* method : schedule_methods()) {
    if (method->primitive->name != name) continue;
    return can_call(*method, self, args, kwargs);
  }
  fail(ErrorKind::schedule, "primitive_exists", hint("name a method of the schedule"), {},
       "can_apply: there is no primitive {}", name);
}

nb::object get_value(nb::handle self, nb::handle handle) {
  const Schedule& schedule = schedule_of(self).schedule;
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

/// What others keep beside the program, and schedules here do not.
[[noreturn]] void refuse_foreign_state(std::string_view name, std::string_view instead) {
  fail(ErrorKind::schedule, "schedule_has_no_srefs", hint(instead), {},
       "{}: a schedule has no srefs and no table of variables", name);
}

}  // namespace

void bind_schedule(nb::module_& m) {
  bind_handles(m);
  bind_trace(m);
  bind_tensor_intrins(m);
  m.def("primitives", primitive_list, nb::sig("def primitives() -> list[dict[str, typing.Any]]"),
        R"(Return what the manual tells of each primitive, in its order.

Each has ``name``, ``doc``, ``is_pure``, ``signature``, ``result``, ``parameters`` (of ``name``,
``type``, ``doc`` and ``default``, which is None where one must be given) and ``conditions`` (of
``code``, ``problem`` and ``hint``).)");
  nb::class_<PySchedule> schedule(m, "Schedule", R"(A program that is transformed step by step.

Parameters
----------
mod
    A PrimFunc or an IRModule; it stays as it is.
seed
    Of the numbers that ``sample_*`` draw, from 1 to 2147483647; None: a random one.
debug_mask
    ``"all"`` checks the schedule's own tables after each step.
error_render_level
    How much the text of a refusal tells: ``"detail"`` all of it, ``"fast"`` one line, ``"none"``
    nothing. Its parts are there as data all the same.
enable_check
    False takes unknown dependences for none in every step.
allow_reassociation
    False refuses steps that combine the elements of a floating-point reduction in another order,
    and so may round otherwise; the trace marks these steps. Results are then equal to the bit.
trusted_calls
    Names of functions of the host that keep to what the blocks that call them declare to read and
    write: the first step is ``trust_calls``. Of others, nothing is known.

Each step gives handles to what it made; a handle that a later step consumed says what became of it.
A step that is refused raises a ScheduleError and changes nothing.)");
  schedule
      .def(
          "__init__",
          [](PySchedule* self, const Ref& mod, std::optional<std::int64_t> seed,
             const std::variant<std::int64_t, std::string>& debug_mask,
             const std::string& error_render_level, bool enable_check, bool allow_reassociation,
             const std::vector<std::string>& trusted_calls) {
            const bool checks_tree = is_debugged(debug_mask);
            const ErrorDetail detail = detail_of(error_render_level);
            Schedule made = new_schedule(mod, seed.value_or(-1));
            made.allow_reassociation(allow_reassociation);
            if (!trusted_calls.empty()) trust_calls.apply(made, {.names = trusted_calls});
            new (self) PySchedule{std::move(made), checks_tree, enable_check, detail};
          },
          nb::arg("mod"), nb::kw_only(), nb::arg("seed").none() = nb::none(),
          nb::arg("debug_mask") = "none", nb::arg("error_render_level") = "detail",
          nb::arg("enable_check") = true, nb::arg("allow_reassociation") = true,
          nb::arg("trusted_calls") = std::vector<std::string>(),
          nb::sig("def __init__(self, mod: PrimFunc | IRModule, *, seed: int | None = None, "
                  "debug_mask: typing.Literal['all', 'none'] | int = 'none', error_render_level: "
                  "typing.Literal['detail', 'fast', 'none'] = 'detail', enable_check: bool = True, "
                  "allow_reassociation: bool = True, trusted_calls: typing.Sequence[str] = ()) -> "
                  "None"))
      .def_prop_rw(
          "allow_reassociation",
          [](const PySchedule& self) { return self.schedule.allows_reassociation(); },
          [](PySchedule& self, bool allowed) { self.schedule.allow_reassociation(allowed); },
          "Whether steps from here on may combine the elements of a reduction in another order.")
      .def_prop_ro(
          "mod", [](const PySchedule& self) { return recorded_mod(self.schedule); },
          "The module as it is scheduled so far.")
      .def_prop_ro(
          "func", [](const PySchedule& self) { return recorded_func(self.schedule); },
          "The function that is worked on.")
      .def_prop_ro(
          "trace",
          [](const PySchedule& self) {
            return ScheduleTrace{self.schedule.trace(), self.schedule.original()};
          },
          nb::for_getter(nb::sig("def trace(self) -> Trace")), "The steps so far.")
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
          "copy", [](PySchedule& self) { return self.copy(); },
          "Return another schedule of the same program; handles made so far are of use in both.")
      .def(
          "fork", [](PySchedule& self) { return self.copy(); },
          "Return another schedule of the same program; handles made so far are of use in both.")
      .def(
          "undo", [](PySchedule& self, std::size_t steps) { self.schedule.undo(steps); },
          nb::arg("steps") = 1, nb::sig("def undo(self, steps: int = 1) -> None"),
          "Take back the last steps. Handles that they made are of no use any more.")
      .def(
          "seed", [](PySchedule& self, std::int64_t seed) { self.schedule.samples().seed(seed); },
          nb::arg("seed"), "Start the random numbers anew.")
      .def(
          "fork_seed", [](PySchedule& self) { return self.schedule.samples().fork_seed(); },
          "Return a seed for another schedule.")
      .def("decide_samples", decide_samples, nb::arg("decisions"),
           nb::sig("def decide_samples(self, decisions: typing.Sequence[tuple[str, typing.Any]]) "
                   "-> None"),
           R"(Say what the samples from here on decide, in their order, whatever their calls say.

One that is of another kind than its decision, or may not decide so, does not heed it; nor do those
after the last decision.

Parameters
----------
decisions
    For each sample the name of its primitive, and what it decides, as in a trace.)")
      .def("get", get_value, nb::arg("rv"),
           nb::sig("def get(self, rv: LoopRV | BlockRV | ExprRV) -> typing.Any"),
           "Return the For or Block behind a handle, or the number behind an ExprRV.")
      .def(
          "get_sref",
          [](const PySchedule&, nb::handle) -> nb::object {
            refuse_foreign_state("get_sref", "use get(rv), which gives the For or Block");
          },
          nb::arg("rv_or_stmt"),
          nb::sig("def get_sref(self, rv_or_stmt: typing.Any) -> typing.NoReturn"),
          "Raise a ScheduleError: handles live by identity, and ``get`` gives their nodes.")
      .def_prop_ro(
          "state",
          [](const PySchedule&) -> nb::object {
            throw nb::attribute_error(
                "state: a schedule has no srefs and no table of variables; use mod, get_producers, "
                "get_consumers, get_child_blocks");
          },
          nb::for_getter(nb::sig("def state(self) -> typing.NoReturn")),
          "Raises an AttributeError: ``mod`` and the queries tell what a state would.")
      .def(
          "remove_rv",
          [](const PySchedule&, nb::handle) -> nb::object {
            refuse_foreign_state("remove_rv", "leave the call out: a handle costs nothing");
          },
          nb::arg("rv"), nb::sig("def remove_rv(self, rv: typing.Any) -> typing.NoReturn"),
          "Raise a ScheduleError: there is no table from which a handle could be removed.")
      .def("can_apply", can_apply, nb::arg("name"), nb::arg("args"), nb::arg("kwargs"),
           nb::sig("def can_apply(self, name: str, /, *args: typing.Any, **kwargs: typing.Any) -> "
                   "bool"),
           "Return whether the primitive of that name would be accepted. Changes nothing.")
      .def(
          "can_decompose_padding",
          [](const PySchedule& self, const nb::args& args, const nb::kwargs& kwargs) {
            return can_apply(self, "decompose_padding", args, kwargs);
          },
          nb::sig("def can_decompose_padding(self, block: BlockRV | str, loop: LoopRV | str) -> "
                  "bool"),
          "Return whether decompose_padding would be accepted. Changes nothing.")
      .def("programs", programs_of, nb::sig("def programs(self) -> list[IRModule]"),
           "Return the program before the first step and after each one.")
      .def("verdict", verified, nb::arg("functions"),
           nb::sig("def verdict(self, functions: dict[str, typing.Any]) -> dict[str, typing.Any]"),
           "Return what ``verify`` found: ``answer``, ``reason``, ``buffer`` and ``index``.")
      .def(
          "history",
          [](nb::handle self) {
            schedule_of(self);
            return nb::module_::import_("loopsmith.schedule").attr("history")(self);
          },
          nb::sig("def history(self) -> typing.Any"),
          "Return the steps, each with the program before and after it and their difference.")
      .def(
          "verify",
          [](nb::handle self, nb::handle functions) {
            schedule_of(self);
            return nb::module_::import_("loopsmith.schedule").attr("verify")(self, functions);
          },
          nb::arg("functions") = nb::none(),
          nb::sig("def verify(self, functions: typing.Mapping[str, typing.Callable[..., "
                  "typing.Any]] | None = None) -> typing.Any"),
          "Compare the program before and after on the interpreter; true when they are the same.\n"
          "`functions` stand for those of the host that it calls, by their names.")
      .def(
          "obligations",
          [](const PySchedule& self) {
            nb::list texts;
            for (const Refusal& refusal : obligations(self.schedule)) {
              texts.append(explain(self.schedule, refusal));
            }
            return texts;
          },
          nb::sig("def obligations(self) -> list[str]"),
          "Tell what the program has to meet before it is built, lowered or verified: memory of\n"
          "threads that is still used outside of their loops. An empty list: nothing.")
      .def(
          "require_no_obligations",
          [](const PySchedule& self, const std::string& operation) {
            require_no_obligations(self.schedule, operation);
          },
          nb::arg("operation"),
          "Raise a ScheduleError, as asked by `operation`, if there are obligations.")
      .def_prop_ro(
          "original", [](const PySchedule& self) { return to_python(self.schedule.original()); },
          nb::for_getter(nb::sig("def original(self) -> IRModule")),
          "The program before the first step.")
      .def(
          "notes",
          [](nb::handle self, nb::handle target) {
            schedule_of(self);
            return nb::module_::import_("loopsmith.notes").attr("notes")(self, target);
          },
          nb::arg("target") = nb::none(),
          nb::sig("def notes(self, target: Target | str | None = None) -> Notes"),
          "Tell what is legal in this schedule and cannot be meant, each with a tried fix. With a "
          "target, it is compiled, and what the code loses is told, too: loads that gather, scalar "
          "loops, accumulators on the stack, strides, guards that stayed, false sharing.")
      .def(
          "__reduce__",
          [](nb::handle self) {
            schedule_of(self);
            return nb::module_::import_("loopsmith.schedule").attr("reduced")(self);
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"))
      .def(
          "__getattr__",
          [](nb::handle self, const std::string& name) {
            return nb::module_::import_("loopsmith.macros").attr("method_of")(self, name);
          },
          nb::arg("name"), nb::sig("def __getattr__(self, name: str, /) -> typing.Any"))
      .def(
          "_repr_html_",
          [](nb::handle self) {
            schedule_of(self);
            return nb::module_::import_("loopsmith.schedule").attr("html")(self);
          },
          nb::sig("def _repr_html_(self) -> str"))
      .def(
          "show",
          [](const PySchedule& self) {
            nb::print(script(recorded_mod(self.schedule)).c_str());
            nb::print(self.schedule.trace().text().c_str());
          },
          "Print the program and the trace.");
  for (const Method* method : schedule_methods()) {
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
