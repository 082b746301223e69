// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/empty_reductions.h"

#include <algorithm>

#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::arith {

std::optional<EmptyInit> init_of_nothing(const BlockRealize& realize,
                                         std::span<const PathStep> path) {
  if (unsure_domains(*realize.block, {}).empty()) return {};
  const auto reduces = [&](const PathStep& step) {
    return step.loop && is_reduction_loop(realize, step.loop->loop_var);
  };
  const auto outermost = std::ranges::find_if(path, reduces);
  if (outermost == path.end()) return {};
  const std::span<const PathStep> inside(outermost, path.end());

  std::vector<const For*> reductions, others;
  VarSet dropped;
  for (const PathStep& step : inside) {
    if (!step.loop) continue;
    (reduces(step) ? reductions : others).push_back(step.loop);
    if (reduces(step)) dropped.insert(step.loop->loop_var.get());
  }
  std::vector<Expr> conditions;
  const auto demand = [&](const Expr& given) {
    for (const Expr& each : conjuncts(given)) {
      if (!uses_any(each, dropped)) conditions.push_back(each);
    }
  };
  demand(realize.predicate);
  for (const PathStep& step : inside) {
    if (step.condition.defined()) demand(step.condition);
  }
  std::vector<Expr> extents = unsure_domains(*realize.block, first_values(reductions));
  Expr condition = is_empty(extents);
  for (const Expr& each : conditions) condition = condition && each;
  Stmt nest = init_block(realize, condition);
  for (std::size_t i = others.size(); i-- > 0;) {
    For loop = *others[i];
    loop.body = std::move(nest);
    nest = make(std::move(loop));
  }
  if (uses_any(nest, dropped)) return {};
  // The init itself may read memory: it runs at its place. What decides whether it runs may not.
  const bool is_shared = std::ranges::any_of(
      inside, [](const PathStep& step) { return !step.loop && !step.condition.defined(); });
  const auto reads = [](const For* loop) {
    return reads_memory(loop->min) || reads_memory(loop->extent);
  };
  if (is_shared && (reads_memory(condition) || std::ranges::any_of(others, reads))) return {};
  return EmptyInit{outermost->loop, clone_with(nest, {}), std::move(others), std::move(conditions),
                   std::move(extents)};
}

Stmt EmptyReductions::before(const For& loop, const std::unordered_set<const Block*>& others) {
  if (!nested_.contains(&loop)) {
    Path path;
    enter(loop, path);
  }
  Stmt all;
  const auto found = inits_.find(&loop);
  if (found == inits_.end()) return all;
  for (const auto& [block, init] : found->second) {
    if (!others.contains(block)) all = all ? seq({all, init}) : init;
  }
  return all;
}

std::optional<std::pair<const For*, Stmt>> EmptyReductions::init_of(const Block& block) const {
  for (const auto& [loop, inits] : inits_) {
    for (const auto& [started, init] : inits) {
      if (started == &block) return {{loop, init}};
    }
  }
  return {};
}

Ptr<Block> EmptyReductions::started_by(const Block& init) const {
  const auto found =
      std::ranges::find_if(started_, [&](const auto& one) { return one.first.get() == &init; });
  return found == started_.end() ? Ptr<Block>() : found->second;
}

Ptr<Var> EmptyReductions::copied_from(const For& loop) const {
  const auto found = copied_.find(loop.loop_var.get());
  return found == copied_.end() ? Ptr<Var>() : found->second;
}

void EmptyReductions::enter(const For& loop, Path& path) {
  path.push_back({.loop = &loop});
  follow(loop.body, path);
  path.pop_back();
}

void EmptyReductions::follow(const Stmt& stmt, Path& path) {
  if (const auto* loop = stmt.as<For>()) {
    nested_.insert(loop);
    deep_call([&] { enter(*loop, path); });
  } else if (const auto* sequence = stmt.as<SeqStmt>()) {
    path.emplace_back();
    for (const Stmt& part : sequence->seq) follow(part, path);
    path.pop_back();
  } else if (const auto* branch = stmt.as<IfThenElse>()) {
    path.push_back({.condition = branch->condition});
    deep_call([&] { follow(branch->then_case, path); });
    path.back().condition = !branch->condition;
    if (branch->else_case) deep_call([&] { follow(branch->else_case, path); });
    path.pop_back();
  } else if (const auto* realize = stmt.as<BlockRealize>()) {
    if (realize->block->init) add_init(*realize, path);
  }
}

void EmptyReductions::add_init(const BlockRealize& realize, std::span<const PathStep> path) {
  std::optional<EmptyInit> found = init_of_nothing(realize, path);
  // Of two versions of a program, both may hold the loop.
  if (!found || !made_.emplace(found->outermost, realize.block.get()).second) return;
  const Stmt* made = &found->init;
  for (const For* loop : found->loops) {
    const auto* copy = made->as<For>();
    copied_.emplace(copy->loop_var.get(), loop->loop_var);
    made = &copy->body;
  }
  started_.emplace_back(made->as<BlockRealize>()->block, realize.block);
  inits_[found->outermost].emplace_back(realize.block.get(), found->init);
}

}  // namespace loopsmith::arith
