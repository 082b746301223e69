// SPDX-License-Identifier: Apache-2.0
#include "bindings/dlpack.h"

#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

constexpr const char* versioned_name = "dltensor_versioned";
constexpr const char* unversioned_name = "dltensor";

/// Names that live as long as the process, so that a call makes no strings.
struct Names {
  PyObject* dlpack = PyUnicode_InternFromString("__dlpack__");
  PyObject* exchange_api = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  PyObject* requires_grad = PyUnicode_InternFromString("requires_grad");
  PyObject* max_version = Py_BuildValue("(s)", "max_version");
  PyObject* version = Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
};
const Names& names() {
  static const Names names;
  return names;
}

/// An attribute of the class of `value`, borrowed, as it stands there; null where there is none. A
/// lookup that raises would cost ten times as much.
PyObject* type_attribute(nb::handle value, PyObject* name) {
  return _PyType_Lookup(Py_TYPE(value.ptr()), name);
}

template <class Managed>
Managed* pointer_of(nb::handle capsule, const char* name) {
  return static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
}

template <class Managed>
NDArray take(const nb::object& capsule, Managed* lent, const char* used) {
  if (PyCapsule_SetName(capsule.ptr(), used) != 0) throw nb::python_error();
  return NDArray::from_dlpack(lent);
}

/// Gives back what was not taken.
template <class Managed>
void release(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* lent = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  lent->deleter(lent);
}

}  // namespace

LentCapsule lend(nb::handle value) {
  if (!type_attribute(value, names().dlpack)) return {};
  PyObject* arguments[] = {value.ptr(), names().version};
  nb::object capsule =
      nb::steal(PyObject_VectorcallMethod(names().dlpack, arguments, 1, names().max_version));
  if (!capsule.is_valid() && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();  // a library from before DLPack 1.0
    capsule = nb::steal(PyObject_CallMethodNoArgs(value.ptr(), names().dlpack));
  }
  if (!capsule.is_valid()) throw nb::python_error();
  if (PyCapsule_IsValid(capsule.ptr(), versioned_name)) {
    auto* lent = pointer_of<DLManagedTensorVersioned>(capsule, versioned_name);
    require(lent->version.major == DLPACK_MAJOR_VERSION, ErrorKind::format, "dlpack_version",
            hint("update the older of the two libraries"), {},
            "array: lent in DLPack {}.{}, where {}.x is understood", lent->version.major,
            lent->version.minor, DLPACK_MAJOR_VERSION);
    return {std::move(capsule), lent, nullptr};
  }
  if (PyCapsule_IsValid(capsule.ptr(), unversioned_name)) {
    auto* lent = pointer_of<DLManagedTensor>(capsule, unversioned_name);
    return {std::move(capsule), nullptr, lent};
  }
  fail(ErrorKind::format, "dlpack_capsule", hint("report it to the author of its class"), {},
       "array: __dlpack__ of a {} gave no capsule of DLPack", Py_TYPE(value.ptr())->tp_name);
}

NDArray borrow_array(nb::handle value) {
  const LentCapsule lent = lend(value);
  require(lent.capsule.is_valid(), ErrorKind::type_mismatch, "array_speaks_dlpack",
          hint("pass an array of NumPy, PyTorch, JAX, ..., or copy the values with array()"), {},
          "from_dlpack: a {} has no __dlpack__", Py_TYPE(value.ptr())->tp_name);
  return lent.versioned ? take(lent.capsule, lent.versioned, "used_dltensor_versioned")
                        : take(lent.capsule, lent.unversioned, "used_dltensor");
}

nb::object dlpack_capsule(const NDArray& array, bool versioned) {
  PyObject* capsule = nullptr;
  if (versioned) {
    capsule = PyCapsule_New(array.to_dlpack(), versioned_name, [](PyObject* self) {
      release<DLManagedTensorVersioned>(self, versioned_name);
    });
  } else {
    capsule = PyCapsule_New(array.to_dlpack_unversioned(), unversioned_name, [](PyObject* self) {
      release<DLManagedTensor>(self, unversioned_name);
    });
  }
  if (!capsule) throw nb::python_error();
  return nb::steal(capsule);
}

const ExchangeApi* exchange_api(nb::handle value) {
  PyObject* capsule = type_attribute(value, names().exchange_api);
  if (!capsule || !PyCapsule_IsValid(capsule, "dlpack_exchange_api")) return nullptr;
  const auto* api = pointer_of<const ExchangeApi>(capsule, "dlpack_exchange_api");
  while (api && api->version.major != DLPACK_MAJOR_VERSION) api = api->previous;
  return api;
}

bool requires_grad(nb::handle value) {
  if (!type_attribute(value, names().requires_grad)) return false;
  const nb::object answer = nb::steal(PyObject_GetAttr(value.ptr(), names().requires_grad));
  if (!answer.is_valid()) throw nb::python_error();
  return answer.is(Py_True);
}

}  // namespace loopsmith::python
