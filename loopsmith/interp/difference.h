// SPDX-License-Identifier: Apache-2.0
// Where the results of two runs differ. Private to the floor.
#pragma once
#include <vector>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/interp/random_inputs.h"

namespace loopsmith::interp {

/// Whether two numbers of a floating-point type are the same up to rounding.
bool is_close(DataType type, double a, double b);

/// Compares one element of two tensors of the same shape; `answer` is `same` or `different`.
Verdict difference_at(const DrawnTensor& before, const DrawnTensor& after,
                      const std::vector<std::int64_t>& index);

/// The first element of all tensors that differs.
Verdict difference(const Inputs& before, const Inputs& after);

}  // namespace loopsmith::interp
