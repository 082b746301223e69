// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "loopsmith/runtime/c_abi.h"

namespace loopsmith {

/// What an ls_error means to the user of the function.
struct ErrorText {
  std::string code;     ///< The stable name of the rule that was broken: `dtype`, `shape`, ...
  std::string problem;  ///< `matmul: A has dtype float64, not float32`
  std::string hint;
};

/// Puts `error` into words.
ErrorText describe(const ls_error& error);

}  // namespace loopsmith
