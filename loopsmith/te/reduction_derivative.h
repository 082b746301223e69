// SPDX-License-Identifier: Apache-2.0
// By what the results of a reduction change with the values that it combines.
#pragma once
#include <vector>

#include "loopsmith/te/tensor.h"

namespace loopsmith::te {

/// By what output `output` of a compute changes with `value`: a factor, where guards hold.
struct ValueDerivative {
  Expr value;
  std::vector<Expr> guards;
  Expr factor;
};

/// The derivatives of one output of a compute whose body is a reduction, by what it combines and by
/// what it starts from. Sums, products, min, max, and choices of one of the operands; a UserError
/// for other combiners. Factors may read tensors that are computed for them.
std::vector<ValueDerivative> reduction_derivatives(const Ref& op, std::size_t output);

}  // namespace loopsmith::te
