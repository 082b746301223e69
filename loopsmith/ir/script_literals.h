// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "loopsmith/ir/data_type.h"

namespace loopsmith::detail {

/// `text` as a Python string literal in double quotes. A byte that is no UTF-8 becomes the lone
/// surrogate U+DC80 + its low bits, as Python's `surrogateescape` has it.
std::string string_literal(std::string_view text);

/// The shortest number that, read as `type`, is `value`: `0.1`, `1e+20`, `"inf"`.
std::string float_literal(DataType type, double value);

}  // namespace loopsmith::detail
