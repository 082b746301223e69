// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/function_variables.h"

#include <algorithm>

#include "loopsmith/ir/script_printer.h"
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

std::string read_beside_sizes(const PrimFunc& func, const Expr& expr) {
  std::string found;
  const auto sizes = function_variables(func);
  pre_order_visit(expr, [&](const Ref& ref) {
    const auto* variable = ref.as<Var>();
    const bool is_size = variable && std::ranges::any_of(sizes, [&](const auto& size) {
                           return size.get() == ref.get();
                         });
    const auto* call = ref.as<Call>();
    const bool is_impure = call && !call->op.is_pure();
    if (found.empty() && ((variable && !is_size) || ref.is<BufferLoad>() || is_impure)) {
      found = to_string(Expr::from(ref));
    }
    return found.empty();
  });
  return found;
}

}  // namespace loopsmith
