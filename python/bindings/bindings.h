// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

#include <exception>

namespace loopsmith::python {

/// C++ errors arrive in Python as the classes of `loopsmith.errors`.
void bind_errors(nanobind::module_& m);
/// Makes a C++ exception the error that Python is about to see; for functions without nanobind.
void set_python_error(const std::exception_ptr& thrown);

/// Nodes of the IR, their operators, printing and comparison.
void bind_ir(nanobind::module_& m);

/// Walks over the IR, and what rewrites it.
void bind_ir_walk(nanobind::module_& m);

/// Integer analysis.
void bind_arith(nanobind::module_& m);

/// The script language.
void bind_script(nanobind::module_& m);

/// Tensor expressions.
void bind_te(nanobind::module_& m);

/// The reference interpreter.
void bind_interp(nanobind::module_& m);

/// Arrays, compiled functions and modules, measurements.
void bind_runtime(nanobind::module_& m);

/// Schedules and their traces.
void bind_schedule(nanobind::module_& m);

/// Schedules of tensor expressions.
void bind_te_schedule(nanobind::module_& m);

/// Targets, `lower` and `build`.
void bind_driver(nanobind::module_& m);

/// What schedules will cost.
void bind_tune(nanobind::module_& m);
/// What searches over ranges of sizes are made of, and when searches end.
void bind_tune_sizes(nanobind::module_& m);
void bind_tune_task(nanobind::module_& m);
void bind_tune_report(nanobind::module_& m);

/// Errors of calls whose arguments do not fit, for all that the module has by then.
void name_mistakes(nanobind::module_& m);

}  // namespace loopsmith::python
