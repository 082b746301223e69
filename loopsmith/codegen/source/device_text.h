// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "loopsmith/codegen/code_request.h"
#include "loopsmith/codegen/line_table.h"
#include "loopsmith/runtime/device.h"

namespace loopsmith {

/// The kernels of a request's functions as one file in the language of its target, OpenCL C or
/// CUDA C++.
std::string device_text(const CodeRequest& request);
/// The same text, with the lines of the statements that its lines were made of.
TextWithLines device_lines(const CodeRequest& request, const StatementLines& lines);

/// The kernels in that file.
std::vector<KernelInfo> kernels_of(const CodeRequest& request);

}  // namespace loopsmith
