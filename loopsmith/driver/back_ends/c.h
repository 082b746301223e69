// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/driver/back_end.h"

namespace loopsmith {

/// C99, which the system's compiler takes.
const BackEnd& c_back_end();

}  // namespace loopsmith
