// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/loop_shift.h"

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/rewrites/edits.h"

namespace loopsmith {
namespace {

/// `body` with another value for the loop's variable, and indices simplified that have it.
Stmt body_with(const Stmt& body, const Ptr<Var>& variable, const Expr& value) {
  Analyzer analyzer;
  Rewriter rewrite;
  rewrite.on<Var>([&](const Var& use) -> Expr {
    return variable.get() == &use ? value : Expr(Ptr<Var>(&use));
  });
  const auto renew = [&](const Expr& before, Expr& now) {
    if (!before.is<IntImm>() && uses_variable(before, variable)) now = analyzer.simplify(now);
  };
  const auto renew_indices = [&](const auto& access) {
    auto copy = *rewrite.children(access);
    for (std::size_t i = 0; i < copy.indices.size(); ++i) {
      renew(access.indices[i], copy.indices[i]);
    }
    return copy;
  };
  rewrite.on<BufferLoad>([&](const BufferLoad& load) -> Expr { return make(renew_indices(load)); });
  rewrite.on<BufferStore>(
      [&](const BufferStore& store) -> Stmt { return make(renew_indices(store)); });
  rewrite.on<For>([&](const For& loop) -> Stmt {
    For copy = *rewrite.children(loop);
    renew(loop.min, copy.min);
    renew(loop.extent, copy.extent);
    return make(std::move(copy));
  });
  rewrite.on<BlockRealize>([&](const BlockRealize& realize) -> Stmt {
    BlockRealize copy = *rewrite.children(realize);
    for (std::size_t i = 0; i < copy.iter_values.size(); ++i) {
      renew(realize.iter_values[i], copy.iter_values[i]);
    }
    return make(std::move(copy));
  });
  return rewrite(body);
}

}  // namespace

void shift_loop(Schedule& schedule, LoopRV handle, const Expr& amount) {
  For loop = schedule.get(handle);
  const SpanScope span(schedule.span_from(loop.span));
  const Expr value = loop.loop_var - cast(loop.loop_var->dtype, amount);
  const Stmt body = body_with(loop.body, loop.loop_var, value);
  Schedule::Renewed renewed;
  add_renewed_blocks(loop.body, body, renewed);
  loop.body = body;
  loop.min = Analyzer().simplify(loop.min + cast(loop.min.dtype(), amount));
  schedule.replace(schedule.node(handle), make(std::move(loop)), renewed);
}

}  // namespace loopsmith
