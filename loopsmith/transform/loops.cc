// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/loops.h"

#include <algorithm>

#include "loopsmith/ir/edit.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

namespace {

/// Walks statements with those around them.
class LoopVisitor {
 public:
  LoopVisitor(const std::function<bool(const For&)>& is_wanted,
              const std::function<void(const For&, const Stmt&)>& visit)
      : is_wanted_(is_wanted), visit_(visit) {}

  void enter(const Stmt& stmt) {
    deep_call([&] {
      if (const auto* loop = stmt.as<For>()) {
        if (is_wanted_(*loop)) visit_(*loop, alone(stmt));
        inside(stmt, loop->body);
      } else if (const auto* let = stmt.as<LetStmt>()) {
        inside(stmt, let->body);
      } else if (const auto* realize = stmt.as<BlockRealize>()) {
        inside(stmt, realize->block->body);
      } else if (const auto* branch = stmt.as<IfThenElse>();
                 branch && !is_timeless(branch->condition)) {
        // It says nothing of the loop: there all iterations are, or none is.
        enter(branch->then_case);
        if (branch->else_case) enter(branch->else_case);
      } else if (branch) {
        inside(under(branch->condition), branch->then_case);
        if (branch->else_case) inside(under(!branch->condition), branch->else_case);
      } else {
        for_each_child(*stmt.get(), [&](const Ref& child, Role) {
          if (const Stmt part = Stmt::from(child)) enter(part);
        });
      }
    });
  }

 private:
  static Stmt under(const Expr& condition) {
    return make(IfThenElse{.condition = condition, .then_case = no_op()});
  }

  void inside(const Stmt& around, const Stmt& body) {
    around_.push_back(around);
    enter(body);
    around_.pop_back();
  }

  Stmt alone(Stmt result) const {
    for (std::size_t i = around_.size(); i-- > 0;) {
      result = with_body(around_[i], std::move(result));
    }
    return result;
  }

  const std::function<bool(const For&)>& is_wanted_;
  const std::function<void(const For&, const Stmt&)>& visit_;
  std::vector<Stmt> around_;
};

}  // namespace

Stmt with_body(const Stmt& around, Stmt body) {
  const auto changed = [&](auto node) -> Stmt {
    node.body = std::move(body);
    return make(std::move(node));
  };
  if (const auto* loop = around.as<For>()) return changed(For(*loop));
  if (const auto* loop = around.as<While>()) return changed(While(*loop));
  if (const auto* let = around.as<LetStmt>()) return changed(LetStmt(*let));
  if (const auto* attribute = around.as<AttrStmt>()) return changed(AttrStmt(*attribute));
  if (const auto* allocate = around.as<Allocate>()) return changed(Allocate(*allocate));
  if (const auto* constant = around.as<AllocateConst>()) return changed(AllocateConst(*constant));
  if (const auto* decl = around.as<DeclBuffer>()) return changed(DeclBuffer(*decl));
  if (const auto* assertion = around.as<AssertStmt>()) return changed(AssertStmt(*assertion));
  if (const auto* realize = around.as<BlockRealize>()) {
    Block block = *realize->block;
    block.init = nullptr;
    block.body = std::move(body);
    BlockRealize copy = *realize;
    copy.block = make(std::move(block));
    return make(std::move(copy));
  }
  const auto* branch = around.as<IfThenElse>();
  check(branch != nullptr, "with_body", "a statement without a body");
  return make(IfThenElse{.condition = branch->condition, .then_case = std::move(body)});
}

void each_loop_alone(const Stmt& root, const std::function<bool(const For&)>& is_wanted,
                     const std::function<void(const For&, const Stmt&)>& visit) {
  LoopVisitor(is_wanted, visit).enter(root);
}

bool leaves_loop(const Stmt& body) {
  bool found = false;
  pre_order_visit(body, [&](const Ref& ref) {
    found = found || ref.is<Break>() || ref.is<Continue>();
    const bool inner_loop = ref.is<For>() || ref.is<While>();
    return !found && !inner_loop && !is_expr(*ref.get());
  });
  return found;
}

namespace {

/// Tells the analyzer what values the variable of `loop` takes.
void bind_loop(Analyzer& analyzer, const For& loop) {
  if (is_const_int(loop.step, 1)) {
    return analyzer.bind_range(loop.loop_var, loop.min, loop.extent);
  }
  const ConstIntBound min = analyzer.const_int_bound(loop.min);
  const ConstIntBound last = analyzer.const_int_bound(
      loop.min + (loop.extent - int_imm(loop.extent.dtype(), 1)) * loop.step);
  analyzer.update(loop.loop_var, {.min_value = std::min(min.min_value, last.min_value),
                                  .max_value = std::max(min.max_value, last.max_value)});
}

}  // namespace

ConstraintScope enter_loop(Analyzer& analyzer, const For& loop) {
  ConstraintScope scope = analyzer.constraint_scope(loop.extent > 0);
  bind_loop(analyzer, loop);
  return scope;
}

Stmt rewrite_inside(Rewriter& rewrite, Analyzer& analyzer, const For& loop, const Stmt& body) {
  // Of a loop that is sure to run, nothing is known inside that would not be true outside.
  if (const std::int64_t* extent = as_int(loop.extent); extent && *extent > 0) {
    bind_loop(analyzer, loop);
    return rewrite(body);
  }
  const ConstraintScope scope = enter_loop(analyzer, loop);
  rewrite.forget();
  Stmt result = rewrite(body);
  rewrite.forget();
  return result;
}

Stmt rewrite_loop(Rewriter& rewrite, Analyzer& analyzer, const For& loop) {
  Edit edit(loop);
  edit.set(&For::min, rewrite(loop.min));
  edit.set(&For::extent, rewrite(loop.extent));
  edit.set(&For::step, rewrite(loop.step));
  edit.set(&For::body, rewrite_inside(rewrite, analyzer, loop, loop.body));
  return std::move(edit).done();
}

std::vector<Ptr<Buffer>> allocated_buffers(const Stmt& body) {
  std::vector<Ptr<Buffer>> buffers;
  pre_order_visit(body, [&](const Ref& ref) {
    const auto* allocate = ref.as<Allocate>();
    const auto* decl = allocate ? allocate->body.as<DeclBuffer>() : nullptr;
    if (decl && decl->buffer->data.same_as(allocate->buffer_var)) buffers.push_back(decl->buffer);
    if (const auto* block = ref.as<Block>()) {
      buffers.insert(buffers.end(), block->alloc_buffers.begin(), block->alloc_buffers.end());
    }
    return !is_expr(*ref.get());
  });
  return buffers;
}

/// The conditions that decide an if_then_else somewhere in `expr`.
std::vector<Expr> choices_in(const Ref& expr) {
  std::vector<Expr> conditions;
  pre_order_visit(expr, [&](const Ref& ref) {
    const auto* call = ref.as<Call>();
    if (call && call->op == op("if_then_else")) conditions.push_back(call->args[0]);
    // Both values of a select are computed anyway: one that is marked is worth a cut.
    const auto* select = ref.as<Select>();
    const auto* marked = select ? select->condition.as<Call>() : nullptr;
    if (marked && marked->op == op("likely")) conditions.push_back(select->condition);
    return true;
  });
  return conditions;
}

namespace {

/// The contents of `stmt`, and of each loop in it.
LoopContent measure(const Stmt& stmt, LoopContents& loops) {
  return deep_call([&] {
    LoopContent all;
    all.has_conditions = stmt.is<IfThenElse>();
    all.statements = stmt.is<BufferStore>() || stmt.is<Evaluate>();
    for_each_child(*stmt.get(), [&](const Ref& child, Role role) {
      if (role == Role::binds || child.is<Buffer>()) return;
      const Stmt inner = Stmt::from(child);
      if (!inner) {
        all.has_conditions = all.has_conditions || !choices_in(child).empty();
        return;
      }
      const LoopContent part = measure(inner, loops);
      all.levels = std::max(all.levels, part.levels);
      all.statements += part.statements;
      all.has_conditions |= part.has_conditions;
    });
    if (const auto* loop = stmt.as<For>()) {
      ++all.levels;
      loops[loop->loop_var.get()] = all;
    }
    return all;
  });
}

}  // namespace

LoopContents measure_loops(const Stmt& body) {
  LoopContents loops;
  measure(body, loops);
  return loops;
}

}  // namespace loopsmith
