// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/remove_no_op.h"

#include <unordered_map>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/edit.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {
namespace {

/// Which names and which memory are needed, directly or through others that are.
class Liveness {
 public:
  explicit Liveness(const Stmt& body) {
    if (!contains<Allocate>(body) && !contains<LetStmt>(body)) return;
    visit(body);
    while (!waiting_.empty()) {
      const Object* next = waiting_.back();
      waiting_.pop_back();
      if (!live_.insert(next).second) continue;
      const auto more = needs_.find(next);
      if (more == needs_.end()) continue;
      waiting_.insert(waiting_.end(), more->second.begin(), more->second.end());
    }
  }

  bool is_live(const Ref& variable) const { return live_.contains(variable.get()); }
  /// True for a store that only matters if a statement reads the memory, which is the function's
  /// own.
  bool is_private(const BufferStore& store) const {
    return own_memory_.contains(store.buffer->data.get()) && is_pure(store.value);
  }

 private:
  using Names = std::vector<const Object*>;

  void visit(const Stmt& stmt) {
    deep_call([&] { enter(stmt); });
  }
  void enter(const Stmt& stmt) {
    Names* users = &waiting_;
    if (const auto* allocate = stmt.as<Allocate>()) own_memory_.insert(allocate->buffer_var.get());
    if (const auto* let = stmt.as<LetStmt>(); let && is_pure(let->value)) {
      users = &needs_[let->var.get()];
    }
    if (const auto* store = stmt.as<BufferStore>(); store && is_private(*store)) {
      users = &needs_[store->buffer->data.get()];
    } else if (store) {
      users->push_back(store->buffer->data.get());  // Its pointer may have a name.
    }
    for_each_child(*stmt.get(), [&](const Ref& child, Role role) {
      if (role == Role::binds || child.is<Buffer>()) return;
      if (is_stmt(*child.get())) return visit(static_cast<const Stmt&>(child));
      add_uses(child, *users);
    });
  }
  static void add_uses(const Ref& root, Names& users) {
    const auto add = [&](const Ref& used) {
      if (users.empty() || users.back() != used.get()) users.push_back(used.get());
    };
    pre_order_visit(root, [&](const Ref& ref) {
      if (ref.is<Var>()) add(ref);
      if (const auto* load = ref.as<BufferLoad>()) add(load->buffer->data);
      return true;
    });
  }

  std::unordered_set<const Object*> live_, own_memory_;
  std::unordered_map<const Object*, Names> needs_;
  Names waiting_;
};

bool is_own_value(const BufferStore& store) {
  const auto* load = store.value.as<BufferLoad>();
  if (!load || !load->buffer.same_as(store.buffer)) return false;
  for (std::size_t d = 0; d < load->indices.size(); ++d) {
    if (!structural_equal(load->indices[d], store.indices[d])) return false;
  }
  return is_pure(store.value);
}

/// True when no lane is stored, and nothing happens on the way.
bool is_masked_out(const BufferStore& store) {
  const auto* mask = store.predicate.as<Broadcast>();
  const Expr& predicate = mask ? mask->value : store.predicate;
  return predicate.defined() && is_const_int(predicate, 0) && is_pure(store.value);
}

}  // namespace

Ptr<PrimFunc> remove_no_op(const Ptr<PrimFunc>& func) {
  const Liveness liveness(func->body);
  Rewriter rewrite;
  Analyzer analyzer;  // Of the loops around the current place.
  rewrite.on<Allocate>([&](const Allocate& node) -> Stmt {
    const Ptr<Allocate> result = rewrite.children(node);
    return is_no_op(result->body) ? no_op() : Stmt(result);
  });
  rewrite.on<DeclBuffer>([&](const DeclBuffer& node) -> Stmt {
    const Ptr<DeclBuffer> result = rewrite.children(node);
    return is_no_op(result->body) ? no_op() : Stmt(result);
  });
  rewrite.on<BufferStore>([&](const BufferStore& node) -> Stmt {
    const bool is_dead = !liveness.is_live(node.buffer->data) && liveness.is_private(node);
    return is_dead || is_own_value(node) || is_masked_out(node) ? no_op() : Stmt(&node);
  });
  rewrite.on<LetStmt>([&](const LetStmt& node) -> Stmt {
    const Ptr<LetStmt> result = rewrite.children(node);
    const bool is_needed = liveness.is_live(node.var) && !is_no_op(result->body);
    return is_needed || !is_pure(node.value) ? Stmt(result) : result->body;
  });
  rewrite.on<Evaluate>(
      [&](const Evaluate& node) -> Stmt { return is_pure(node.value) ? no_op() : Stmt(&node); });
  rewrite.on<SeqStmt>([&](const SeqStmt& node) -> Stmt {
    std::vector<Stmt> statements;
    bool changed = false;
    for (const Stmt& child : node.seq) {
      statements.push_back(rewrite(child));
      changed |= !statements.back().same_as(child);
    }
    return changed ? seq(std::move(statements)) : Stmt(&node);
  });
  rewrite.on<For>([&](const For& node) -> Stmt {
    if (analyzer.const_int_bound(node.extent).max_value <= 0) return no_op();
    Edit edit(node);
    edit.set(&For::body, rewrite_inside(rewrite, analyzer, node, node.body));
    return is_no_op(edit.now().body) ? no_op() : Stmt(std::move(edit).done());
  });
  rewrite.on<IfThenElse>([&](const IfThenElse& node) -> Stmt {
    const Ptr<IfThenElse> result = rewrite.children(node);
    const bool has_else = result->else_case && !is_no_op(result->else_case);
    if (!is_no_op(result->then_case)) {
      if (has_else || !result->else_case) return result;
      return guarded(result->condition, result->then_case);
    }
    if (has_else) return guarded(!result->condition, result->else_case);
    return is_pure(node.condition) ? no_op() : Stmt(result);
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
