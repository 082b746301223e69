// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

#include "loopsmith/runtime/ndarray.h"

namespace loopsmith::python {

/// What a Python object lends through `__dlpack__`: a capsule, and the array in one of its two
/// forms, alive as long as the capsule. All null when the object has no such method.
struct LentCapsule {
  nanobind::object capsule;
  DLManagedTensorVersioned* versioned = nullptr;
  DLManagedTensor* unversioned = nullptr;
};
LentCapsule lend(nanobind::handle value);

/// The array that a Python object lends for good.
NDArray borrow_array(nanobind::handle value);

/// A capsule that lends `array`, in the form of DLPack 1.0 or the one before.
nanobind::object dlpack_capsule(const NDArray& array, bool versioned);

/// The functions by which a library reads its tensors for others without a call of Python
/// (`__dlpack_c_exchange_api__`, DLPack 1.3): what we use of them.
struct ExchangeApi {
  DLPackVersion version;
  const ExchangeApi* previous;
  void* allocate;
  /// Lends `object`. Not 0: failed, with Python's error set.
  int (*lend)(void* object, DLManagedTensorVersioned** lent);
  void* to_python;
  /// Fills `tensor`, which lives as long as `object`; may be null.
  int (*view)(void* object, DLTensor* tensor);
  void* current_stream;
};

/// The table of the class of `value`; null when it has none that we understand.
const ExchangeApi* exchange_api(nanobind::handle value);

/// True when the library of `value` records what is computed with it, to differentiate it.
bool requires_grad(nanobind::handle value);

}  // namespace loopsmith::python
