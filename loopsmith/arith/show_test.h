// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "loopsmith/ir/expr.h"

namespace loopsmith::testing {

/// An expression as text, each operation in brackets: what tests of this floor compare and print.
std::string show(const Expr& expr);

}  // namespace loopsmith::testing
