// SPDX-License-Identifier: Apache-2.0
// Derivatives of one expression by the elements that it reads: reverse mode, inside a compute.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "loopsmith/te/tensor.h"

namespace loopsmith::te {

/// By what a value changes with one of the elements that it reads.
struct ReadDerivative {
  Tensor tensor;
  std::vector<Expr> indices;
  std::vector<Expr> guards;  ///< Where one of them does not hold, it is 0.
  Expr factor;               ///< In the type of the value, or a wider one.
};

/// One for each element of a wanted tensor that `body` reads. What conditions, indices and integers
/// depend on counts for nothing. A UserError in the name of `whose` for what has no derivative.
std::vector<ReadDerivative> derivatives_by_reads(
    std::string_view whose, const Expr& body, const std::function<bool(const Tensor&)>& is_wanted);

/// a * b, without what a factor 1 adds.
Expr product_of(const Expr& a, const Expr& b);

/// The value where all guards hold, 0 elsewhere.
Expr guarded(const std::vector<Expr>& guards, const Expr& value);

}  // namespace loopsmith::te
