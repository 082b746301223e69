// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string_view>

#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Replaces calls of LLVM's intrinsics that the processor lacks by what they compute, where that is
/// known. `has_features` says whether it has features such as `+avx512vnni`.
Ptr<PrimFunc> expand_llvm_intrinsics(
    const Ptr<PrimFunc>& func, const std::function<bool(std::string_view features)>& has_features);

}  // namespace loopsmith
