// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <utility>
#include <vector>

#include "loopsmith/ir/function.h"

namespace loopsmith {

/// A parameter, and what it is: of a number, an expression; of a tensor, a buffer whose shape,
/// strides and offset say what the variables in those of the parameter are.
using ParameterValue = std::pair<Ptr<Var>, Ref>;

/// The function for some values of its parameters. A number that has a value is no parameter any
/// more. Throws a UserError where a value does not fit the parameter, or two disagree.
Ptr<PrimFunc> specialize(const Ptr<PrimFunc>& func, const std::vector<ParameterValue>& values);

}  // namespace loopsmith
