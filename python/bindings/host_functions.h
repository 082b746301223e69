// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

#include "loopsmith/interp/host_function.h"

namespace loopsmith::python {

/// Python functions, by their names, for the interpreter to call. `functions` must outlive them;
/// they are called without Python's lock, and take it.
interp::HostFunctions host_functions(const nanobind::dict& functions);

}  // namespace loopsmith::python
