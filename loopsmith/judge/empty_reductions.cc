// SPDX-License-Identifier: Apache-2.0
// Blocks that have nothing to reduce: their inits run all the same.
#include <algorithm>

#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/judge/machine.h"

namespace loopsmith::judge {

bool Machine::binds_reduction(const BlockRealize& realize, const For& loop) {
  bool binds = false;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const bool reduces = realize.block->iter_vars[i]->iter_type == IterType::comm_reduce;
    if (!reduces && realize.iter_values[i].same_as(loop.loop_var)) return false;
    binds = binds || (reduces && uses_variable(realize.iter_values[i], loop.loop_var));
  }
  return binds;
}

void Machine::find_started(const Stmt& stmt, std::vector<std::pair<const Object*, bool>>& way) {
  const auto go_on = [&](const Stmt& part, bool choice) {
    way.emplace_back(stmt.get(), choice);
    find_started(part, way);
    way.pop_back();
  };
  if (const auto* loop = stmt.as<For>()) {
    started_.try_emplace(loop);
    go_on(loop->body, true);
  } else if (const auto* sequence = stmt.as<SeqStmt>()) {
    for (const Stmt& part : sequence->seq) go_on(part, true);
  } else if (const auto* branch = stmt.as<IfThenElse>()) {
    go_on(branch->then_case, true);
    if (branch->else_case) go_on(branch->else_case, false);
  } else if (const auto* realize = stmt.as<BlockRealize>()) {
    if (!realize->block->init) return;
    Started found{.realize = realize};
    const For* outermost = nullptr;
    for (const auto& [around, choice] : way) {
      const Stmt node = Stmt::from(Ref(Ptr<Object>(around)));
      const auto* loop = node.as<For>();
      const bool reduces = loop && binds_reduction(*realize, *loop);
      if (reduces && !outermost) outermost = loop;
      if (!outermost) continue;
      if (loop) (reduces ? found.reductions : found.others).push_back(loop);
      if (const auto* branch = node.as<IfThenElse>())
        found.conditions.emplace_back(branch->condition, choice);
      found.is_shared = found.is_shared || node.is<SeqStmt>();
    }
    if (outermost) started_[outermost].push_back(std::move(found));
  }
}

void Machine::start_empty_reductions(const For& loop) {
  if (!started_.contains(&loop)) {
    std::vector<std::pair<const Object*, bool>> way;
    find_started(Stmt(Ptr<For>(&loop)), way);
  }
  for (const Started& each : started_.at(&loop)) start_if_empty(each);
}

void Machine::start_if_empty(const Started& started) {
  const std::size_t known = values_.size();
  const BlockRealize& realize = *started.realize;
  const auto of_reduction = [&](const Ref& root) {
    return std::ranges::any_of(
        started.reductions, [&](const For* loop) { return uses_variable(root, loop->loop_var); });
  };
  bool is_known = true;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const bool reduces = realize.block->iter_vars[i]->iter_type == IterType::comm_reduce;
    is_known = is_known && (reduces || !of_reduction(realize.iter_values[i]));
  }
  const auto each_bound = [&](const For* loop, auto ask) {
    return ask(loop->min) || ask(loop->extent) || ask(loop->step);
  };
  for (const For* other : started.others) is_known = is_known && !each_bound(other, of_reduction);
  if (!is_known) return;

  bool is_empty = false, decides_by_memory = false;
  for (const For* loop : started.reductions) define(loop->loop_var, {number(loop->min)});
  for (const Ptr<IterVar>& axis : realize.block->iter_vars) {
    if (axis->iter_type != IterType::comm_reduce) continue;
    decides_by_memory = decides_by_memory || reads_memory(axis->dom->extent);
    is_empty = is_empty || number(axis->dom->extent) <= 0;
  }
  values_.resize(known);
  std::vector<Expr> conditions;
  const auto demand = [&](auto& self, const Expr& given) -> void {
    if (const auto* both = given.as<And>()) return self(self, both->a), self(self, both->b);
    if (!of_reduction(given)) conditions.push_back(given);
  };
  demand(demand, realize.predicate);
  for (const auto& [condition, holds] : started.conditions) {
    demand(demand, holds ? condition : Expr(make(Not{.a = condition})));
  }
  decides_by_memory = decides_by_memory || std::ranges::any_of(conditions, reads_memory) ||
                      std::ranges::any_of(started.others, [&](const For* loop) {
                        return each_bound(loop, reads_memory);
                      });
  if (!is_empty || (started.is_shared && decides_by_memory)) return;
  start_each(started, conditions, 0);
}

void Machine::start_each(const Started& started, const std::vector<Expr>& conditions,
                         std::size_t depth) {
  const std::size_t known = values_.size();
  if (depth < started.others.size()) {
    const For& loop = *started.others[depth];
    const std::int64_t first = number(loop.min), extent = number(loop.extent);
    const std::int64_t step = number(loop.step);
    for (std::int64_t i = 0; i < extent; ++i) {
      define(loop.loop_var, {first + i * step});
      start_each(started, conditions, depth + 1);
      values_.resize(known);
    }
    return;
  }
  const Block& block = *started.realize->block;
  for (const Expr& condition : conditions) {
    if (number(condition) == 0) return;
  }
  for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& axis = *block.iter_vars[i];
    const bool reduces = axis.iter_type == IterType::comm_reduce;
    define(axis.var, evaluate(reduces ? axis.dom->min : started.realize->iter_values[i]));
  }
  for (const auto& matched : block.match_buffers) match_buffer(*matched);
  do_stmt(block.init);
  values_.resize(known);
}

bool Machine::drives_reduction(const For& loop) {
  const auto [entry, is_new] = reductions_.try_emplace(&loop, false);
  if (!is_new) return entry->second;
  std::vector<Ptr<Var>> driven = {loop.loop_var};
  pre_order_visit(loop.body, [&](const Ref& ref) {
    const auto* realize = ref.as<BlockRealize>();
    if (!realize) return true;
    for (std::size_t i = 0; i < realize->iter_values.size(); ++i) {
      const Expr& value = realize->iter_values[i];
      const auto is_used = [&](const Ptr<Var>& var) { return uses_variable(value, var); };
      if (!std::ranges::any_of(driven, is_used)) continue;
      const IterVar& axis = *realize->block->iter_vars[i];
      driven.push_back(axis.var);
      if (realize->block->init && axis.iter_type == IterType::comm_reduce) entry->second = true;
    }
    return true;
  });
  return entry->second;
}

}  // namespace loopsmith::judge
