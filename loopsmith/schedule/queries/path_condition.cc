// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/path_condition.h"

#include <algorithm>

#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"

namespace loopsmith {
namespace {

/// Calls `visit` for the buffers to which each iteration stores.
template <class Visit>
void each_store(const Stmt& stmt, const Visit& visit) {
  if (const auto* sequence = stmt.as<SeqStmt>()) {
    for (const Stmt& part : sequence->seq) deep_call([&] { each_store(part, visit); });
  } else if (const auto* loop = stmt.as<For>()) {
    const std::int64_t* extent = as_int(loop->extent);
    if (extent && *extent > 0) deep_call([&] { each_store(loop->body, visit); });
  } else if (const auto* realize = stmt.as<BlockRealize>()) {
    if (!is_const_int(realize->predicate, 1)) return;
    deep_call([&] { each_store(realize->block->body, visit); });
  } else if (const auto* store = stmt.as<BufferStore>()) {
    if (!store->predicate.defined()) visit(*store->buffer);
  }
}

void factors_of(const Expr& product, std::vector<Expr>& factors) {
  if (const auto* node = product.as<Mul>()) {
    deep_call([&] { factors_of(node->a, factors); });
    deep_call([&] { factors_of(node->b, factors); });
  } else {
    factors.push_back(product);
  }
}

/// That the factors of an extent, which is at least 1, are so, too: all but one are never negative,
/// or are `positive`.
Expr factors_are_positive(const Expr& extent, const Expr& positive) {
  std::vector<Expr> factors;
  factors_of(extent, factors);
  Expr result = true;
  int signs = 0;
  for (const Expr& factor : factors) {
    const auto* variable = factor.as<Var>();
    const std::int64_t* number = as_int(factor);
    if (variable) result = result && int_imm(factor.dtype(), 1) <= factor;
    const bool has_sign =
        !factor.same_as(positive) && !(variable && variable->is_size) && !(number && *number > 0);
    signs += has_sign ? 1 : 0;
  }
  return signs <= 1 ? result : true;
}

Expr memory_is_there(const For& nest) {
  Expr result = true;
  each_store(nest.body, [&](const Buffer& buffer) {
    for (const Expr& extent : buffer.shape) {
      if (extent.is<Mul>()) result = result && factors_are_positive(extent, nest.extent);
    }
  });
  return result;
}

/// True for a sum of variables and numbers.
bool is_sum(const Expr& expr) {
  if (const auto* sum = expr.as<Add>()) return is_sum(sum->a) && is_sum(sum->b);
  if (const auto* difference = expr.as<Sub>()) {
    return is_sum(difference->a) && is_sum(difference->b);
  }
  return expr.dtype().is_index() && (expr.is<IntImm>() || expr.is<Var>());
}

/// Calls `visit` for the sizes of a function's buffer parameters: variables that are not negative.
template <class Visit>
void each_size(const Schedule& schedule, std::uint32_t function, const Visit& visit) {
  const auto* func = schedule.as<PrimFunc>(schedule.root(function));
  if (!func) return;
  for (const Ptr<Buffer>& buffer : func->buffer_map) {
    if (!buffer) continue;
    for (const Expr& extent : buffer->shape) {
      if (const auto size = Ptr<Var>::from(extent)) visit(size);
    }
  }
}

/// What their types do not say of the sizes of parameters; of those that a statement uses, where
/// one is given.
Expr sizes_are_there(const Schedule& schedule, NodeId node, const Stmt& user = {}) {
  std::vector<Ptr<Var>> sizes;
  each_size(schedule, schedule.function_of(node), [&](const Ptr<Var>& size) {
    const auto is_it = [&](const Ptr<Var>& known) { return known.same_as(size); };
    if (!size->is_size && std::ranges::none_of(sizes, is_it)) sizes.push_back(size);
  });
  Expr result = true;
  for (const Ptr<Var>& size : sizes) {
    if (!user || uses_variable(user, size)) result = result && int_imm(size->dtype, 0) <= size;
  }
  return result;
}

/// What holds inside the part `below` of a branch or an assertion, at a node; undefined elsewhere.
Expr condition_of(const Schedule& schedule, NodeId node, NodeId below) {
  if (const auto* branch = schedule.as<IfThenElse>(node)) {
    return schedule.at(below).slot == 0 ? branch->condition : !branch->condition;
  }
  const auto* assertion = schedule.as<AssertStmt>(node);
  return assertion ? assertion->condition : Expr();
}

}  // namespace

Expr range_condition(const For& loop) {
  const std::int64_t* step = as_int(loop.step);
  if (!step) return {};
  const Expr last = loop.min + (loop.extent - 1) * loop.step;
  return *step > 0 ? loop.min <= loop.loop_var && loop.loop_var <= last
                   : last <= loop.loop_var && loop.loop_var <= loop.min;
}

Expr path_condition(const Schedule& schedule, NodeId scope) {
  Expr known = sizes_are_there(schedule, scope);
  const auto add = [&](const Expr& condition) {
    if (condition.defined() && !reads_memory(condition)) known = known && condition;
  };
  for (NodeId below = scope, node = scope; node != no_node;
       below = node, node = schedule.at(node).parent) {
    add(node == below ? Expr() : condition_of(schedule, node, below));
    if (const auto* realize = schedule.as<BlockRealize>(node)) {
      for (std::size_t i = 0; i < realize->iter_values.size(); ++i) {
        const IterVar& axis = *realize->block->iter_vars[i];
        add(axis.dom->min <= axis.var && axis.var < axis.dom->min + axis.dom->extent);
        add(axis.var == realize->iter_values[i]);
      }
      add(realize->predicate);
    } else if (const auto* loop = schedule.as<For>(node)) {
      add(range_condition(*loop));
    }
  }
  return known;
}

Stmt under_path_condition(const Schedule& schedule, NodeId nest) {
  const Stmt& stmt = schedule.statement(nest);
  const auto* loop = stmt.as<For>();
  if (!loop) return stmt;
  Expr known = memory_is_there(*loop) && sizes_are_there(schedule, nest, stmt);
  std::vector<const LetStmt*> names;
  for (NodeId below = nest, node = schedule.at(nest).parent; node != no_node;
       below = node, node = schedule.at(node).parent) {
    const auto* let = schedule.as<LetStmt>(node);
    if (let && (let->var->dtype.is_handle() || is_sum(let->value))) names.push_back(let);
    const Expr condition = condition_of(schedule, node, below);
    if (condition.defined() && !reads_memory(condition)) known = known && condition;
  }
  Stmt result = stmt;
  if (!is_const_int(known, 1)) {
    result = make(IfThenElse{.condition = std::move(known), .then_case = std::move(result)});
  }
  for (const LetStmt* let : names) {
    result = make(LetStmt{.value = let->value, .var = let->var, .body = std::move(result)});
  }
  return result;
}

void learn_sizes(const Schedule& schedule, std::uint32_t function, Analyzer& analyzer) {
  each_size(schedule, function,
            [&](const Ptr<Var>& size) { analyzer.update(size, {.min_value = 0}); });
}

Expr dimension_for(const Schedule& schedule, std::uint32_t function, const Expr& extent) {
  Analyzer analyzer;
  learn_sizes(schedule, function, analyzer);
  const Expr zero = int_imm(extent.dtype(), 0);
  return analyzer.can_prove(extent >= zero) ? extent : analyzer.simplify(max(extent, zero));
}

}  // namespace loopsmith
