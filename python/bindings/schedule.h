// SPDX-License-Identifier: Apache-2.0
// What the parts of the bindings of schedules share.
#pragma once
#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/schedule_error.h"
#include "loopsmith/support/error.h"

namespace loopsmith::python {

/// A schedule, and how Python's user wants it to behave.
struct PySchedule {
  Schedule schedule;
  bool checks_tree = false;
  bool checks_dependences = true;
  ErrorDetail detail = ErrorDetail::full;

  /// Another schedule of the same program that behaves alike.
  PySchedule copy() { return {schedule.copy(), checks_tree, checks_dependences, detail}; }
};

/// The trace of a schedule, which knows of what program it is.
struct ScheduleTrace : Trace {
  Ptr<IRModule> original;
};

/// The schedule that an object of Python is; any other object is an argument that does not fit.
inline PySchedule& schedule_of(nanobind::handle object) {
  if (!nanobind::isinstance<PySchedule>(object)) throw nanobind::next_overload();
  return *nanobind::inst_ptr<PySchedule>(object);
}

/// A handle in Python keeps its schedule alive, and shows itself as script.
template <class T>
struct PyHandle {
  T handle;
  nanobind::object owner;  ///< None: it is of a trace.

  const Schedule& schedule() const {
    require(!owner.is_none(), ErrorKind::schedule, "handle_is_of_a_schedule",
            hint("replay the trace on a schedule, and use the handles of that"), {},
            "the handle is of a trace, not of a schedule");
    return nanobind::inst_ptr<PySchedule>(owner)->schedule;
  }
};

/// What a method needs to know of its primitive, found out once.
struct Method {
  const PrimitiveBase* primitive;
  std::vector<ParameterInfo> parameters;
  std::vector<nanobind::str> names;
  bool takes_many = false;   ///< Loops may be given one after another.
  int new_names = -1;        ///< The parameter with names for new loops.
  int independence = -1;     ///< The parameter `assume_independent`.
  std::vector<bool> is_map;  ///< Parameters for which a function stands for an index map.
};

/// One method for each primitive.
const std::vector<const Method*>& schedule_methods();
/// What the manual tells of each of them.
nanobind::list primitive_list();
std::string signature_of(const Method& method);
std::string documentation_of(const Method& method);
/// Applies a primitive to a Schedule of Python.
nanobind::object call_method(const Method& method, nanobind::handle self,
                             const nanobind::args& args, const nanobind::kwargs& kwargs);
/// Whether it would be accepted.
bool can_call(const Method& method, const PySchedule& self, const nanobind::args& args,
              const nanobind::kwargs& kwargs);

/// A Python value as an argument of a primitive; refuses what cannot be one.
Argument to_argument_of(const Method& method, std::size_t parameter, nanobind::handle value);
/// A decision of a sample.
Argument decision_of(const PrimitiveBase& primitive, nanobind::handle value);
/// Decisions of samples, each with the name of its primitive; and back.
std::vector<Samples::Decision> to_decisions(nanobind::handle pairs);
nanobind::list from_decisions(const std::vector<Samples::Decision>& decisions);
/// What a primitive was given or gives, in Python. `owner` is the Schedule of its handles.
nanobind::object to_python_value(const Argument& value, nanobind::handle owner);

/// LoopRV, BlockRV, ExprRV.
void bind_handles(nanobind::module_& m);
/// Trace and Instruction.
void bind_trace(nanobind::module_& m);

}  // namespace loopsmith::python
