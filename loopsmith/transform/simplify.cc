// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/simplify.h"

#include "loopsmith/arith/data_parameters.h"
#include "loopsmith/ir/edit.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/rewrite_branch.h"

namespace loopsmith {
namespace {

class Simplifier {
 public:
  Ptr<PrimFunc> run(const Ptr<PrimFunc>& func) {
    for (const Ptr<Var>& param : arith::data_parameters(*func)) analyzer_.mark_data(param);
    set_rules();
    return rewrite_.body_of(func);
  }

 private:
  void set_rules();
  Stmt loop(const For& loop);
  Stmt branch(const IfThenElse& branch);
  Stmt let(const LetStmt& let);

  Expr simple(const Expr& e) {
    if (!e.defined()) return e;
    return analyzer_.simplify(values_.empty() ? e : rewrite_.inside(e));
  }
  Stmt under(const Expr& condition, const Stmt& body) {
    return rewrite_under(rewrite_, analyzer_, condition, body);
  }

  Rewriter rewrite_;
  Analyzer analyzer_;
  Substitution values_;  // Of variables that go away.
};

Stmt Simplifier::loop(const For& node) {
  Edit edit(node);
  edit.set(&For::min, simple(node.min));
  edit.set(&For::extent, simple(node.extent));
  edit.set(&For::step, simple(node.step));
  const For& loop = edit.now();
  const std::int64_t* extent = as_int(loop.extent);
  if (extent && *extent <= 0) return no_op();
  if (extent && *extent == 1 && node.kind != ForKind::thread_binding && node.annotations.empty() &&
      !leaves_loop(node.body)) {
    values_[node.loop_var] = loop.min;
    rewrite_.forget();
    return rewrite_(node.body);
  }
  edit.set(&For::body, rewrite_inside(rewrite_, analyzer_, loop, node.body));
  return is_no_op(edit.now().body) ? no_op() : Stmt(std::move(edit).done());
}

Stmt Simplifier::branch(const IfThenElse& node) {
  const Expr condition = simple(node.condition);
  if (const std::int64_t* known = as_int(condition)) {
    if (*known) return rewrite_(node.then_case);
    return node.else_case ? rewrite_(node.else_case) : no_op();
  }
  Edit edit(node);
  edit.set(&IfThenElse::condition, condition);
  edit.set(&IfThenElse::then_case, under(condition, node.then_case));
  if (node.else_case) {
    const Stmt else_case = under(!condition, node.else_case);
    edit.set(&IfThenElse::else_case, is_no_op(else_case) ? Stmt() : else_case);
  }
  if (!is_no_op(edit.now().then_case)) return std::move(edit).done();
  if (!edit.now().else_case) return no_op();
  return guarded(simple(!condition), edit.now().else_case);
}

/// Whether a value is to be computed once: what is bound may be put in its place, unless it reads
/// memory.
bool is_computed_once(const Expr& value) {
  bool calls = false, reads = false;
  pre_order_visit(value, [&](const Ref& ref) {
    calls = calls || ref.is<Call>();
    reads = reads || ref.is<BufferLoad>();
    return !reads;
  });
  return calls && !reads;
}

Stmt Simplifier::let(const LetStmt& node) {
  const Expr value = simple(node.value);
  if (value.is<Var>() || value.is<IntImm>() || value.is<FloatImm>()) {
    values_[node.var] = value;
    rewrite_.forget();
    return rewrite_(node.body);
  }
  if (value.dtype().is_integer() && value.dtype().is_scalar()) {
    if (is_computed_once(value)) {
      analyzer_.learn(node.var, value);
    } else {
      analyzer_.bind(node.var, value);
    }
  }
  Edit edit(node);
  edit.set(&LetStmt::value, value);
  edit.set(&LetStmt::body, rewrite_(node.body));
  return std::move(edit).done();
}

void Simplifier::set_rules() {
  rewrite_.on<Var>([this](const Var& variable) -> Expr {
    const auto value = values_.find(Ref(&variable));
    return value == values_.end() ? Expr(&variable) : value->second;
  });
  rewrite_.on_outermost([this](const Expr& e) { return simple(e); });
  rewrite_.on<For>([this](const For& node) { return loop(node); });
  rewrite_.on<IfThenElse>([this](const IfThenElse& node) { return branch(node); });
  rewrite_.on<LetStmt>([this](const LetStmt& node) { return let(node); });
  rewrite_.on<Block>([this](const Block& node) {
    // An axis of a domain that is not empty has values everywhere in its block.
    for (const auto& axis : node.iter_vars) {
      const std::int64_t* extent = as_int(axis->dom->extent);
      if (extent && *extent > 0) analyzer_.bind(axis->var, axis->dom);
    }
    return rewrite_.children(node);
  });
  rewrite_.on<AttrStmt>([this](const AttrStmt& node) -> Stmt {
    const auto* axis = node.node.as<IterVar>();
    if (!axis || node.attr_key != "thread_extent") return rewrite_.children(node);
    Edit edit(node);
    edit.set(&AttrStmt::value, simple(node.value));
    const std::int64_t* extent = as_int(edit.now().value);
    // Another mark of the axis may start more of them.
    const Ptr<Var>& thread = axis->var;
    const Expr is_started =
        extent ? 0 <= thread && thread < int_imm(thread->dtype, *extent) : Expr(true);
    edit.set(&AttrStmt::body, under(is_started, node.body));
    return std::move(edit).done();
  });
  rewrite_.on<SeqStmt>([this](const SeqStmt& node) -> Stmt {
    std::vector<Stmt> statements;
    bool is_new = false;
    for (const Stmt& child : node.seq) {
      statements.push_back(rewrite_(child));
      is_new |= !statements.back().same_as(child);
    }
    return is_new ? seq(std::move(statements)) : Stmt(&node);
  });
  rewrite_.on<While>([this](const While& node) -> Stmt {
    Edit edit(node);
    edit.set(&While::condition, simple(node.condition));
    if (is_const_int(edit.now().condition, 0)) return no_op();
    edit.set(&While::body, rewrite_(node.body));
    return std::move(edit).done();
  });
  rewrite_.on<AssertStmt>([this](const AssertStmt& node) -> Stmt {
    Edit edit(node);
    edit.set(&AssertStmt::condition, simple(node.condition));
    edit.set(&AssertStmt::body, under(edit.now().condition, node.body));
    return is_const_int(edit.now().condition, 1) ? edit.now().body : std::move(edit).done();
  });
}

}  // namespace

Ptr<PrimFunc> simplify(const Ptr<PrimFunc>& func) {
  return Simplifier().run(func);
}

}  // namespace loopsmith
