// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "loopsmith/te/compute.h"

namespace loopsmith::te {

/// The tensors that begin as `init` (their first rows) and go on, row by row along the first axis,
/// as `update`, which may read earlier rows of `state`. One of each for each state.
///
///     Tensor s_init = compute({1, n}, [&](Expr, Expr i) { return X(0, i); });
///     Tensor s_state = placeholder({m, n});
///     Tensor s_update = compute({m, n}, [&](Expr t, Expr i) { return s_state(t - 1, i) + X(t, i);
///     }); Tensor sums = scan({s_init}, {s_update}, {s_state})[0];
std::vector<Tensor> scan(const std::vector<Tensor>& init, const std::vector<Tensor>& update,
                         const std::vector<Tensor>& state, const std::vector<Tensor>& inputs = {},
                         std::string name = "scan", ComputeOptions options = {},
                         const Place& place = Place::current());

}  // namespace loopsmith::te
