// SPDX-License-Identifier: Apache-2.0
#include "bindings/bindings.h"

#include <cstdlib>

NB_MODULE(_core, m) {
  using namespace loopsmith::python;
  // Objects that live until the process ends are no mistake of who imports us.
  nanobind::set_leak_warnings(std::getenv("LOOPSMITH_LEAK_WARNINGS") != nullptr);
  m.doc() = "The C++ library under the package loopsmith.";
  m.attr("version") = LOOPSMITH_VERSION;
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
  name_mistakes(m);
}
