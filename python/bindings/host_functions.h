// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

#include "loopsmith/runtime/host_function.h"

namespace loopsmith::python {

/// Functions of Python by their names, for the interpreter; the dict must outlive them.
HostFunctions host_functions(const nanobind::dict& functions);

/// Calls what a compiled program calls by name: of `functions`, or else of what is registered at
/// that time (see loopsmith.host). The caller keeps `functions` alive: Python's collector has to
/// see its owners, and cannot look into a module of C++.
HostFunction host_caller(const nanobind::dict& functions);

/// The functions of a `host_caller`; null for another caller. A borrowed reference.
PyObject* functions_of(const HostFunction& caller);

}  // namespace loopsmith::python
