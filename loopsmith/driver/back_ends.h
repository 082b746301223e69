// SPDX-License-Identifier: Apache-2.0
// Every back end.
#pragma once
#include "loopsmith/driver/back_end.h"

namespace loopsmith {

/// The back end of a target.
const BackEnd& back_end_of(const Target& target);

}  // namespace loopsmith
