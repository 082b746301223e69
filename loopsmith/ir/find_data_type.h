// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string_view>

#include "loopsmith/ir/data_type.h"

namespace loopsmith {

/// As `parse_data_type`; nullopt for what is no type.
std::optional<DataType> find_data_type(std::string_view text);

}  // namespace loopsmith
