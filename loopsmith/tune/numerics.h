// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace loopsmith::tune {

/// Which results a schedule has to give.
enum class Numerics {
  free,          ///< Those of the program, but for rounding.
  strict,        ///< Those of the program as it is written, to the bit.
  reproducible,  ///< To the bit those of one order of each reduction, which is quick everywhere.
};

}  // namespace loopsmith::tune
