// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/release.h"

namespace loopsmith {

std::string_view release() {
  return LOOPSMITH_RELEASE;
}

}  // namespace loopsmith
