// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// The stores of a statement without which it never runs: outside of all branches, or one in each
/// branch of an `if` to the same element. Their indices read no memory.
std::vector<Ptr<BufferStore>> sure_stores(const Stmt& stmt);

/// True when one of the stores is to the element that `store` writes.
bool stores_element_of(const std::vector<Ptr<BufferStore>>& stores, const BufferStore& store);

}  // namespace loopsmith
