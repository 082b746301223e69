// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// Throws an error of kind `lower` that says what to use in place of an intrinsic that `target` has
/// no code for.
[[noreturn]] void refuse_call(const Call& call, std::string_view target);

/// Throws unless processors do an atomic update of this type in one step.
void require_atomic(const Call& call);

/// Throws an error of kind `lower` for a loop that is bound to a thread of a GPU.
void require_no_thread(const For& loop);

/// Throws unless code is generated for a loop inside so many others.
void require_few_loops(const For& loop, int depth);

}  // namespace loopsmith
