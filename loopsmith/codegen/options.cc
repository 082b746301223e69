// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/options.h"

#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

struct Choice {
  std::string_view name;
  bool FloatOptions::* member;
};
constexpr Choice choices[] = {
    {"contract", &FloatOptions::contract},
    {"reassociate", &FloatOptions::reassociate},
    {"no_nans", &FloatOptions::no_nans},
    {"no_infs", &FloatOptions::no_infs},
    {"no_signed_zeros", &FloatOptions::no_signed_zeros},
    {"reciprocal", &FloatOptions::reciprocal},
    {"approximate", &FloatOptions::approximate},
    {"no_denormals", &FloatOptions::no_denormals},
};

}  // namespace

FloatOptions allow(FloatOptions options, std::span<const std::string> names) {
  for (const std::string& name : names) {
    bool known = false;
    for (const Choice& choice : choices) {
      if (name != "all" && name != choice.name) continue;
      options.*choice.member = true;
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
