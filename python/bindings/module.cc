// SPDX-License-Identifier: Apache-2.0
#include "bindings/bindings.h"

#include <cstdlib>
#include <string>

#include <nanobind/stl/string.h>

#include "bindings/interpreter_lock.h"
#include "loopsmith/driver/release.h"

namespace {

/// Gives the class of one of our functions an attribute, which Python may not: nanobind's classes
/// are immutable to it.
void add_attribute(nanobind::handle function, const char* name, nanobind::handle value) {
  PyTypeObject* type = Py_TYPE(function.ptr());
  if (PyDict_SetItemString(type->tp_dict, name, value.ptr()) != 0) throw nanobind::python_error();
  PyType_Modified(type);
}

}  // namespace

NB_MODULE(_core, m) {
  using namespace loopsmith::python;
  // Objects that live until the process ends are no mistake of the importing program.
  nanobind::set_leak_warnings(std::getenv("LOOPSMITH_LEAK_WARNINGS") != nullptr);
  wait_for_threads_at_exit();
  m.doc() = "The C++ library under the package loopsmith.";
  m.attr("version") = std::string(loopsmith::release());
  bind_errors(m);
  bind_ir(m);
  bind_ir_walk(m);
  bind_arith(m);
  bind_script(m);
  bind_te(m);
  bind_runtime(m);
  bind_interp(m);
  bind_schedule(m);
  bind_te_schedule(m);
  bind_driver(m);
  bind_tune(m);
  bind_tune_sizes(m);
  bind_tune_task(m);
  bind_tune_report(m);
  name_mistakes(m);
  m.def("add_attribute", add_attribute, nanobind::arg("function"), nanobind::arg("name"),
        nanobind::arg("value"), "Give the class of a function of this extension an attribute.");
}
