// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/function_variables.h"

#include "loopsmith/ir/walk.h"

namespace loopsmith {

std::vector<Ptr<Var>> function_variables(const PrimFunc& func) {
  std::vector<Ptr<Var>> variables = func.params;
  for (const Ptr<Buffer>& buffer : func.buffer_map) {
    if (!buffer) continue;
    for (const Expr& extent : buffer->shape) {
      for (const Ptr<Var>& variable : free_variables(extent)) variables.push_back(variable);
    }
  }
  return variables;
}

}  // namespace loopsmith
