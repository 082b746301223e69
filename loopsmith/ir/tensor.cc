// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/tensor.h"

namespace loopsmith {

std::vector<Ptr<IterVar>> ComputeOp::reduce_axis() const {
  const auto* reduce = body.empty() ? nullptr : body[0].as<Reduce>();
  return reduce ? reduce->axis : std::vector<Ptr<IterVar>>();
}

}  // namespace loopsmith
