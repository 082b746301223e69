// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// True when each iteration of a loop over threads has memory of that scope for itself.
bool is_of_one_thread(const For& loop, std::string_view scope);

/// True when all iterations of `loop` store the same into the same elements of `buffer`, at the
/// same time if they go in step: then lanes need no memory of their own for it.
bool stores_alike(const For& loop, const Ptr<Buffer>& buffer);

}  // namespace loopsmith
