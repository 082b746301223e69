// SPDX-License-Identifier: Apache-2.0
// What is refused, as tests say it.
#pragma once
#include <string>

#include "loopsmith/support/error.h"

namespace loopsmith::testing {

/// What `f` is refused with: `code: problem`. Empty when it is not.
template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const UserError& error) {
    return error.code() + ": " + error.problem();
  }
  return {};
}

}  // namespace loopsmith::testing
