// SPDX-License-Identifier: Apache-2.0
#include "bindings/arguments.h"

#include <fmt/format.h>

#include <new>
#include <string_view>

#include "bindings/dlpack.h"
#include "bindings/ir.h"
#include "bindings/numpy.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

constexpr DLDevice cpu{kDLCPU, 0};

/// The element type of a buffer, from the format of Python's struct module; 0 bits: none.
DLDataType dtype_of_buffer(const Py_buffer& buffer) {
  std::string_view format = buffer.format ? buffer.format : "B";
  if (format.starts_with('@') || format.starts_with('=') || format.starts_with('<')) {
    format.remove_prefix(1);
  }
  if (format.size() != 1) return {};
  const auto bits = static_cast<std::uint8_t>(buffer.itemsize * 8);
  constexpr std::string_view integers = "bhilqn", floats = "efd";
  if (format[0] == '?') return {kDLBool, bits, 1};
  if (integers.find(format[0]) != std::string_view::npos) return {kDLInt, bits, 1};
  if (integers.find(static_cast<char>(format[0] | 0x20)) != std::string_view::npos) {
    return {kDLUInt, bits, 1};
  }
  if (floats.find(format[0]) != std::string_view::npos) return {kDLFloat, bits, 1};
  return {};
}

const char* expected_kind(const ls_parameter& parameter) {
  switch (parameter.kind) {
    case LS_TENSOR: return "a tensor";
    case LS_INT: return "an integer";
    case LS_FLOAT: return "a floating-point number";
    case LS_BOOL: return "a truth value";
    default: return "a handle";
  }
}

/// An integer for people to read, whatever its size.
std::string text_of(nb::handle integer) {
  constexpr std::int64_t longest = 256;
  const auto bits = nb::cast<std::int64_t>(integer.attr("bit_length")());
  if (bits > longest) return fmt::format("an integer of {} bits", bits);
  return nb::str(integer).c_str();
}

}  // namespace

/// What is held for the time of the call.
struct Arguments::Lease {
  nb::object capsule;
  Py_buffer buffer{};
  DLManagedTensorVersioned* lent = nullptr;

  Lease() = default;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    if (buffer.obj) PyBuffer_Release(&buffer);
    if (lent && lent->deleter) lent->deleter(lent);
  }
};

Arguments::Arguments(const Signature& signature, PyObject* const* values, std::size_t count)
    : signature_(signature.c_view()),
      count_(count),
      arguments_(reinterpret_cast<CallArgument*>(few_arguments_)),
      tensors_(reinterpret_cast<DLTensor*>(few_tensors_)) {
  if (count > few) {
    many_ = std::make_unique<std::byte[]>(count * (sizeof(CallArgument) + sizeof(DLTensor)));
    tensors_ = reinterpret_cast<DLTensor*>(many_.get());
    arguments_ = reinterpret_cast<CallArgument*>(tensors_ + count);
  }
  const bool counts_agree = count == static_cast<std::size_t>(signature_.num_parameters);
  for (std::size_t i = 0; i < count; ++i) {
    // Of a wrong number of values the call's check speaks; it looks at nothing else.
    if (counts_agree) {
      read(i, values[i]);
    } else {
      new (&arguments_[i]) CallArgument(0);
    }
  }
}

Arguments::~Arguments() = default;

void Arguments::read(std::size_t i, PyObject* value) {
  static const auto* own_type = reinterpret_cast<PyTypeObject*>(nb::type<NDArray>().ptr());
  const PyTypeObject* type = Py_TYPE(value);
  if (type == own_type) {
    const auto& array = *nb::inst_ptr<NDArray>(value);
    new (&arguments_[i]) CallArgument(array);
    bytes_ += static_cast<std::uint64_t>(size_in_bytes(array.dtype(), array.size()));
    return;
  }
  PyTypeObject* numpy_type = numpy_array_type();
  if (type == numpy_type) return read_numpy(i, value);
  const bool wants_tensor = signature_.parameters[i].kind == LS_TENSOR;
  if (read_scalar(i, value)) return;
  if (numpy_type && PyObject_TypeCheck(value, numpy_type)) return read_numpy(i, value);
  if (wants_tensor && read_buffer(i, value)) return;
  if (PyTypeObject* scalars = numpy_scalar_type(); scalars && PyObject_TypeCheck(value, scalars)) {
    const nb::object plain = nb::handle(value).attr("item")();
    if (read_scalar(i, plain.ptr())) return;
    refuse(i, value);
  }
  if (read_exchange(i, value) || read_dlpack(i, value) || read_buffer(i, value)) return;
  refuse(i, value);
}

bool Arguments::read_scalar(std::size_t i, PyObject* value) {
  const ls_parameter& parameter = signature_.parameters[i];
  if (value == Py_None && parameter.kind == LS_TENSOR) {
    new (&arguments_[i]) CallArgument(static_cast<DLTensor*>(nullptr));
  } else if (value == Py_None && parameter.kind == LS_HANDLE) {
    new (&arguments_[i]) CallArgument(CallArgument::handle(nullptr));
  } else if (PyBool_Check(value)) {
    new (&arguments_[i]) CallArgument(value == Py_True);
  } else if (PyFloat_Check(value)) {
    new (&arguments_[i]) CallArgument(PyFloat_AS_DOUBLE(value));
  } else if (PyLong_Check(value)) {
    if (parameter.kind == LS_FLOAT) {
      const double number = PyLong_AsDouble(value);
      const bool fits = number != -1 || !PyErr_Occurred();
      PyErr_Clear();
      require(fits, ErrorKind::call, "scalar_range", hint("pass a smaller number"), {},
              "{}: {} is {}, which no floating-point number can hold", signature_.name,
              parameter.name, text_of(value));
      new (&arguments_[i]) CallArgument(number);
      return true;
    }
    int overflow = 0;
    std::int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
    const bool is_unsigned = parameter.kind == LS_HANDLE || parameter.dtype.code == kDLUInt;
    const bool is_wide_unsigned =
        parameter.kind == LS_INT && parameter.dtype.code == kDLUInt && parameter.dtype.bits == 64;
    const bool is_large = overflow > 0;
    if (is_large && is_unsigned) {
      number = static_cast<std::int64_t>(PyLong_AsUnsignedLongLong(value));
      overflow = PyErr_Occurred() ? 1 : 0;
      PyErr_Clear();
    }
    require(overflow == 0, ErrorKind::call, "scalar_range", hint("pass a smaller number"), {},
            "{}: {} is {}, which 64 bits cannot hold", signature_.name, parameter.name,
            text_of(value));
    // The 64 bits of -1 are those of the largest unsigned number, too.
    require(number >= 0 || !is_wide_unsigned || is_large, ErrorKind::call, "scalar_range",
            hint("pass a value of that type, or build the function for a signed one"), {},
            "{}: {} is {}, which uint64 cannot hold", signature_.name, parameter.name, number);
    new (&arguments_[i]) CallArgument(parameter.kind == LS_HANDLE
                                          ? CallArgument::handle(reinterpret_cast<void*>(number))
                                          : CallArgument(number));
  } else {
    return false;
  }
  return true;
}

void Arguments::read_numpy(std::size_t i, PyObject* value) {
  const std::optional<DLDataType> dtype = numpy_dtype(value);
  if (!dtype) [[unlikely]] {
    const nb::object own = nb::handle(value).attr("dtype");
    const nb::str name(own);
    fail(ErrorKind::type_mismatch, "dtype", hint("convert the array with astype()"), {},
         "{}: {} has dtype {}, which no compiled function takes", signature_.name,
         signature_.parameters[i].name, name.c_str());
  }
  const NumpyFields fields = numpy_fields(value);
  new (&tensors_[i]) DLTensor{fields.data, cpu, fields.rank, *dtype, fields.shape, nullptr, 0};
  if (!fields.is_compact) set_strides(i, fields.strides, dtype->bits / 8);
  add_tensor(i, !fields.is_writable);
}

bool Arguments::read_buffer(std::size_t i, PyObject* value) {
  if (!PyObject_CheckBuffer(value)) return false;
  auto lease = std::make_unique<Lease>();
  Py_buffer& buffer = lease->buffer;
  if (PyObject_GetBuffer(value, &buffer, PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();  // it may still speak DLPack
    buffer.obj = nullptr;
    return false;
  }
  const DLDataType dtype = dtype_of_buffer(buffer);
  require(dtype.bits != 0, ErrorKind::type_mismatch, "dtype", hint("convert it to a NumPy array"),
          {}, "{}: {} has elements of format '{}', which no compiled function takes",
          signature_.name, signature_.parameters[i].name, buffer.format ? buffer.format : "");
  static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));
  new (&tensors_[i])
      DLTensor{buffer.buf, cpu, buffer.ndim, dtype, reinterpret_cast<std::int64_t*>(buffer.shape),
               nullptr,    0};
  if (!PyBuffer_IsContiguous(&buffer, 'C')) {
    set_strides(i, reinterpret_cast<std::int64_t*>(buffer.strides), buffer.itemsize);
  }
  add_tensor(i, buffer.readonly != 0);
  leases_.push_back(std::move(lease));
  return true;
}

bool Arguments::read_exchange(std::size_t i, PyObject* value) {
  const ExchangeApi* api = exchange_api(value);
  if (!api) return false;
  // A view carries no flags; they matter only of what is written.
  if (api->view && !signature_.parameters[i].writable) {
    new (&tensors_[i]) DLTensor{};
    if (api->view(value, &tensors_[i]) != 0) throw nb::python_error();
    add_tensor(i, true);
    return true;
  }
  const ls_parameter& parameter = signature_.parameters[i];
  // __dlpack__ refuses such a tensor; the table, which has no flag for it, lends it.
  require(!parameter.writable || !requires_grad(value), ErrorKind::call, "requires_grad",
          hint("pass its detach()"), {},
          "{}: {} is written by the function, which its gradient would not know of",
          signature_.name, parameter.name);
  auto lease = std::make_unique<Lease>();
  if (api->lend(value, &lease->lent) != 0) throw nb::python_error();
  add_lent(i, *lease->lent);
  leases_.push_back(std::move(lease));
  return true;
}

bool Arguments::read_dlpack(std::size_t i, PyObject* value) {
  LentCapsule lent = lend(value);
  if (!lent.capsule.is_valid()) return false;
  if (lent.versioned) {
    add_lent(i, *lent.versioned);
  } else {
    new (&tensors_[i]) DLTensor(lent.unversioned->dl_tensor);
    add_tensor(i, false);
  }
  auto lease = std::make_unique<Lease>();
  lease->capsule = std::move(lent.capsule);
  leases_.push_back(std::move(lease));
  return true;
}

void Arguments::set_strides(std::size_t i, const std::int64_t* strides_bytes,
                            std::int64_t element_bytes) {
  DLTensor& tensor = tensors_[i];
  strides_.push_back(std::make_unique<std::int64_t[]>(static_cast<std::size_t>(tensor.ndim)));
  for (int d = 0; d < tensor.ndim; ++d) {
    require(strides_bytes[d] % element_bytes == 0, ErrorKind::call, "strides",
            hint("pass a contiguous copy"), {},
            "{}: {}.strides[{}] is {} bytes, no multiple of its elements' {}", signature_.name,
            signature_.parameters[i].name, d, strides_bytes[d], element_bytes);
    strides_.back()[static_cast<std::size_t>(d)] = strides_bytes[d] / element_bytes;
  }
  tensor.strides = strides_.back().get();
}

void Arguments::add_tensor(std::size_t i, bool is_read_only) {
  const DLTensor& tensor = tensors_[i];
  auto bytes = static_cast<std::uint64_t>(tensor.dtype.bits / 8);  // what is too much may wrap
  for (int d = 0; d < tensor.ndim; ++d) bytes *= static_cast<std::uint64_t>(tensor.shape[d]);
  bytes_ += bytes;
  new (&arguments_[i]) CallArgument(&tensors_[i], is_read_only);
}

void Arguments::add_lent(std::size_t i, const DLManagedTensorVersioned& lent) {
  const ls_parameter& parameter = signature_.parameters[i];
  require(!parameter.writable || (lent.flags & DLPACK_FLAG_BITMASK_IS_COPIED) == 0, ErrorKind::call,
          "lent_a_copy", hint("pass an array that lends its own data"), {},
          "{}: {} is written by the function, but its library lent a copy", signature_.name,
          parameter.name);
  new (&tensors_[i]) DLTensor(lent.dl_tensor);
  add_tensor(i, (lent.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0);
}

void Arguments::refuse(std::size_t i, PyObject* value) const {
  const ls_parameter& parameter = signature_.parameters[i];
  const bool wants_tensor = parameter.kind == LS_TENSOR;
  fail(ErrorKind::type_mismatch, "argument_kind",
       hint(wants_tensor ? "pass an array: of NumPy, or any that speaks DLPack" : "pass a number"),
       {}, "{}: {} is {} {}, not {}", signature_.name, parameter.name,
       node_of(value).defined() ? "a node of the IR, a" : "a", Py_TYPE(value)->tp_name,
       expected_kind(parameter));
}

}  // namespace loopsmith::python
