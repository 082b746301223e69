// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/rfactor_nests.h"

#include <algorithm>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/result_preservation.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/rewrites/replacement.h"

namespace loopsmith {
namespace {

Stmt block_with(const Block& like, Stmt body, const BlockRealize& realize,
                const Substitution& loops) {
  Block block = like;
  block.body = std::move(body);
  AccessRegions regions = access_regions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  BlockRealize made{.predicate = substitute(realize.predicate, loops),
                    .block = make(std::move(block))};
  for (const Expr& value : realize.iter_values) {
    made.iter_values.push_back(substitute(value, loops));
  }
  return make(std::move(made));
}

}  // namespace

Stmt nest_of_partial_results(const Schedule& schedule, const FactoredNest& factored,
                             const std::function<std::string(std::string_view)>& fresh_name,
                             const std::function<Stmt(const Substitution&)>& block) {
  Substitution loops;
  std::vector<For> copies;
  for (const LoopRV handle : factored.path) {
    For copy = schedule.get(handle);
    const Ptr<Var> renewed = var(fresh_name(copy.loop_var->name), copy.loop_var->dtype);
    copy.min = substitute(copy.min, loops);
    copy.extent = substitute(copy.extent, loops);
    loops[copy.loop_var] = renewed;
    copy.loop_var = renewed;
    copies.push_back(std::move(copy));
  }
  Stmt nest = block(loops);
  for (std::size_t i = copies.size(); i-- > 0;) {
    copies[i].body = std::move(nest);
    nest = make(std::move(copies[i]));
  }
  return nest;
}

Exchange nest_of_combination(const Schedule& schedule, const FactoredNest& factored, Stmt inner) {
  const NodeId top = schedule.node(factored.path[0]);
  NodeId outermost = schedule.node(factored.block);
  while (outermost != top && schedule.as<For>(schedule.at(outermost).parent)) {
    outermost = schedule.at(outermost).parent;
    const LoopRV handle = schedule.loop_at(outermost);
    if (std::ranges::find(factored.dropped, handle) != factored.dropped.end()) continue;
    For kept = schedule.get(handle);
    kept.body = std::move(inner);
    inner = make(std::move(kept));
  }
  return {outermost, std::move(inner)};
}

std::optional<Refusal> refuse_updates_in_parts(const Schedule& schedule,
                                               const FactoredNest& factored,
                                               const KnownReduction& reduction) {
  const BlockRealize& realize = schedule.realize(factored.block);
  const Block& block = *realize.block;
  std::vector<Expr> shape, element;
  Substitution renewed;
  Block values{.name_hint = block.name_hint};
  for (const auto& axis : block.iter_vars) {
    IterVar copy = *axis;
    copy.var = var(axis->var->name, axis->var->dtype);
    copy.iter_type = IterType::data_par;
    renewed[axis->var] = copy.var;
    values.iter_vars.push_back(make(std::move(copy)));
    shape.push_back(axis->dom->min + axis->dom->extent);
    element.push_back(axis->var);
  }
  const Ptr<Buffer>& result = reduction.buffers[0];
  const Ptr<Buffer> memory = decl_buffer(shape, result->dtype, result->name + "_values");
  const Stmt value = store(memory, reduction.sources[0], element);
  const auto combination =
      combined(reduction, {load(result, reduction.indices)}, {load(memory, element)});
  const Stmt update =
      block_with(block, store(result, combination[0], reduction.indices), realize, {});
  const Stmt first = block_with(values, clone_with(value, renewed), realize, {});

  Stmt inner = update;
  for (std::size_t i = factored.dropped.size(); i-- > 0;) {
    For loop = schedule.get(factored.dropped[i]);
    loop.body = std::move(inner);
    inner = make(std::move(loop));
  }
  const auto exchange = nest_of_combination(schedule, factored, std::move(inner));
  const Stmt nest = nest_of_partial_results(
      schedule, factored, [](std::string_view name) { return std::string(name); },
      [&](const Substitution& loops) {
        const auto& made = *first.as<BlockRealize>();
        return block_with(*made.block, made.block->body, made, loops);
      });

  const NodeId scope = scope_of(schedule, schedule.node(factored.block));
  const Stmt& body = body_of_scope(schedule, scope);
  const Stmt written = with_replaced(body, {{&realize, make(SeqStmt{.seq = {first, update}})}});
  const Stmt& top = schedule.statement(schedule.node(factored.path[0]));
  const Stmt rest = with_replaced(top, {{schedule.statement(exchange.old).get(), exchange.by}});
  const Stmt after = with_replaced(body, {{top.get(), make(SeqStmt{.seq = {nest, rest}})}});
  return refuse_changed_results(schedule, scope, written, after);
}

}  // namespace loopsmith
