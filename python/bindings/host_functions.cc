// SPDX-License-Identifier: Apache-2.0
#include "bindings/host_functions.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <vector>

#include "loopsmith/runtime/ndarray.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

/// Memory that a function is given: a copy, because it may keep the array.
class Copy {
 public:
  explicit Copy(const interp::HostArgument& argument)
      : argument_(argument), array_(NDArray::empty({reach(*argument.tensor)}, dtype())) {
    std::memcpy(bytes(), argument.tensor->data, size_bytes());
  }

  /// As NumPy has it, if it knows the type.
  nb::object to_python() const {
    const DLTensor& tensor = *argument_.tensor;
    const NDArray view = array_.view({tensor.shape, tensor.shape + tensor.ndim},
                                     {tensor.strides, tensor.strides + tensor.ndim});
    const nb::object object = nb::cast(argument_.is_read_only ? view.as_read_only() : view);
    const bool is_known = argument_.type.bits >= 8 && argument_.type.code <= TypeCode::float_;
    return is_known || argument_.type.is_bool() ? object.attr("numpy")() : object;
  }
  void give_back() const {
    if (!argument_.is_read_only) std::memcpy(argument_.tensor->data, bytes(), size_bytes());
  }

 private:
  /// How many elements lie between the first and the last one.
  static std::int64_t reach(const DLTensor& tensor) {
    std::int64_t count = 1;
    for (int d = 0; d < tensor.ndim; ++d) {
      if (tensor.shape[d] == 0) return 0;
      count += (tensor.shape[d] - 1) * tensor.strides[d];
    }
    return count;
  }
  DLDataType dtype() const { return argument_.tensor->dtype; }
  void* bytes() const {
    return static_cast<char*>(array_.c_tensor().data) + array_.c_tensor().byte_offset;
  }
  std::size_t size_bytes() const {
    return static_cast<std::size_t>(size_in_bytes(dtype(), array_.size()));
  }

  const interp::HostArgument& argument_;
  NDArray array_;
};

nb::object number(const interp::HostArgument& argument) {
  if (argument.type.is_float()) return nb::float_(argument.real);
  if (argument.type.is_bool()) return nb::bool_(argument.integer != 0);
  if (argument.type == u64) return nb::int_(static_cast<std::uint64_t>(argument.integer));
  return nb::int_(argument.integer);
}

interp::HostNumber result_of(const interp::HostCall& call, const nb::object& value) {
  if (value.is_none()) return {};
  if (call.result.is_float()) {
    const double real = PyFloat_AsDouble(value.ptr());
    if (!PyErr_Occurred()) return {.real = real};
  } else if (const auto index = nb::steal(PyNumber_Index(value.ptr()))) {
    return {.integer = static_cast<std::int64_t>(PyLong_AsUnsignedLongLongMask(index.ptr()))};
  }
  PyErr_Clear();
  fail(ErrorKind::type_mismatch, "result_is_number", hint("return a number of the type"), {},
       "{} returned a {}, the program takes its result as {}", call.name,
       nb::type_name(value.type()).c_str(), to_string(call.result));
}

interp::HostNumber call_python(PyObject* function, const interp::HostCall& call) {
  const nb::gil_scoped_acquire locked;
  std::vector<Copy> copies;
  copies.reserve(call.arguments.size());
  nb::list arguments;
  for (const interp::HostArgument& argument : call.arguments) {
    if (argument.text) {
      arguments.append(nb::cast(*argument.text));
    } else if (argument.tensor) {
      arguments.append(copies.emplace_back(argument).to_python());
    } else {
      arguments.append(number(argument));
    }
  }
  const nb::object result = nb::borrow(function)(*arguments);
  for (const Copy& copy : copies) copy.give_back();
  return result_of(call, result);
}

}  // namespace

interp::HostFunctions host_functions(const nb::dict& functions) {
  interp::HostFunctions made;
  for (const auto& [name, function] : functions) {
    const bool is_named = nb::isinstance<nb::str>(name);
    require(is_named && PyCallable_Check(function.ptr()), ErrorKind::type_mismatch,
            "functions_are_callable", hint("pass a dict of Python functions by their names"), {},
            "functions has {} under {}", nb::repr(function).c_str(), nb::repr(name).c_str());
    PyObject* const callee = function.ptr();
    made.emplace(nb::cast<std::string>(name),
                 [callee](const interp::HostCall& call) { return call_python(callee, call); });
  }
  return made;
}

}  // namespace loopsmith::python
