// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "loopsmith/te/tensor.h"

namespace loopsmith::te {

/// The derivatives of `output` by each of `inputs`, in reverse mode: tensors of shape prefix +
/// input.shape, where `head`, of shape prefix + output.shape, is the derivative of something by
/// `output`. Without a head, prefix is output.shape: all derivatives of all elements.
///
///     gradient(C, {A, B}, dC)[0](i, k) == sum over j of dC(i, j) * B(k, j)    of a matmul
///
/// Zeros where the output does not depend on an input. Where several elements are the largest (or
/// smallest) of a reduction, each has an equal share; max(a, b) of equal values changes with a. A
/// UserError for what is no function of floating-point numbers, for scans and for statements of
/// the user's own.
std::vector<Tensor> gradient(const Tensor& output, const std::vector<Tensor>& inputs,
                             const Tensor& head = {});

}  // namespace loopsmith::te
