// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/build.h"
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/tune/cost_model.h"
#include "loopsmith/tune/decisions.h"
#include "loopsmith/tune/features.h"
#include "loopsmith/tune/spaces/fixed_order.h"
#include "loopsmith/tune/spaces/generated.h"
#include "loopsmith/tune/spaces/generated_gpu.h"
#include "loopsmith/tune/variants.h"

#include <random>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.h"
#include "bindings/interpreter_lock.h"
#include "bindings/ir.h"
#include "bindings/schedule.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

LowerOptions options_for(const CpuModel& machine) {
  LowerOptions options;
  options.vector_bits = machine.vector_bytes * 8;
  return options;
}

double estimate(const Ptr<PrimFunc>& func, const Target& target) {
  const Unlocked unlocked;
  const CpuModel machine = cpu_model_of(target);
  return tune::estimate(func, machine, options_for(machine));
}

nb::list costs(const Ptr<PrimFunc>& func, const Target& target) {
  const CpuModel machine = cpu_model_of(target);
  nb::list found;
  for (const tune::Cost& cost : tune::costs_of(func, machine, options_for(machine))) {
    nb::dict row;
    row["compute"] = cost.compute;
    row["first_cache"] = cost.first_cache;
    row["core_cache"] = cost.core_cache;
    row["last_cache"] = cost.last_cache;
    row["launches"] = cost.launches;
    row["threads"] = cost.threads;
    row["cycles"] = cost.cycles();
    found.append(row);
  }
  return found;
}

std::vector<double> features(const Ptr<PrimFunc>& func, const Target& target) {
  const Unlocked unlocked;
  const CpuModel machine = cpu_model_of(target);
  return tune::features_of(func, machine, options_for(machine));
}

/// Takes the steps of a space on a schedule of Python, while other threads of Python run.
template <void (*space)(Schedule&)>
void take(nb::handle sch) {
  Schedule& schedule = schedule_of(sch).schedule;
  const Unlocked unlocked;
  space(schedule);
}

nb::list to_list(const tune::Decisions& decisions) {
  nb::list all;
  for (const auto& [kind, decision] : decisions) {
    all.append(nb::make_tuple(kind, to_python_value(decision, nb::none())));
  }
  return all;
}

nb::object mutated(const Trace& trace, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto decisions = tune::mutated(trace, random);
  return decisions ? nb::object(to_list(*decisions)) : nb::none();
}

nb::list crossed(const Trace& first, const Trace& second, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  return to_list(tune::crossed(first, second, random));
}

Ptr<PrimFunc> with_variants(const std::vector<std::pair<Ptr<PrimFunc>, nb::object>>& variants) {
  std::vector<tune::Variant> given;
  for (const auto& [func, condition] : variants) {
    given.push_back({func, condition.is_none() ? Expr() : to_expr(condition)});
  }
  return tune::with_variants(given);
}

}  // namespace

void bind_tune(nb::module_& m) {
  m.def("estimated_seconds", &estimate, nb::arg("func"), nb::arg("target"),
        nb::sig("def estimated_seconds(func: PrimFunc, target: Target) -> float"),
        "Return how long a call of a scheduled function will take, about, without compiling it.");
  m.def("statement_costs", &costs, nb::arg("func"), nb::arg("target"),
        nb::sig("def statement_costs(func: PrimFunc, target: Target) -> list[dict[str, float]]"),
        "Return what each statement of a scheduled function costs: cycles on one core, by what\n"
        "takes them, and among how many threads they are divided.");
  m.attr("features_version") = tune::features_version;
  m.def(
      "program_features", &features, nb::arg("func"), nb::arg("target"),
      nb::sig("def program_features(func: PrimFunc, target: Target) -> list[float]"),
      "Return numbers of a scheduled function for models that learn: the logarithm of what it is\n"
      "estimated to take, and what its most expensive statements are like.");
  m.def("generated_space", &take<tune::generated_space>, nb::arg("sch"),
        nb::sig("def generated_space(sch: Schedule) -> None"),
        "Take the steps of the generated space on a schedule.");
  m.def("generated_space_for_gpu", &take<tune::generated_space_for_gpu>, nb::arg("sch"),
        nb::sig("def generated_space_for_gpu(sch: Schedule) -> None"),
        "Take the steps of the generated space for GPUs on a schedule.");
  m.def("fix_order", &take<tune::fix_order>, nb::arg("sch"),
        nb::sig("def fix_order(sch: Schedule) -> None"),
        "Give reductions the order in which all further steps have to leave them.");
  m.def("mutated_decisions", &mutated, nb::arg("trace"), nb::arg("seed"),
        nb::sig("def mutated_decisions(trace: Trace, seed: int) -> "
                "list[tuple[str, typing.Any]] | None"),
        "Return the decisions of a trace with one of them changed; None where it has no other.");
  m.def("crossed_decisions", &crossed, nb::arg("first"), nb::arg("second"), nb::arg("seed"),
        nb::sig("def crossed_decisions(first: Trace, second: Trace, seed: int) -> "
                "list[tuple[str, typing.Any]]"),
        "Return decisions each from one of two traces, as long as those have the same samples.");
  m.def("with_variants", &with_variants, nb::arg("variants"),
        nb::sig("def with_variants(variants: list[tuple[PrimFunc, Expr | None]]) -> PrimFunc"),
        "Return one function that runs the first variant whose condition holds; all are schedules\n"
        "of one function, and the last has no condition.");
  m.def(
      "scheduled_by_rule",
      [](const Ptr<PrimFunc>& func, const Target& target) {
        return schedule_by_rule(func, target);
      },
      nb::arg("func"), nb::arg("target"),
      nb::sig("def scheduled_by_rule(func: PrimFunc, target: Target) -> PrimFunc"),
      "Return a function as the default schedule has it, before it is lowered.");
}

}  // namespace loopsmith::python
