// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/launch_statements.h"

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace {

/// True of what one thread may run for the host: it stores, has no loops that could be bound and no
/// memory but variables, and leaves nothing that is outside of it.
bool is_loose(const Stmt& stmt) {
  bool stores = false, is_left = false;
  pre_order_visit(stmt, [&](const Ref& ref) {
    const auto* allocate = ref.as<Allocate>();
    const bool is_memory = allocate && !is_local(memory_scope(*allocate->buffer_var.get()));
    stores = stores || ref.is<BufferStore>();
    is_left = is_left || is_memory || ref.is<For>() || ref.is<Return>() || ref.is<AssertStmt>();
    return !is_left && !is_expr(*ref.get());
  });
  return stores && !is_left && !leaves_loop(stmt);
}

Stmt by_one_thread(std::vector<Stmt> statements) {
  const Ptr<Var> once = var("once", i32);
  Stmt body = seq(std::move(statements));
  const Span span = body.get()->span;
  const Ptr<IterVar> thread =
      make(IterVar{.dom = nullptr,
                   .var = var("once", i32),
                   .iter_type = IterType::thread_index,
                   .thread_tag = std::string(tag_of(ThreadAxis::thread_x))});
  For loop{.loop_var = once,
           .min = int_imm(i32, 0),
           .extent = int_imm(i32, 1),
           .step = int_imm(i32, 1),
           .kind = ForKind::thread_binding,
           .thread_binding = thread,
           .body = std::move(body)};
  loop.span = span;
  return make(std::move(loop));
}

/// `stmt` beside or around kernels.
Stmt launched(const Stmt& stmt) {
  return deep_call([&]() -> Stmt {
    if (is_loose(stmt)) return by_one_thread({stmt});
    if (!has_launch(stmt) && contains<For>(stmt)) return stmt;
    if (is_launch_loop(stmt)) return stmt;
    if (const auto* sequence = stmt.as<SeqStmt>()) {
      std::vector<Stmt> result, loose;
      const auto flush = [&] {
        if (!loose.empty()) result.push_back(by_one_thread(std::exchange(loose, {})));
      };
      for (const Stmt& each : sequence->seq) {
        if (is_loose(each)) {
          loose.push_back(each);
          continue;
        }
        flush();
        result.push_back(launched(each));
      }
      flush();
      return seq(std::move(result));
    }
    if (const auto* branch = stmt.as<IfThenElse>()) {
      IfThenElse copy = *branch;
      copy.then_case = launched(branch->then_case);
      if (branch->else_case) copy.else_case = launched(branch->else_case);
      return make(std::move(copy));
    }
    const Stmt body = body_of(stmt);
    return body ? with_body(stmt, launched(body)) : stmt;
  });
}

}  // namespace

Ptr<PrimFunc> launch_statements(const Ptr<PrimFunc>& func, bool is_for_device) {
  if (!is_for_device && !has_launch(func->body)) return func;
  return with_body(func, launched(func->body));
}

}  // namespace loopsmith
