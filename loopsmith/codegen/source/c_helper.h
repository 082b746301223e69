// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/codegen/source/c_writer.h"

namespace loopsmith::detail {

/// Writes a function that others of the module call, which stand after it, as
/// `int32_t helper(context, place of the value, arguments...)`, which gives a status.
void write_helper(CModule& module, const PrimFunc& func);

}  // namespace loopsmith::detail
