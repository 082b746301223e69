// SPDX-License-Identifier: Apache-2.0
// What observers of lowering get, and passes of a user's own.
#pragma once
#include <functional>
#include <string_view>

#include "loopsmith/ir/function.h"

namespace loopsmith {

/// One pass that was run.
struct PassRecord {
  std::string_view name;
  Ptr<PrimFunc> before;
  Ptr<PrimFunc> after;
  double seconds = 0;  ///< How long it took.
};

/// Gets the function after each pass of the table, by that one's name; what it gives takes the
/// function's place.
using ExtraPass = std::function<Ptr<PrimFunc>(std::string_view after, const Ptr<PrimFunc>&)>;

}  // namespace loopsmith
