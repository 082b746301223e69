// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

#include <string>

#include "loopsmith/schedule/intrinsics/tensor_intrin.h"

namespace loopsmith::python {

/// `TensorIntrin.register` and `.get`, and the table that they are about.
void bind_tensor_intrins(nanobind::module_& m);

/// The intrinsic that Python knows by this name, as an argument of `tensorize`.
TensorIntrinSelector select_tensor_intrin(const std::string& name);

}  // namespace loopsmith::python
