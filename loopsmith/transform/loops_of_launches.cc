// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/loops_of_launches.h"

#include <unordered_set>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {

Ptr<PrimFunc> loops_of_launches(const Ptr<PrimFunc>& func) {
  std::unordered_set<const Object*> bound;  // Variables of launches: several may be of one.
  Rewriter rewrite;
  rewrite.on<AttrStmt>([&](const AttrStmt& node) -> Stmt {
    const Ptr<IterVar> axis = Ptr<IterVar>::from(node.node);
    if (!axis || (node.attr_key != "thread_extent" && node.attr_key != "virtual_thread")) {
      return rewrite.children(node);
    }
    const DataType type = axis->var->dtype;
    Stmt body = rewrite(node.body);
    Ptr<Var> thread = axis->var;
    if (!bound.insert(thread.get()).second) {
      thread = var(thread->name, type);
      body = substitute(body, {{axis->var, thread}});
    }
    // The binding of a loop has a variable that nothing reads.
    const Ptr<IterVar> binding = make(IterVar{.dom = axis->dom,
                                              .var = var(axis->thread_tag, type),
                                              .iter_type = axis->iter_type,
                                              .thread_tag = axis->thread_tag});
    return make(For{.loop_var = thread,
                    .min = axis->dom ? axis->dom->min : zero_of(type),
                    .extent = cast(type, node.value),
                    .step = int_imm(type, 1),
                    .kind = ForKind::thread_binding,
                    .thread_binding = binding,
                    .body = std::move(body)});
  });
  rewrite.on<For>([&](const For& node) -> Stmt {
    const Ptr<For> loop = rewrite.children(node);
    if (loop->kind != ForKind::vectorized || !has_launch(loop->body)) return loop;
    For serial = *loop;
    serial.kind = ForKind::serial;
    return make(std::move(serial));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
