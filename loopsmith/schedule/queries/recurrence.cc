// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/recurrence.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

bool add_stores(const Stmt& stmt, std::vector<Stmt>& stores) {
  if (const auto* sequence = stmt.as<SeqStmt>()) {
    return std::ranges::all_of(sequence->seq,
                               [&](const Stmt& part) { return add_stores(part, stores); });
  }
  if (stmt.is<BufferStore>()) {
    stores.push_back(stmt);
    return true;
  }
  const auto* realize = stmt.as<BlockRealize>();
  if (!realize || realize->block->init.defined() || !is_const_int(realize->predicate, 1) ||
      !realize->block->alloc_buffers.empty() || !realize->block->match_buffers.empty()) {
    return false;
  }
  Substitution values;
  for (std::size_t i = 0; i < realize->iter_values.size(); ++i) {
    values[realize->block->iter_vars[i]->var] = realize->iter_values[i];
  }
  return add_stores(substitute(realize->block->body, values), stores);
}

bool are_equal_indices(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  Analyzer analyzer;
  return std::ranges::equal(
      a, b, [&](const Expr& x, const Expr& y) { return analyzer.can_prove_equal(x, y); });
}

/// `factor * state + rest`, where the value has that form.
struct LinearForm {
  Expr factor;
  Expr rest;
};

std::optional<LinearForm> linear_in(const Expr& value, const Ptr<Var>& state) {
  const DataType type = value.dtype();
  if (!uses_variable(value, state)) return LinearForm{const_of(type, 0), value};
  if (value.same_as(state)) return LinearForm{const_of(type, 1), const_of(type, 0)};
  const auto both = [&](const Expr& a,
                        const Expr& b) -> std::optional<std::pair<LinearForm, LinearForm>> {
    auto left = linear_in(a, state), right = linear_in(b, state);
    if (!left || !right) return {};
    return std::pair{*std::move(left), *std::move(right)};
  };
  if (const auto* sum = value.as<Add>()) {
    const auto parts = both(sum->a, sum->b);
    if (!parts) return {};
    return LinearForm{parts->first.factor + parts->second.factor,
                      parts->first.rest + parts->second.rest};
  }
  if (const auto* difference = value.as<Sub>()) {
    const auto parts = both(difference->a, difference->b);
    if (!parts) return {};
    return LinearForm{parts->first.factor - parts->second.factor,
                      parts->first.rest - parts->second.rest};
  }
  if (const auto* product = value.as<Mul>()) {
    const bool is_left = uses_variable(product->a, state);
    if (is_left && uses_variable(product->b, state)) return {};
    const Expr& by = is_left ? product->b : product->a;
    const auto form = linear_in(is_left ? product->a : product->b, state);
    if (!form) return {};
    return LinearForm{form->factor * by, form->rest * by};
  }
  if (const auto* choice = value.as<Select>(); choice && !uses_variable(choice->condition, state)) {
    const auto parts = both(choice->true_value, choice->false_value);
    if (!parts) return {};
    return LinearForm{select(choice->condition, parts->first.factor, parts->second.factor),
                      select(choice->condition, parts->first.rest, parts->second.rest)};
  }
  return {};
}

/// Finds by which operation the next value is made.
void find_operation(Recurrence& recurrence) {
  const Ptr<Buffer> cell = decl_buffer({1}, recurrence.buffer->dtype, "cell");
  const Expr old = load(cell, {Expr(0)});
  const Stmt update =
      store(cell, substitute(recurrence.value, {{recurrence.state, old}}), {Expr(0)});
  if (const auto found = accumulation_of(*update.as<BufferStore>())) {
    recurrence.combiner = found->combiner;
    recurrence.operand = found->operand;
    return;
  }
  const auto form = linear_in(recurrence.value, recurrence.state);
  if (!form) return;
  recurrence.factor = form->factor;
  recurrence.operand = form->rest;
}

/// True where a condition that fails in an iteration fails in all that follow.
bool holds_for_a_beginning(const Expr& condition, const For& loop) {
  const auto* less = condition.as<LT>();
  if (!less || reads_memory(condition)) return false;
  const Expr room = less->b - less->a;
  const Expr next = substitute(room, {{loop.loop_var, loop.loop_var + loop.step}});
  return Analyzer().can_prove(next <= room);
}

}  // namespace

GuardedBody body_of_beginning(const For& loop) {
  GuardedBody found{.body = loop.body};
  while (const auto* branch = found.body.as<IfThenElse>()) {
    if (branch->else_case || !holds_for_a_beginning(branch->condition, loop)) break;
    found.guard = found.guard.defined() ? found.guard && branch->condition : branch->condition;
    found.body = Stmt(branch->then_case);
  }
  return found;
}

std::optional<std::vector<Stmt>> stores_of(const Stmt& body) {
  std::vector<Stmt> stores;
  if (!add_stores(body, stores)) return {};
  return stores;
}

Expr with_state(const Expr& expr, const Recurrence& recurrence, const Expr& state) {
  Rewriter rewrite;
  rewrite.on<BufferLoad>([&](const BufferLoad& load) -> Expr {
    if (load.buffer.same_as(recurrence.buffer) &&
        are_equal_indices(load.indices, recurrence.previous)) {
      return state;
    }
    return rewrite.children(load);
  });
  return rewrite(expr);
}

std::optional<Recurrence> recurrence_of(const For& loop, const std::vector<Stmt>& stores) {
  for (std::size_t i = 0; i < stores.size(); ++i) {
    const BufferStore& store = *stores[i].as<BufferStore>();
    if (std::ranges::any_of(store.indices, [](const Expr& e) { return reads_memory(e); })) continue;
    const Expr before = loop.loop_var - loop.step;
    Recurrence found{.statement = i, .buffer = store.buffer, .indices = store.indices};
    for (const Expr& index : store.indices) {
      found.previous.push_back(substitute(index, {{loop.loop_var, before}}));
    }
    found.is_in_place = are_equal_indices(found.indices, found.previous);
    found.state = var("state", store.value.dtype());
    found.value = with_state(store.value, found, found.state);
    if (!uses_variable(found.value, found.state)) continue;
    find_operation(found);
    return found;
  }
  return {};
}

}  // namespace loopsmith
