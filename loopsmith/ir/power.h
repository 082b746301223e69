// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// `base ** exponent`: of an integer with a constant exponent from 0 to 63 a product, of floats a
/// call of `pow`. Throws a UserError for other integers.
Expr power(const Expr& base, const Expr& exponent);

}  // namespace loopsmith
