// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Numbers the statements of loops that are to be pipelined, so that they stay apart until they
/// are.
///
///     for k (stage [0, 1], order [0, 1]):            for k ...:
///       block load ...                       =>        attr statement 0: block load ...
///       block compute ...                              attr statement 1: block compute ...
///
/// The statements are those of the loop's body, and those of blocks in it whose body is a sequence.
/// Those that are numbered stay as they are.
Ptr<PrimFunc> mark_stages(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
