// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/interp.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arguments.h"
#include "bindings/bindings.h"
#include "bindings/host_functions.h"
#include "bindings/interpreter_lock.h"
#include "bindings/ir.h"
#include "bindings/python_calls.h"
#include "loopsmith/codegen/signature.h"
#include "loopsmith/interp/assert_same.h"
#include "loopsmith/interp/ring.h"
#include "loopsmith/runtime/ndarray.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

nb::object value_of(const interp::Outcome& outcome, interp::Mode mode) {
  const DataType type = outcome.type;
  if (type.is_void()) return nb::none();
  if (type.is_float() && mode == interp::Mode::typed) return nb::float_(outcome.real);
  if (type.is_bool()) return nb::bool_(outcome.integer != 0);
  return nb::int_(outcome.integer);
}

nb::object run(const Ref& program, const std::string& name, const nb::args& arrays, bool is_ring,
               bool wraps, bool zero_division, bool check_races, std::int64_t max_statements,
               std::uint64_t seed, const nb::dict& functions) {
  const interp::Options options{.mode = is_ring ? interp::Mode::ring : interp::Mode::typed,
                                .wrap_overflow = wraps,
                                .zero_division = zero_division,
                                .check_races = check_races,
                                .seed = seed,
                                .max_statements = max_statements,
                                .on_pause = look_for_signals,
                                .functions = host_functions(functions)};
  const auto module = Ptr<IRModule>::from(program);
  const Ptr<PrimFunc> func = module ? module->find(name) : Ptr<PrimFunc>::from(program);
  require(func.defined(), ErrorKind::interp, "function_exists",
          hint("name a function of the module"), {}, "the module has no function {}", name);
  const Signature signature = signature_of(*func);
  std::vector<PyObject*> values;
  for (const nb::handle value : arrays) values.push_back(value.ptr());
  const Arguments arguments(signature, values.data(), values.size());
  interp::Outcome outcome;
  {
    const Unlocked unlocked;
    outcome = module ? interp::run(module, name, arguments.list(), options)
                     : interp::run(func, arguments.list(), options);
  }
  return value_of(outcome, options.mode);
}

nb::tuple compare(const Ref& before, const Ref& after, std::uint64_t seed,
                  std::int64_t max_statements, const nb::dict& functions) {
  const interp::CompareOptions options{.seed = seed,
                                       .max_statements = max_statements,
                                       .on_pause = look_for_signals,
                                       .functions = host_functions(functions)};
  const auto first = Ptr<IRModule>::from(before), second = Ptr<IRModule>::from(after);
  interp::Verdict verdict;
  {
    const Unlocked unlocked;
    verdict =
        first ? interp::compare(first, second, options)
              : interp::compare(Ptr<PrimFunc>::from(before), Ptr<PrimFunc>::from(after), options);
  }
  constexpr const char* answers[] = {"same", "different", "undecided"};
  return nb::make_tuple(answers[static_cast<int>(verdict.answer)], verdict.reason, verdict.buffer,
                        nb::tuple(nb::cast(verdict.index)));
}

/// Elements of the field for numbers of `dtype`.
void to_ring(const NDArray& numbers, const std::string& dtype, const NDArray& elements) {
  const DataType type = parse_data_type(dtype);
  const auto* from = numbers.data<double>();
  auto* to = elements.data<std::uint64_t>();
  for (std::int64_t i = 0; i < numbers.size(); ++i)
    to[i] = interp::ring::from_double(type, from[i]);
}

}  // namespace

void bind_interp(nb::module_& m) {
  m.def("interp_run", run, nb::arg("program"), nb::arg("name"), nb::arg("arrays"), nb::kw_only(),
        nb::arg("is_ring"), nb::arg("wraps"), nb::arg("zero_division"), nb::arg("check_races"),
        nb::arg("max_statements"), nb::arg("seed"), nb::arg("functions"),
        nb::sig("def interp_run(program: Node, name: str, *arrays: typing.Any, is_ring: bool, "
                "wraps: bool, zero_division: bool, check_races: bool, max_statements: int, "
                "seed: int, functions: dict[str, typing.Any]) -> int | float | bool | None"));
  m.def("interp_compare", compare, nb::arg("before"), nb::arg("after"), nb::arg("seed"),
        nb::arg("max_statements"), nb::arg("functions"),
        nb::sig("def interp_compare(before: Node, after: Node, seed: int, max_statements: int, "
                "functions: dict[str, typing.Any]) -> tuple[str, str, str, tuple[int, ...]]"));
  m.def("interp_to_ring", to_ring, nb::arg("numbers"), nb::arg("dtype"), nb::arg("elements"),
        nb::sig("def interp_to_ring(numbers: NDArray, dtype: str, elements: NDArray) -> None"));
}

}  // namespace loopsmith::python
