// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

namespace loopsmith::python {

/// C++ errors arrive in Python as the classes of `loopsmith.errors`.
void bind_errors(nanobind::module_& m);

}  // namespace loopsmith::python
