// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

#include "loopsmith/runtime/module.h"

namespace loopsmith::python {

/// The Python object of a module: it runs its only or `main` function when it is called.
nanobind::object to_python(Module module);

/// The module behind a Python object, which must be one.
const Module& module_of(nanobind::handle object);

/// The classes Function and Module, which are called by the vectorcall protocol.
void bind_callables(nanobind::module_& m);

}  // namespace loopsmith::python
