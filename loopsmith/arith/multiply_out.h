// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// An index as a sum of products: (i + 1) * (n + 1) becomes i * n + i + n + 1. Conversions between
/// types of indices, which hold all of them, go to the factors. As it is where that would be many
/// terms.
Expr multiply_out(const Expr& index);

}  // namespace loopsmith
