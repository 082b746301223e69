// SPDX-License-Identifier: Apache-2.0
#include <loopsmith/support/error.h>

#include <cstdio>

namespace ls = loopsmith;

/// Shows that an error crosses the library's border with its parts.
int main() {
  try {
    ls::require(false, "factor_is_positive", ls::hint("pass 1 or more"),
                "split: factor of loop {} is {}, not positive", "i", 0);
  } catch (const ls::UserError& error) {
    std::printf("%s: %s\n", error.code().c_str(), error.what());
    return 0;
  }
  return 1;
}
