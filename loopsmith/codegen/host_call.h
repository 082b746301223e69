// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/ir/packed_array.h"
#include "loopsmith/ir/stmt.h"
#include "loopsmith/runtime/c_abi.h"

namespace loopsmith {

/// One operand of a packed call, as an `ls_argument` has it.
struct HostOperand {
  ls_kind kind = LS_INT;
  Expr value;                             ///< Of all kinds but tensors.
  std::optional<PackedArray> array = {};  ///< Of a tensor.
  bool is_read_only = false;
};

/// A packed call, as a code generator needs it.
struct HostCallSite {
  std::string name;
  std::vector<HostOperand> operands;
};

/// What a packed call passes to which function. An error for operands that no function of the host
/// can be given.
HostCallSite host_call_site(const Call& call, std::string_view target);

}  // namespace loopsmith
