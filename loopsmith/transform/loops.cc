// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/loops.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

bool leaves_loop(const Stmt& body) {
  bool found = false;
  pre_order_visit(body, [&](const Ref& ref) {
    found = found || ref.is<Break>() || ref.is<Continue>();
    const bool inner_loop = ref.is<For>() || ref.is<While>();
    return !found && !inner_loop && !node_info(*ref.get()).is_expr;
  });
  return found;
}

void bind_loop(Analyzer& analyzer, const For& loop) {
  if (is_const_int(loop.step, 1)) {
    analyzer.bind(loop.loop_var, range(loop.min, loop.extent));
    return;
  }
  const ConstIntBound min = analyzer.const_int_bound(loop.min);
  const ConstIntBound last = analyzer.const_int_bound(
      loop.min + (loop.extent - int_imm(loop.extent.dtype(), 1)) * loop.step);
  analyzer.update(loop.loop_var, {.min_value = std::min(min.min_value, last.min_value),
                                  .max_value = std::max(min.max_value, last.max_value)});
}

}  // namespace loopsmith
