// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/loop_body.h"

#include <algorithm>

#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {

void LoopBody::visit(const Stmt& stmt, bool is_sure) {
  if (const auto* sequence = stmt.as<SeqStmt>()) {
    for (const Stmt& each : sequence->seq) visit(each, is_sure);
  } else if (const auto* let = stmt.as<LetStmt>()) {
    named.insert(let->var.get());
    read(let->value, is_sure);
    visit(let->body, is_sure);
  } else if (const auto* branch = stmt.as<IfThenElse>()) {
    read(branch->condition, is_sure);
    visit(branch->then_case, false);
    if (branch->else_case) visit(branch->else_case, false);
  } else if (const auto* attribute = stmt.as<AttrStmt>()) {
    visit(attribute->body, is_sure);
  } else if (const auto* store = stmt.as<BufferStore>()) {
    stores.push_back(store);
    if (is_sure) (store->predicate.defined() ? masked_stores : sure_stores).push_back(store);
    for (const Expr& index : store->indices) read(index, is_sure);
    read(store->value, is_sure);
    loads_before.push_back(loads.size());
  } else {
    is_simple = false;
  }
}

void LoopBody::read(const Expr& expr, bool is_sure) {
  if (const auto* load = expr.as<BufferLoad>()) {
    loads.push_back(load);
    if (is_sure && !load->predicate.defined()) sure_loads.insert(load);
  }
  const auto* call = expr.as<Call>();
  if (call && !call->op.is_pure()) is_simple = false;
  const bool chooses = expr.is<And>() || expr.is<Or>() || expr.is<Select>() ||
                       (call && call->op == op("if_then_else"));
  bool is_first = true;
  for_each_child(*expr.get(), [&](const Ref& child, Role role) {
    if (role == Role::binds) named.insert(child.get());
    const Expr inner = Expr::from(child);
    if (role == Role::binds || !inner.defined()) return;
    deep_call([&] { read(inner, is_sure && (is_first || !chooses)); });
    is_first = false;
  });
}

bool LoopBody::is_fixed(const Expr& index) const {
  return is_timeless(index) && std::ranges::none_of(free_variables(index), [&](const auto& used) {
           return named.contains(used.get());
         });
}

DistinctMemory::DistinctMemory(const PrimFunc& func, Rewriter& rewrite)
    : are_parameters_distinct_(func.attrs.get_int("tir.noalias", 0) != 0) {
  for (const Ptr<Buffer>& buffer : func.buffer_map) {
    if (buffer) parameters_.insert(buffer->data.get());
  }
  rewrite.on<AttrStmt>([this, &rewrite](const AttrStmt& node) -> Stmt {
    if (node.attr_key != "tir.noalias") return rewrite.children(node);
    const bool outer = std::exchange(are_parameters_distinct_, true);
    rewrite.forget();
    Stmt result = rewrite.children(node);
    rewrite.forget();
    are_parameters_distinct_ = outer;
    return result;
  });
  rewrite.on<Allocate>([this, &rewrite](const Allocate& node) -> Stmt {
    allocated_.insert(node.buffer_var.get());
    return rewrite.children(node);
  });
}

bool DistinctMemory::contains(const Ptr<Buffer>& buffer) const {
  const Object* memory = buffer->data.get();
  return allocated_.contains(memory) || (are_parameters_distinct_ && parameters_.contains(memory));
}

Stmt in_turn_inside(const For& loop, std::span<const For* const> around) {
  Stmt nest{Ptr<For>(&loop)};
  for (std::size_t i = around.size(); i-- > 0;) {
    For outer = *around[i];
    outer.kind = ForKind::serial;
    outer.thread_binding = nullptr;
    outer.body = std::move(nest);
    nest = make(std::move(outer));
  }
  return nest;
}

Stmt with_register(const Ptr<Buffer>& buffer, Stmt body) {
  return make(Allocate{.dtype = buffer->dtype,
                       .extents = buffer->shape,
                       .condition = true,
                       .buffer_var = buffer->data,
                       .body = make(DeclBuffer{.buffer = buffer, .body = std::move(body)})});
}

}  // namespace loopsmith
