// SPDX-License-Identifier: Apache-2.0
#include "bindings/host_functions.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <vector>

#include "bindings/interpreter_lock.h"
#include "loopsmith/runtime/host_caller.h"
#include "loopsmith/runtime/ndarray.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

/// An array that a function is given: a compact copy, because the function may keep it.
class Copy {
 public:
  explicit Copy(const ls_argument& argument)
      : tensor_(*argument.value.as_tensor),
        is_read_only_(argument.read_only != 0),
        array_(NDArray::empty({tensor_.shape, tensor_.shape + tensor_.ndim}, tensor_.dtype)) {
    const bool is_packed = tensor_.dtype.bits * tensor_.dtype.lanes % 8 != 0;
    require(!is_packed || is_compact(), ErrorKind::type_mismatch, "array_has_whole_bytes",
            hint("pass elements of 8 bits and more, or a compact array"), {},
            "an array of {} with strides goes to a function of the host", to_string(tensor_.dtype));
    copy</*to_python=*/true>();
  }

  /// As NumPy has it, if it knows the type.
  nb::object to_python() const {
    const nb::object object = nb::cast(is_read_only_ ? array_.as_read_only() : array_);
    const DLDataType dtype = tensor_.dtype;
    const bool is_known =
        dtype.lanes == 1 && ((dtype.bits >= 8 && dtype.code <= kDLFloat) || dtype.code == kDLBool);
    return is_known ? object.attr("numpy")() : object;
  }
  void give_back() const {
    if (!is_read_only_) copy</*to_python=*/false>();
  }

 private:
  bool is_compact() const {
    std::int64_t stride = 1;
    for (int d = tensor_.ndim; tensor_.strides && d-- > 0; stride *= tensor_.shape[d]) {
      if (tensor_.shape[d] != 1 && tensor_.strides[d] != stride) return false;
    }
    return true;
  }
  /// Element by element, so that what lies between them stays for others to write.
  template <bool to_python>
  void copy() const {
    auto* own = static_cast<char*>(array_.c_tensor().data) + array_.c_tensor().byte_offset;
    auto* lent = static_cast<char*>(tensor_.data) + tensor_.byte_offset;
    const auto move = [](char* a, char* b, std::size_t size) {
      if (size > 0) to_python ? std::memcpy(a, b, size) : std::memcpy(b, a, size);
    };
    const auto count = array_.size();
    if (is_compact()) {
      return move(own, lent, static_cast<std::size_t>(size_in_bytes(tensor_.dtype, count)));
    }
    const auto size = static_cast<std::size_t>(size_in_bytes(tensor_.dtype, 1));
    std::vector<std::int64_t> index(static_cast<std::size_t>(tensor_.ndim));
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < count; ++i, own += size) {
      move(own, lent + at * static_cast<std::int64_t>(size), size);
      for (int d = tensor_.ndim; d-- > 0;) {
        at += tensor_.strides[d];
        if (++index[static_cast<std::size_t>(d)] < tensor_.shape[d]) break;
        at -= tensor_.shape[d] * tensor_.strides[d];
        index[static_cast<std::size_t>(d)] = 0;
      }
    }
  }

  const DLTensor& tensor_;
  bool is_read_only_;
  NDArray array_;
};

nb::object number(const ls_argument& argument) {
  switch (argument.kind) {
    case LS_FLOAT: return nb::float_(argument.value.as_float);
    case LS_BOOL: return nb::bool_(argument.value.as_int != 0);
    case LS_UINT: return nb::int_(static_cast<std::uint64_t>(argument.value.as_int));
    case LS_HANDLE: return nb::int_(reinterpret_cast<std::uintptr_t>(argument.value.as_handle));
    default: return nb::int_(argument.value.as_int);
  }
}

ls_value result_of(const HostCall& call, const nb::object& value) {
  if (value.is_none() || call.result == LS_NONE) return {};
  if (call.result == LS_FLOAT) {
    const double real = PyFloat_AsDouble(value.ptr());
    if (!PyErr_Occurred()) return {.as_float = real};
  } else if (const auto index = nb::steal(PyNumber_Index(value.ptr()))) {
    return {.as_int = static_cast<std::int64_t>(PyLong_AsUnsignedLongLongMask(index.ptr()))};
  }
  PyErr_Clear();
  fail(ErrorKind::type_mismatch, "result_is_number", hint("return a number of the type"), {},
       "{} returned a {}, the program takes its result as {}", call.name,
       nb::type_name(value.type()).c_str(),
       call.result == LS_FLOAT ? "a floating-point number" : "an integer");
}

ls_value call_python(nb::handle function, const HostCall& call) {
  std::vector<Copy> copies;
  copies.reserve(call.arguments.size());
  nb::list arguments;
  for (const ls_argument& argument : call.arguments) {
    if (argument.kind == LS_TEXT) {
      arguments.append(nb::str(argument.value.as_text));
    } else if (argument.kind == LS_TENSOR) {
      arguments.append(copies.emplace_back(argument).to_python());
    } else {
      arguments.append(number(argument));
    }
  }
  const nb::object result = function(*arguments);
  for (const Copy& copy : copies) copy.give_back();
  return result_of(call, result);
}

void require_functions(const nb::dict& functions) {
  for (const auto& [name, function] : functions) {
    require(nb::isinstance<nb::str>(name) && PyCallable_Check(function.ptr()),
            ErrorKind::type_mismatch, "functions_are_callable",
            hint("pass a dict of Python functions by their names"), {}, "functions has {} under {}",
            nb::repr(function).c_str(), nb::repr(name).c_str());
  }
}

/// What is registered under `name` at this time; null: nothing.
PyObject* find_registered(nb::handle name) {
  const nb::object host = nb::steal(PyImport_GetModule(nb::str("loopsmith.host").ptr()));
  return host.is_valid()
             ? PyDict_GetItemWithError(nb::object(host.attr("registered")).ptr(), name.ptr())
             : nullptr;
}

/// The caller keeps `functions` alive.
struct PythonCaller {
  PyObject* functions;

  ls_value operator()(const HostCall& call) const {
    const Locked locked;
    const nb::str name(call.name.data(), call.name.size());
    PyObject* found = PyDict_GetItemWithError(functions, name.ptr());
    if (!found) found = find_registered(name);
    // Python's own: what it prints goes where notebooks and tests look for it.
    if (!found && call.name == "print") found = PyDict_GetItemString(PyEval_GetBuiltins(), "print");
    if (!found) refuse_host_call(call.name);
    return call_python(nb::borrow(found), call);
  }
};

}  // namespace

HostFunctions host_functions(const nb::dict& functions) {
  require_functions(functions);
  HostFunctions made;
  for (const auto& [name, function] : functions) {
    PyObject* const callee = function.ptr();
    made.emplace(nb::cast<std::string>(name), [callee](const HostCall& call) {
      const Locked locked;
      return call_python(callee, call);
    });
  }
  return made;
}

HostFunction host_caller(const nb::dict& functions) {
  require_functions(functions);
  return PythonCaller{functions.ptr()};
}

PyObject* functions_of(const HostFunction& caller) {
  const auto* python = caller.target<PythonCaller>();
  return python ? python->functions : nullptr;
}

}  // namespace loopsmith::python
