// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/varying_loops.h"

#include <unordered_set>

#include "loopsmith/ir/walk.h"

namespace loopsmith {

bool has_varying_loops(const For& loop) {
  std::unordered_set<const Object*> varying{loop.loop_var.get()};
  const auto varies = [&](const Ref& value) {
    bool found = false;
    pre_order_visit(value, [&](const Ref& ref) {
      found = found || ref.is<BufferLoad>() || ref.is<Call>() || varying.contains(ref.get());
      return !found;
    });
    return found;
  };
  bool found = false;
  pre_order_visit(loop.body, [&](const Ref& ref) {
    if (const auto* inner = ref.as<For>()) {
      found = found || varies(inner->min) || varies(inner->extent);
    } else if (const auto* let = ref.as<LetStmt>()) {
      if (varies(let->value)) varying.insert(let->var.get());
    } else if (const auto* realize = ref.as<BlockRealize>()) {
      for (std::size_t i = 0; i < realize->iter_values.size(); ++i) {
        if (varies(realize->iter_values[i]))
          varying.insert(realize->block->iter_vars[i]->var.get());
      }
    }
    found = found || ref.is<While>();
    return !found && !is_expr(*ref.get());
  });
  return found;
}

}  // namespace loopsmith
