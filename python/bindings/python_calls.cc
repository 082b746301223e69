// SPDX-License-Identifier: Apache-2.0
#include "bindings/python_calls.h"

#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "bindings/errors.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

/// What Python's error says is wrong; one that the user has made has no parts.
std::string problem_of(const nb::python_error& error) {
  const auto problem = nb::cast<std::string>(nb::getattr(error.value(), "problem", nb::str("")));
  return problem.empty() ? std::string(nb::str(error.value()).c_str()) : problem;
}

}  // namespace

Held held(nb::object object) {
  return {new nb::object(std::move(object)), [](const nb::object* last) {
            const Locked locked;
            delete last;
          }};
}

RaisedError::RaisedError(ErrorKind kind, nb::python_error raised)
    : UserError(kind, nb::cast<std::string>(nb::getattr(raised.value(), "code", nb::str(""))),
                problem_of(raised), ""),
      raised_(std::move(raised)) {}

void throw_raised(nb::python_error& error) {
  if (const auto kind = kind_of(error)) throw RaisedError(*kind, std::move(error));
  throw std::move(error);
}

void look_for_signals() {
  const Locked locked;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace loopsmith::python
