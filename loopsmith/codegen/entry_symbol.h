// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace loopsmith {

/// The symbol under which the code of the function `name` stands: an ls_packed_function.
inline std::string entry_symbol(const std::string& name) {
  return "ls_call_" + name;
}

}  // namespace loopsmith
