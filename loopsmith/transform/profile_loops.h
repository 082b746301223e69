// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "loopsmith/ir/function.h"

namespace loopsmith {

/// The attribute of a statement that is timed: its node is the function's name, its value the
/// number of the statement in that function.
inline constexpr std::string_view profile_key = "profile";

/// Marks what a profile times: the whole body as number 0, then loops, outer ones first.
///
///     for i in 64:                attr "main" profile 0:
///       for j in 4096: ...   =>     attr "main" profile 1: for i in 64:
///       for k in 4096: ...            attr "main" profile 2: for j in 4096: ...
///                                     attr "main" profile 3: for k in 4096: ...
///
/// Reading a clock takes some 50 cycles, so a loop is left out where one run of it has too little
/// to do for that not to matter; symbolic extents count as 64. So is a loop that is all that a
/// serial loop around it does: their times are the same.
Ptr<PrimFunc> profile_loops(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
