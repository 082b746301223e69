// SPDX-License-Identifier: Apache-2.0
// Where what threads share comes from.
#pragma once
#include <unordered_set>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// The pointers of memory from which what statements store into memory that threads share may come,
/// by way of other memory too, or that decides on what is stored.
std::unordered_set<const Object*> sources_of_shared_memory(const Stmt& body);

}  // namespace loopsmith
