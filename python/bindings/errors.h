// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

#include <optional>

#include "loopsmith/support/user_error.h"

namespace loopsmith::python {

/// Which class of `loopsmith.errors` an error of Python is of; none: of no UserError.
std::optional<ErrorKind> kind_of(const nanobind::python_error& error);

}  // namespace loopsmith::python
