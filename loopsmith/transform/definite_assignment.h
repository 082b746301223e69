// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/transform/access_table.h"

namespace loopsmith {

/// True when it is proved that, each time that `scope` is run, every element that it reads from the
/// memory of `allocation` was written before in the same run: then no value comes in from outside,
/// and the memory may as well be new each time. All accesses must be inside `scope`.
bool writes_before_reads(AccessTable& table, const Allocation& allocation, const Scope* scope);

/// True when it is proved that each element which `read` reads, `write` wrote before, in the same
/// run of the innermost scope around both. In the program, it stands before it.
bool fills_before(AccessTable& table, const Allocation& allocation, const Access& write,
                  const Access& read);

}  // namespace loopsmith
