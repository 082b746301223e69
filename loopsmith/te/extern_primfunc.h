// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/te/extern.h"

namespace loopsmith::te {

/// The tensors that a function over buffers makes from `inputs`, whose shapes say what the sizes in
/// its shapes are.
///
/// Parameters that it writes are the outputs, which it has to fill before it reads them; the others
/// take the inputs, in order. `options` gives no buffers.
std::vector<Tensor> extern_primfunc(const std::vector<Tensor>& inputs, const Ptr<PrimFunc>& func,
                                    std::string name = "extern", ExternOptions options = {},
                                    const Place& place = Place::current());

}  // namespace loopsmith::te
