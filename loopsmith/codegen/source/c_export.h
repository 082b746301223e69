// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/runtime/signature.h"

namespace loopsmith {

/// A C header that declares the exported functions, and all that they need of Loopsmith:
/// `int32_t f(ls_context* context, DLTensor* A, int64_t n);`
std::string c_header(const std::vector<Signature>& signatures);

/// The functions that the header declares, as C: each checks its arguments and calls the code. With
/// the constant `ls_metadata`.
std::string c_wrappers(const std::vector<Signature>& signatures, std::string_view metadata);

}  // namespace loopsmith
