// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "loopsmith/codegen/options.h"
#include "loopsmith/ir/function.h"
#include "loopsmith/ir/target.h"

namespace loopsmith {

/// Functions in flat form, and for which target they become code.
struct CodeRequest {
  std::vector<Ptr<PrimFunc>> functions;
  Target target{"llvm -mcpu=native"};
  FloatOptions floats;
  /// Set where hosts in C call the functions, too: what `ls_metadata` is to say of them.
  std::optional<std::string> exported = {};
  /// Functions that those call, callees first, by their names; see link_calls.
  std::vector<Ptr<PrimFunc>> helpers = {};
};

}  // namespace loopsmith
