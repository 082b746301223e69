// SPDX-License-Identifier: Apache-2.0
// Instructions of NVIDIA's GPUs that CUDA C++ has no names for.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace loopsmith::detail {

/// What the function or macro `name` is in CUDA C++: a few lines of inline assembly with their
/// operands; none of an unknown name. PTX ISA has what the instructions do.
std::optional<std::string> cuda_instruction(std::string_view name);

}  // namespace loopsmith::detail
