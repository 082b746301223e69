// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/driver/build.h"

namespace loopsmith::tune {

/// Which results a schedule has to give.
enum class Numerics {
  free,          ///< Those of the program, but for rounding.
  strict,        ///< Those of the program as it is written, to the bit.
  reproducible,  ///< To the bit those of one order of each reduction, which is quick everywhere.
};

/// A program as it is carried out where nothing better is known: by the default schedule, under a
/// lock as it is written, or in one order. Schedules are compared with it, and have to beat it.
Ptr<PrimFunc> reference_of(const Ptr<PrimFunc>& func, const Target& target,
                           const BuildOptions& options, Numerics numerics);

}  // namespace loopsmith::tune
