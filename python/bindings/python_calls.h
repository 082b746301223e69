// SPDX-License-Identifier: Apache-2.0
// Functions of Python that C++ calls while it runs without the interpreter lock.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

#include "bindings/interpreter_lock.h"
#include "loopsmith/support/user_error.h"

namespace loopsmith::python {

/// An object that threads without the lock may hold and let go of.
using Held = std::shared_ptr<const nanobind::object>;
Held held(nanobind::object object);

/// An error of `loopsmith.errors` that Python raised, as C++ sees it. Back in Python, it is the one
/// that was raised.
class RaisedError : public UserError {
 public:
  RaisedError(ErrorKind kind, nanobind::python_error raised);

  const nanobind::python_error& raised() const { return raised_; }

 private:
  nanobind::python_error raised_;
};

/// Throws the RaisedError of what Python raised; any other error as it is.
[[noreturn]] void throw_raised(nanobind::python_error& error);

/// Calls Python with the lock.
template <class Call>
auto in_python(Call&& call) {
  const Locked locked;
  try {
    return std::forward<Call>(call)();
  } catch (nanobind::python_error& error) {
    throw_raised(error);
  }
}

/// Throws what a signal's handler in Python raised, if one came in: Ctrl-C ends a long run.
void look_for_signals();

}  // namespace loopsmith::python
