// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace loopsmith {

/// `c_abi.h` and `dlpack.h` as one text that includes nothing else of Loopsmith.
std::string kernel_header();
/// The part of the runtime that exported kernels call, with the header in it: a file of C99.
std::string kernel_source();

}  // namespace loopsmith
