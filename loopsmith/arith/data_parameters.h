// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "loopsmith/ir/function.h"

namespace loopsmith::arith {

/// The scalar parameters that are data: neither sizes nor in a shape, a loop's bound or an index,
/// nor in what such a one is computed of.
std::vector<Ptr<Var>> data_parameters(const PrimFunc& func);

}  // namespace loopsmith::arith
