// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "loopsmith/support/error.h"

namespace loopsmith {

/// The UserError that `run` throws; a failed test and an empty error when it throws none.
template <class Run>
UserError error_of(Run&& run) {
  try {
    run();
  } catch (const UserError& error) {
    return error;
  }
  ADD_FAILURE() << "no UserError was thrown";
  return {ErrorKind::user, "", "", ""};
}

}  // namespace loopsmith
