// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/parallel_scan.h"

#include <algorithm>
#include <utility>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/rewrites/edits.h"
#include "loopsmith/schedule/rewrites/iteration_dimension.h"
#include "loopsmith/schedule/rewrites/scan_parts.h"

namespace loopsmith {
namespace {

bool has_calls_with_effects(const std::vector<Stmt>& stores) {
  bool found = false;
  for (const Stmt& stmt : stores) {
    pre_order_visit(stmt, [&](const Ref& ref) {
      const auto* call = ref.as<Call>();
      found = found || (call && call->op.info().effect == Effect::updates);
      return !found;
    });
  }
  return found;
}

/// Puts a statement into a block that allocates buffers.
Stmt with_buffers(Schedule& schedule, std::uint32_t function, Stmt stmt,
                  const std::vector<Ptr<Buffer>>& buffers) {
  Block block{.name_hint = schedule.fresh_block_name(function, "scan"),
              .alloc_buffers = buffers,
              .body = std::move(stmt)};
  AccessRegions regions = access_regions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  return make(BlockRealize{.block = make(std::move(block))});
}

}  // namespace

Handles<LoopRV> cut_into_parts(Schedule& schedule, const ParallelScanPlan& plan) {
  const BlockRV block = block_around_or_root(schedule, schedule.node(plan.loop));
  const NodeId node = schedule.node(plan.loop);
  const std::uint32_t function = schedule.function_of(node);
  For loop = schedule.get(plan.loop);
  const SpanScope span(schedule.span_from(loop.span));
  // Sizes of what is allocated are no reads of memory.
  std::vector<std::pair<Ptr<Var>, Expr>> names;
  bool is_known_around = true;
  for (Expr* bound : {&loop.min, &loop.extent, &loop.step}) {
    is_known_around = is_known_around && is_known_at(schedule, schedule.node(block), node, *bound);
    if (!reads_memory(*bound)) continue;
    const Ptr<Var> name = var(loop.loop_var->name + "_bound", bound->dtype());
    names.emplace_back(name, std::exchange(*bound, name));
  }
  const Expr starts = plan.guard.defined()
                          ? Analyzer().simplify(substitute(plan.guard, {{loop.loop_var, loop.min}}))
                          : Expr(true);
  ScanParts made = scan_parts(schedule, function, loop, plan.recurrence, plan.guard, plan.stores,
                              plan.length, plan.tile);
  std::vector<Stmt> all{made.totals, made.carries, made.parts};
  if (made.last.defined()) all.push_back(made.last);
  Stmt result = seq(std::move(all));
  if (!is_known_around) result = with_buffers(schedule, function, std::move(result), made.buffers);
  const std::int64_t* constant = as_int(loop.extent);
  // Without iterations, there is no value to start with.
  const bool runs = constant && *constant > 0;
  const Expr condition = runs ? starts : loop.extent > int_imm(loop.extent.dtype(), 0) && starts;
  if (!is_const_int(condition, 1)) {
    result = make(IfThenElse{.condition = condition, .then_case = std::move(result)});
  }
  for (std::size_t i = names.size(); i-- > 0;) {
    result =
        make(LetStmt{.value = names[i].second, .var = names[i].first, .body = std::move(result)});
  }
  schedule.replace(node, std::move(result));
  if (is_known_around) {
    for (const Ptr<Buffer>& buffer : made.buffers) allocate_in(schedule, block, buffer);
  }
  return loops_of_vars(schedule, function, made.loops);
}

Planned<ParallelScanPlan> plan_parallel_scan(const Schedule& schedule,
                                             const ParallelScanArguments& arguments) {
  const Argument handle(arguments.loop);
  if (auto refusal = refuse_unless_plain(schedule, arguments.loop)) return *std::move(refusal);
  if (auto refusal = refuse_unless_bounds_stay(schedule, arguments.loop)) {
    return *std::move(refusal);
  }
  if (arguments.length < 1 || arguments.length > 16777216) {
    return Refusal{
        &number_is_in_range,
        {Argument("length"), Argument(arguments.length), Argument(1), Argument(16777216)}};
  }
  if (arguments.tile < 0 || arguments.tile > 1024) {
    return Refusal{&number_is_in_range,
                   {Argument("tile"), Argument(arguments.tile), Argument(0), Argument(1024)}};
  }
  const For& loop = schedule.get(arguments.loop);
  GuardedBody body = body_of_beginning(loop);
  auto stored = stored_body_of(body.body);
  if (!stored || has_calls_with_effects(stored->stores)) {
    return Refusal{&body_is_of_stores, {handle}};
  }
  if (arguments.reducer) {
    stored->reducer = Ptr<CommReducer>::from(arguments.reducer->value);
    if (!stored->reducer.defined()) return Refusal{&reducer_is_a_reducer, {}};
  }
  auto recurrence = recurrence_of(loop, stored->stores, stored->reducer);
  if (!recurrence) return Refusal{&loop_has_a_recurrence, {handle}};
  ParallelScanPlan plan{arguments.loop,        arguments.length,          arguments.tile,
                        std::move(body.guard), std::move(stored->stores), *std::move(recurrence)};
  const Argument buffer(plan.recurrence.carried[0].buffer->name);
  if (!plan.recurrence.composition) {
    return Refusal{
        stored->reducer.defined() ? &recurrence_is_of_reducer : &recurrence_is_associative,
        {buffer}};
  }
  if (plan.recurrence.composition->rounds) plan.reordered_reduction = buffer;
  const bool needs_values_before = plan.recurrence.statement > 0;
  if (plan.tile > 0 && needs_values_before) return Refusal{&tiles_have_values_after, {handle}};
  return plan;
}

Handles<LoopRV> commit_parallel_scan(Schedule& schedule, ParallelScanPlan&& plan) {
  Handles<LoopRV> loops = cut_into_parts(schedule, plan);
  for (const LoopRV each : {loops[0], loops[2]}) {
    commit_loop_kind(schedule, {.loop = each, .kind = ForKind::parallel});
  }
  return loops;
}

}  // namespace loopsmith
