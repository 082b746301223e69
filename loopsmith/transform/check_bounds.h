// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "loopsmith/ir/function.h"

namespace loopsmith {

/// What must hold of the sizes of a function, or an access leaves its buffer.
struct SizeCheck {
  Expr condition;
  std::string text;  ///< Of the error where it does not hold.
};

/// Looks at accesses that run for certain: that no condition guards but those of ragged tiles, and
/// whose index is a sum of constants times loop variables and sizes, so that the least and the
/// largest index are known exactly. Stops where one leaves its buffer; of those that leave it or
/// not as the sizes are, returns what is to be asked when the function is called.
std::vector<SizeCheck> check_bounds(const PrimFunc& func);

/// The function, which asks for all of this first.
Ptr<PrimFunc> with_size_checks(const Ptr<PrimFunc>& func, const std::vector<SizeCheck>& checks);

}  // namespace loopsmith
