// SPDX-License-Identifier: Apache-2.0
// Whether the init of a block gives a value to all that its body reads of what the block writes.
#pragma once
#include "loopsmith/ir/stmt.h"

namespace loopsmith::arith {

/// True when each element of `buffer` that the body of the block may read has been written by its
/// init before: the block then reads nothing of what was there. An init under a condition that the
/// body does not ask, of other elements, or of fewer of them, writes less. False where it is not
/// known, as it is of memory that is also seen through views or pointers, unless the init writes
/// all that the block declares to write.
bool init_starts(const Block& block, const Buffer& buffer);

/// The same of all that the block writes.
bool init_starts_all(const Block& block);

}  // namespace loopsmith::arith
