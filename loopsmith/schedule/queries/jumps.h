// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string_view>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// True when a statement, or one inside it, is `break`, `continue` or `return`.
bool holds_jumps(const Stmt& stmt);

/// `break`, `continue` or `return`, where one inside a statement leaves it; else nothing.
std::optional<std::string_view> jump_out_of(const Stmt& stmt);

}  // namespace loopsmith
