// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <vector>

#include "loopsmith/ir/function.h"

namespace loopsmith {

/// For each parameter, true when its tensor is an output: it is written, and it is proved from the
/// structure of the function that no element is read before it was written. A call may then make
/// the tensor itself.
std::vector<bool> outputs_of(const PrimFunc& func);

/// The attribute of a function that says so, where the structure does not any more: the names of
/// its outputs.
inline constexpr std::string_view outputs_attribute = "tir.outputs";

/// The function with that attribute; as it is, if it has it.
Ptr<PrimFunc> with_outputs(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
