// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/processor.h"
#include "loopsmith/codegen/source/c_compiler.h"
#include "loopsmith/driver/build.h"
#include "loopsmith/driver/export.h"
#include "loopsmith/driver/inspect.h"
#include "loopsmith/driver/native_arch.h"
#include "loopsmith/driver/scheduled_by_rule.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/outputs.h"
#include "loopsmith/transform/pipeline.h"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.h"
#include "bindings/callable.h"
#include "bindings/host_functions.h"
#include "bindings/interpreter_lock.h"
#include "bindings/ir.h"
#include "bindings/schedule.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

/// What Python's `on_pass` is given for each pass: name, function before and after, seconds.
void watch(BuildOptions& options, const nb::object& on_pass) {
  if (on_pass.is_none()) return;
  options.on_pass = [&on_pass](const PassRecord& record) {
    const Locked locked;
    on_pass(nb::str(record.name.data(), record.name.size()), record.before, record.after,
            record.seconds);
  };
}

/// Passes of Python, by the names of those that they come after; each gives a function.
void add_passes(BuildOptions& options, const nb::dict& passes) {
  if (passes.empty()) return;
  options.after_pass = [&passes](std::string_view after, const Ptr<PrimFunc>& func) {
    const Locked locked;
    const nb::str name(after.data(), after.size());
    Ptr<PrimFunc> current = func;
    if (!passes.contains(name)) return current;
    for (nb::handle pass : passes[name]) {
      const nb::object made = pass(current);
      current = Ptr<PrimFunc>::from(node_of(made));
      require(current.defined(), ErrorKind::type_mismatch, "pass_gives_function",
              hint("return the function that it was given, or a new one"), {},
              "lower: a pass after {} gave a {}, not a PrimFunc", after,
              nb::cast<std::string>(nb::str(nb::handle(made.type()).attr("__name__"))));
    }
    return current;
  };
}

nb::object build_program(const Ref& program, const Target& target, bool contract,
                         std::vector<std::string> fast_math, int num_threads,
                         std::vector<int> affinity, bool default_schedule, bool profile,
                         const nb::dict& functions, const nb::object& on_pass,
                         const nb::dict& passes) {
  BuildOptions options{.contract = contract,
                       .fast_math = std::move(fast_math),
                       .default_schedule = default_schedule,
                       .profile = profile};
  watch(options, on_pass);
  add_passes(options, passes);
  if (num_threads != 0 || !affinity.empty()) {
    options.runtime.pool = make_pool({.num_threads = num_threads, .affinity = std::move(affinity)});
  }
  options.runtime.call_host = host_caller(functions);
  const auto build_any = [&] {
    const Unlocked unlocked;
    if (program.is<IRModule>()) return build(Ptr<IRModule>::from(program), target, options);
    return build(Ptr<PrimFunc>::from(program), target, options);
  };
  return to_python(build_any());
}

PySchedule default_schedule(const Ptr<PrimFunc>& func, const Target& target, bool holes,
                            int num_threads) {
  BuildOptions options;
  if (num_threads != 0) options.runtime.pool = make_pool({.num_threads = num_threads});
  return {scheduled_by_rule(func, target, holes, options)};
}

/// The lines of the source, and the texts with their lines, as loopsmith.inspection takes them.
nb::tuple inspected(const Module& module) {
  const Inspection made = [&] {
    const Unlocked unlocked;
    return inspect(module);
  }();
  nb::list source;
  for (const InspectedLine& line : made.source) {
    source.append(nb::make_tuple(line.file, line.line, line.text, line.made));
  }
  nb::dict texts;
  for (const InspectedText& each : made.texts) {
    texts[each.name.c_str()] = nb::make_tuple(each.text.text, each.text.lines);
  }
  return nb::make_tuple(source, texts);
}

Ref lower_program(const Ref& program, const Target& target, bool simple_mode,
                  const nb::object& on_pass, const nb::dict& passes) {
  BuildOptions options{.cut_loops = !simple_mode};
  watch(options, on_pass);
  add_passes(options, passes);
  const Unlocked unlocked;
  const auto* module = program.as<IRModule>();
  if (!module) return lower(Ptr<PrimFunc>::from(program), target, options);
  IRModule lowered = *module;
  for (Ptr<PrimFunc>& func : lowered.functions) func = lower(func, target, options);
  return make(std::move(lowered));
}

void bind_target(nb::module_& m) {
  nb::class_<Target>(m, "Target", "What code is generated for: ``llvm -mcpu=native``.")
      .def(
          "__init__",
          [](Target* self, const std::string& text) {
            new (self) Target(with_native_arch(Target(text)));
          },
          nb::arg("text"))
      .def_prop_ro("kind", [](const Target& self) { return std::string(to_string(self.kind())); })
      .def_prop_ro(
          "options",
          [](const Target& self) {
            return std::map<std::string, std::string>(self.options().begin(), self.options().end());
          },
          "Its options, without their dash.")
      .def(
          "has_features",
          [](const Target& self, const std::string& features) {
            return has_features(self, features);
          },
          nb::arg("features"), nb::sig("def has_features(self, features: str) -> bool"),
          "Whether the processor of a target of kind llvm has each of them: "
          "``+avx512f,+avx512vnni``.")
      .def_prop_ro(
          "vector_bits", [](const Target& self) { return preferred_vector_bits(self); },
          "How wide vectors of a target of kind llvm should be: 512 where the processor computes "
          "them at full rate.")
      .def(
          "__reduce__",
          [](const Target& self) {
            return nb::make_tuple(nb::type<Target>(), nb::make_tuple(self.text()));
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"))
      .def("__str__", &Target::text)
      .def("__repr__",
           [](const Target& self) { return fmt::format("loopsmith.Target('{}')", self.text()); })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Target& self) { return std::hash<std::string>()(self.text()); });
  nb::implicitly_convertible<std::string, Target>();
}

}  // namespace

void bind_driver(nb::module_& m) {
  bind_target(m);
  m.def("build", build_program, nb::arg("program"), nb::arg("target"), nb::arg("contract"),
        nb::arg("fast_math"), nb::arg("num_threads"), nb::arg("affinity"),
        nb::arg("default_schedule"), nb::arg("profile"), nb::arg("functions"),
        nb::arg("on_pass").none(), nb::arg("passes"),
        nb::sig("def build(program: Node, target: Target | str, contract: bool, fast_math: "
                "typing.Sequence[str], num_threads: int, affinity: typing.Sequence[int], "
                "default_schedule: bool, profile: bool, functions: dict[str, typing.Any], on_pass: "
                "typing.Callable[[str, PrimFunc, PrimFunc, "
                "float], None] | None, passes: dict[str, list[typing.Callable[[PrimFunc], "
                "PrimFunc]]]) -> Module"));
  m.def("default_schedule", default_schedule, nb::arg("func"), nb::arg("target"), nb::arg("holes"),
        nb::arg("num_threads"),
        nb::sig("def default_schedule(func: PrimFunc, target: Target | str, holes: bool, "
                "num_threads: int) -> Schedule"));
  m.def("lower", lower_program, nb::arg("program"), nb::arg("target"), nb::arg("simple_mode"),
        nb::arg("on_pass").none(), nb::arg("passes"),
        nb::sig("def lower(program: Node, target: Target | str, simple_mode: bool, on_pass: "
                "typing.Callable[[str, PrimFunc, PrimFunc, float], None] | None, passes: "
                "dict[str, list[typing.Callable[[PrimFunc], PrimFunc]]]) -> Node"));
  m.def(
      "load_module",
      [](const std::string& path, const nb::dict& functions) {
        return to_python(load_module(path, {.call_host = host_caller(functions)}));
      },
      nb::arg("path"), nb::arg("functions"),
      nb::sig("def load_module(path: str, functions: dict[str, typing.Any]) -> Module"));
  m.def(
      "inspect", [](nb::handle module) { return inspected(module_of(module)); }, nb::arg("module"),
      nb::sig("def inspect(module: Module) -> tuple[list[tuple[str, int, str, list[int]]], "
              "dict[str, tuple[str, list[int]]]]"));
  m.def("export_runtime", [](const std::string& path) { export_runtime(path); }, nb::arg("path"));
  m.def(
      "processor",
      [](const Target& target) {
        const Processor processor = processor_of(target);
        return nb::make_tuple(processor.triple, processor.cpu, processor.features);
      },
      nb::arg("target"), nb::sig("def processor(target: Target | str) -> tuple[str, str, str]"),
      "The triple, name and features of the processor that a target of kind llvm means.");
  m.def("llvm_version", [] { return llvm_version(); }, "The version of LLVM that generates code.");
  m.def(
      "llvm_intrinsic_id", [](const std::string& name) { return llvm_intrinsic_id(name); },
      nb::arg("name"), "LLVM's number of an intrinsic; 0 where it has none of that name.");
  m.def("llvm_intrinsic_name", llvm_intrinsic_name, nb::arg("id"),
        "The name of an intrinsic of LLVM by its number.");
  m.def("c_compiler", [] { return c_compiler(); }, "The C compiler of this machine.");
  m.def(
      "run_pass",
      [](const Ptr<PrimFunc>& func, const std::string& name) { return run_pass(func, name); },
      nb::arg("func"), nb::arg("name"),
      nb::sig("def run_pass(func: PrimFunc, name: str) -> PrimFunc"));
  m.def(
      "with_outputs", [](const Ptr<PrimFunc>& func) { return with_outputs(func); }, nb::arg("func"),
      nb::sig("def with_outputs(func: PrimFunc) -> PrimFunc"),
      "The function with a note of its outputs, which steps of a schedule may hide.");
  m.def("pass_names", [] {
    std::vector<std::string> names;
    for (const Pass& pass : lowering_passes()) names.emplace_back(pass.name);
    return names;
  });
}

}  // namespace loopsmith::python
