// SPDX-License-Identifier: Apache-2.0
// Instructions of NVIDIA's GPUs that CUDA C++ has no names for.
#pragma once
#include <string_view>

namespace loopsmith::detail {

/// What the function or macro `name` is in CUDA C++: a line of inline assembly with its operands.
/// PTX ISA has what the instructions do.
std::string_view cuda_instruction(std::string_view name);
bool has_cuda_instruction(std::string_view name);

}  // namespace loopsmith::detail
