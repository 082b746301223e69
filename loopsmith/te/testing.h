// SPDX-License-Identifier: Apache-2.0
// For tests only.
#pragma once
#include <string>

#include "loopsmith/support/error.h"

namespace loopsmith::te {

/// What `fn` complains about: `code: problem`; empty when it does not.
template <class Fn>
std::string error_of(Fn fn) {
  try {
    fn();
  } catch (const UserError& error) {
    return error.code() + ": " + error.problem();
  }
  return {};
}

}  // namespace loopsmith::te
