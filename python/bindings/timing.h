// SPDX-License-Identifier: Apache-2.0
// What a measurement of a call has found, as text and as data.
#pragma once
#include <nanobind/nanobind.h>

namespace loopsmith::python {

void bind_timing(nanobind::module_& m);

}  // namespace loopsmith::python
