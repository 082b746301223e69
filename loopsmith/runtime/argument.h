// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <cstdint>

#include "loopsmith/runtime/c_abi.h"

namespace loopsmith {

/// One argument of a call: a tensor, which must outlive the call, or a number.
struct CallArgument : ls_argument {
  CallArgument(DLTensor* tensor, bool is_read_only = false)
      : ls_argument{{.as_tensor = tensor}, LS_TENSOR, is_read_only} {}
  CallArgument(DLTensor& tensor) : CallArgument(&tensor) {}
  CallArgument(const DLManagedTensorVersioned& lent)
      : CallArgument(const_cast<DLTensor*>(&lent.dl_tensor),
                     (lent.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0) {}
  CallArgument(std::same_as<bool> auto value) : ls_argument{{.as_int = value}, LS_BOOL, 0} {}
  template <std::integral Integer>
    requires(!std::same_as<Integer, bool>)
  CallArgument(Integer value)
      : ls_argument{{.as_int = static_cast<std::int64_t>(value)}, LS_INT, 0} {}
  CallArgument(std::floating_point auto value)
      : ls_argument{{.as_float = static_cast<double>(value)}, LS_FLOAT, 0} {}

  /// A pointer that the function passes on.
  static CallArgument handle(void* pointer) {
    CallArgument result(static_cast<DLTensor*>(nullptr));
    result.value.as_handle = pointer;
    result.kind = LS_HANDLE;
    return result;
  }
};
static_assert(sizeof(CallArgument) == sizeof(ls_argument));

}  // namespace loopsmith
