// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/options.h"

#include "loopsmith/support/error.h"

namespace loopsmith {

FloatOptions allow(FloatOptions options, std::span<const std::string> names) {
  for (const std::string& name : names) {
    bool known = false;
    for (const FloatOption& option : float_options) {
      if (name != "all" && name != option.name) continue;
      options.*option.member = true;
      known = true;
    }
    require(known, "unknown_fast_math",
            hint("it takes all, contract, reassociate, no_nans, no_infs, no_signed_zeros, "
                 "reciprocal, approximate, no_denormals"),
            "fast_math: there is no '{}'", name);
  }
  return options;
}

}  // namespace loopsmith
