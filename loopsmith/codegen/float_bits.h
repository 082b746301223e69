// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "loopsmith/ir/data_type.h"

namespace loopsmith::detail {

/// The bits of `value`, which `element` represents exactly: of a float16, bfloat16 or float8.
std::uint64_t bits_of(DataType element, double value);

}  // namespace loopsmith::detail
