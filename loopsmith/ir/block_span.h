// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// `body`, whose stores tell by their spans that they stand in a block of that name; those in
/// blocks inside, and those that tell of one, stay as they are. For what takes the block away: see
/// `source_block`.
Stmt of_block(const Stmt& body, std::string_view block);

}  // namespace loopsmith
