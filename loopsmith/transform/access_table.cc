// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/access_table.h"

#include <ranges>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {

const Scope* common_scope(const Scope* a, const Scope* b) {
  while (a != b) {
    (a->depth >= b->depth ? a : b) = a->depth >= b->depth ? a->parent : b->parent;
  }
  return a;
}

AccessTable::AccessTable(const PrimFunc& func) {
  here_ = &scopes_.emplace_back();
  visit(func.body);
  scopes_.front().last = scopes_.size();
}

const Scope* AccessTable::definition(const Ref& variable) const {
  const auto found = definitions_.find(variable);
  return found == definitions_.end() ? nullptr : found->second;
}

void AccessTable::enter(Scope scope, const Ref& body) {
  scope.parent = here_;
  scope.first = scopes_.size();
  scope.depth = here_->depth + 1;
  Scope& inner = scopes_.emplace_back(std::move(scope));
  here_ = &inner;
  if (const auto* loop = inner.stmt.as<For>()) definitions_[loop->loop_var] = &inner;
  if (const auto* let = inner.stmt.as<LetStmt>()) definitions_[let->var] = &inner;
  visit(body);
  inner.last = scopes_.size() - 1;
  inner.is_open = false;
  here_ = inner.parent;
}

void AccessTable::declare(const Ptr<Buffer>& buffer) {
  const auto found = by_pointer_.find(buffer->data);
  if (found == by_pointer_.end()) return;
  Allocation& allocation = allocations_[found->second];
  if (allocation.buffer) allocation.is_opaque = true;
  allocation.buffer = buffer;
}

void AccessTable::note(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices, bool is_write) {
  const auto found = by_pointer_.find(buffer->data);
  if (found == by_pointer_.end()) return;
  Allocation& allocation = allocations_[found->second];
  if (!buffer.same_as(allocation.buffer)) allocation.is_opaque = true;
  allocation.accesses.push_back({.indices = &indices, .scope = here_, .is_write = is_write});
  // What was common so far climbs until it is around this place, too: each step once for all.
  if (!allocation.common) allocation.common = here_;
  while (!allocation.common->is_open) allocation.common = allocation.common->parent;
}

void AccessTable::visit_children(const Object& node) {
  for_each_child(node, [&](const Ref& child, Role role) {
    if (role != Role::binds && !child.is<Buffer>()) visit(child);
  });
}

void AccessTable::visit(const Ref& ref) {
  deep_call([&] {
    const Object& node = *ref.get();
    switch (node.kind) {
      case kind_of<IntImm>:
      case kind_of<FloatImm>: return;
      case kind_of<Var>: {
        const auto found = by_pointer_.find(ref);
        if (found == by_pointer_.end()) return;
        Allocation& allocation = allocations_[found->second];
        allocation.is_opaque = true;
        if (!allocation.common) allocation.common = here_;
        while (!allocation.common->is_open) allocation.common = allocation.common->parent;
        return;
      }
      case kind_of<BufferLoad>: {
        const auto& load = static_cast<const BufferLoad&>(node);
        visit_children(node);
        return note(load.buffer, load.indices, false);
      }
      case kind_of<BufferStore>: {
        const auto& store = static_cast<const BufferStore&>(node);
        visit_children(node);
        return note(store.buffer, store.indices, true);
      }
      case kind_of<Call>: {
        const auto& call = static_cast<const Call&>(node);
        const auto* load = call.op == op("address_of") ? call.args[0].as<BufferLoad>() : nullptr;
        if (load) visit(load->buffer->data);
        if (call.op == op("if_then_else")) {
          visit(call.args[0]);
          enter({.condition = call.args[0]}, call.args[1]);
          return enter({.condition = !call.args[0]}, call.args[2]);
        }
        return visit_children(node);
      }
      case kind_of<For>: {
        const auto& loop = static_cast<const For&>(node);
        for (const Expr& bound : {loop.min, loop.extent, loop.step}) visit(bound);
        return enter({.stmt = Stmt(&loop)}, loop.body);
      }
      case kind_of<While>: {
        // The condition is evaluated in each iteration, like the body.
        const auto& loop = static_cast<const While&>(node);
        const Stmt body = seq({make(Evaluate{.value = loop.condition}), loop.body});
        return enter({.stmt = Stmt(&loop)}, body);
      }
      case kind_of<IfThenElse>: {
        const auto& branch = static_cast<const IfThenElse&>(node);
        visit(branch.condition);
        enter({.condition = branch.condition}, branch.then_case);
        if (branch.else_case) enter({.condition = !branch.condition}, branch.else_case);
        return;
      }
      case kind_of<AssertStmt>: {
        const auto& assertion = static_cast<const AssertStmt&>(node);
        visit(assertion.condition);
        return enter({.condition = assertion.condition}, assertion.body);
      }
      case kind_of<Break>:
      case kind_of<Continue>: {
        const Scope* loop = here_;
        while (loop && !loop->stmt.is<For>() && !loop->stmt.is<While>()) loop = loop->parent;
        if (loop) scopes_[loop->first].is_left = true;
        return;
      }
      case kind_of<LetStmt>: {
        const auto& let = static_cast<const LetStmt&>(node);
        visit(let.value);
        return enter({.stmt = Stmt(&let)}, let.body);
      }
      case kind_of<Allocate>: {
        const auto& allocate = static_cast<const Allocate&>(node);
        for (const Expr& extent : allocate.extents) visit(extent);
        visit(allocate.condition);
        by_pointer_[allocate.buffer_var] = allocations_.size();
        const std::size_t index = allocations_.size();
        allocations_.push_back({.allocate = Ptr<Allocate>(&allocate), .scope = here_});
        const std::size_t scope = scopes_.size();
        enter({.stmt = Stmt(&allocate)}, allocate.body);
        allocations_[index].inside = &scopes_[scope];
        return;
      }
      case kind_of<DeclBuffer>: {
        const auto& decl = static_cast<const DeclBuffer&>(node);
        declare(decl.buffer);
        return visit(decl.body);
      }
      default: return visit_children(node);
    }
  });
}

void AccessTable::gather(const Expr& expr, const Scope* outside, arith::Intervals& ranges) const {
  for (const Ptr<Var>& variable : free_variables(expr)) {
    const Scope* scope = definition(variable);
    if (!scope || ranges.contains(variable) || !is_inside(outside, scope)) continue;
    if (const auto* let = scope->stmt.as<LetStmt>()) {
      gather(let->value, outside, ranges);
      ranges[variable] = arith::relax(let->value, ranges);
      continue;
    }
    const auto& loop = *scope->stmt.as<For>();
    const Expr last = loop.min + (loop.extent - int_imm(loop.extent.dtype(), 1)) * loop.step;
    gather(loop.min, outside, ranges);
    gather(last, outside, ranges);
    const auto first = arith::relax(loop.min, ranges), end = arith::relax(last, ranges);
    const std::int64_t* step = as_int(loop.step);
    std::optional<arith::Interval>& values = ranges[variable];
    if (!first || !end || !step) continue;
    values =
        *step >= 0 ? arith::Interval{first->min, end->max} : arith::Interval{end->min, first->max};
  }
}

Analyzer& AccessTable::analyzer_at(const Scope* scope) {
  while (!entered_.empty() && !is_around(entered_.back().loop, scope)) entered_.pop_back();
  const Scope* innermost = entered_.empty() ? nullptr : entered_.back().loop;
  std::vector<const Scope*> inside;
  for (const Scope* s = scope; s != innermost; s = s->parent) {
    if (s->stmt.is<For>()) inside.push_back(s);
  }
  for (const Scope* s : std::views::reverse(inside)) {
    entered_.push_back({s, enter_loop(analyzer_, *s->stmt.as<For>())});
  }
  return analyzer_;
}

std::optional<arith::Interval> AccessTable::values(const Expr& expr, const Scope* outside) {
  if (const auto* lanes = expr.as<Ramp>()) {
    const std::int64_t* stride = as_int(lanes->stride);
    auto first = values(lanes->base, outside);
    if (!stride || !first) return std::nullopt;
    const Expr reach = int_imm(lanes->base.dtype(), *stride * (lanes->lanes - 1));
    Expr& end = *stride >= 0 ? first->max : first->min;
    end = end + reach;
    return first;
  }
  if (!expr.dtype().is_scalar()) return std::nullopt;
  arith::Intervals& ranges = ranges_[outside];
  gather(expr, outside, ranges);
  return arith::relax(expr, ranges);
}

}  // namespace loopsmith
