// SPDX-License-Identifier: Apache-2.0
// NumPy arrays, read through the accessors of NumPy's headers: they need no table of functions, so
// that NumPy is not imported by us.
#include "bindings/numpy.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NO_IMPORT_ARRAY
#define PY_ARRAY_UNIQUE_SYMBOL loopsmith_numpy_api
#include <numpy/ndarraytypes.h>

#include <cstring>
#include <string_view>

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

constexpr int num_builtin_types = NPY_HALF + 1;

template <class Integer>
constexpr DLDataType integer() {
  return {std::is_signed_v<Integer> ? kDLInt : kDLUInt, sizeof(Integer) * 8, 1};
}

/// By NumPy's type number; 0 bits: none.
struct BuiltinTypes {
  DLDataType types[num_builtin_types]{};

  constexpr BuiltinTypes() {
    types[NPY_BOOL] = {kDLBool, 8, 1};
    types[NPY_BYTE] = integer<signed char>();
    types[NPY_UBYTE] = integer<unsigned char>();
    types[NPY_SHORT] = integer<short>();
    types[NPY_USHORT] = integer<unsigned short>();
    types[NPY_INT] = integer<int>();
    types[NPY_UINT] = integer<unsigned int>();
    types[NPY_LONG] = integer<long>();
    types[NPY_ULONG] = integer<unsigned long>();
    types[NPY_LONGLONG] = integer<long long>();
    types[NPY_ULONGLONG] = integer<unsigned long long>();
    types[NPY_HALF] = {kDLFloat, 16, 1};
    types[NPY_FLOAT] = {kDLFloat, 32, 1};
    types[NPY_DOUBLE] = {kDLFloat, 64, 1};
    types[NPY_CFLOAT] = {kDLComplex, 64, 1};
    types[NPY_CDOUBLE] = {kDLComplex, 128, 1};
  }
};
constexpr BuiltinTypes builtin_types;

/// The types that the package ml_dtypes adds to NumPy.
std::optional<DLDataType> added_dtype(const PyArray_Descr* descr) {
  struct Named {
    std::string_view name;
    DLDataType type;
  };
  static constexpr Named added[] = {
      {"bfloat16", {kDLBfloat, 16, 1}},
      {"float8_e3m4", {kDLFloat8_e3m4, 8, 1}},
      {"float8_e4m3", {kDLFloat8_e4m3, 8, 1}},
      {"float8_e4m3b11fnuz", {kDLFloat8_e4m3b11fnuz, 8, 1}},
      {"float8_e4m3fn", {kDLFloat8_e4m3fn, 8, 1}},
      {"float8_e4m3fnuz", {kDLFloat8_e4m3fnuz, 8, 1}},
      {"float8_e5m2", {kDLFloat8_e5m2, 8, 1}},
      {"float8_e5m2fnuz", {kDLFloat8_e5m2fnuz, 8, 1}},
      {"float8_e8m0fnu", {kDLFloat8_e8m0fnu, 8, 1}},
  };
  std::string_view name = descr->typeobj->tp_name;
  if (const auto dot = name.rfind('.'); dot != std::string_view::npos) name.remove_prefix(dot + 1);
  for (const Named& known : added) {
    if (known.name == name) return known.type;
  }
  return {};
}

/// A class of NumPy; null while NumPy is not imported.
PyTypeObject* find_type(const char* name) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
  if (!module) return nullptr;
  nb::object found = nb::steal(PyObject_GetAttrString(module, name));
  if (!found.is_valid() || !PyType_Check(found.ptr())) {
    PyErr_Clear();  // NumPy is being imported now
    return nullptr;
  }
  return reinterpret_cast<PyTypeObject*>(found.release().ptr());
}

}  // namespace

PyTypeObject* numpy_array_type() {
  static PyTypeObject* type = nullptr;
  if (!type) type = find_type("ndarray");
  return type;
}

PyTypeObject* numpy_scalar_type() {
  static PyTypeObject* type = nullptr;
  if (!type) type = find_type("generic");
  return type;
}

std::optional<DLDataType> numpy_dtype(PyObject* array) {
  const PyArray_Descr* descr = PyArray_DESCR(reinterpret_cast<PyArrayObject*>(array));
  if (!PyArray_ISNBO(descr->byteorder)) return {};
  if (descr->type_num >= num_builtin_types) return added_dtype(descr);
  const DLDataType type = builtin_types.types[descr->type_num];
  if (type.bits == 0) return {};
  return type;
}

NumpyFields numpy_fields(PyObject* object) {
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  static_assert(sizeof(npy_intp) == sizeof(std::int64_t));
  const int flags = PyArray_FLAGS(array);
  return {PyArray_DATA(array),
          PyArray_NDIM(array),
          reinterpret_cast<std::int64_t*>(PyArray_DIMS(array)),
          reinterpret_cast<std::int64_t*>(PyArray_STRIDES(array)),
          (flags & NPY_ARRAY_C_CONTIGUOUS) != 0,
          (flags & NPY_ARRAY_WRITEABLE) != 0};
}

}  // namespace loopsmith::python
