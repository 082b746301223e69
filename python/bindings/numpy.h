// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

#include <optional>

#include "loopsmith/runtime/dlpack.h"

namespace loopsmith::python {

/// The class numpy.ndarray; null while NumPy has not been imported.
PyTypeObject* numpy_array_type();
/// The class numpy.generic, of scalars; likewise.
PyTypeObject* numpy_scalar_type();

/// The element type of a numpy.ndarray; none for what no compiled function takes (objects, text,
/// the other byte order).
std::optional<DLDataType> numpy_dtype(PyObject* array);

/// The fields of a numpy.ndarray, read where they lie.
struct NumpyFields {
  void* data;
  int rank;
  std::int64_t* shape;
  std::int64_t* strides;  ///< In bytes.
  bool is_compact;        ///< Row-major without gaps.
  bool is_writable;
};
NumpyFields numpy_fields(PyObject* array);

}  // namespace loopsmith::python
