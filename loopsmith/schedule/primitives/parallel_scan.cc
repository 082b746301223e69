// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/parallel_scan.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/rewrites/edits.h"
#include "loopsmith/schedule/rewrites/iteration_dimension.h"
#include "loopsmith/schedule/rewrites/scan_parts.h"

namespace loopsmith {
namespace {

/// A buffer that the recurrence reads, or another statement uses of its values, and that the loop
/// writes at another time.
std::optional<Ptr<Buffer>> changed_input(const ParallelScanPlan& plan) {
  const Recurrence& recurrence = plan.recurrence;
  const auto is_written = [&](const Ptr<Buffer>& buffer) {
    return std::ranges::any_of(plan.stores, [&](const Stmt& stmt) {
      return stmt.as<BufferStore>()->buffer->data.same_as(buffer->data);
    });
  };
  Analyzer analyzer;
  const auto is_own_element = [&](const BufferLoad& load) {
    return load.buffer.same_as(recurrence.buffer) && !recurrence.is_in_place &&
           std::ranges::equal(load.indices, recurrence.indices, [&](const Expr& a, const Expr& b) {
             return analyzer.can_prove_equal(a, b);
           });
  };
  std::optional<Ptr<Buffer>> found;
  const auto look = [&](const Ref& root) {
    pre_order_visit(root, [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      if (load && is_written(load->buffer) && !is_own_element(*load)) found = load->buffer;
      return !found;
    });
  };
  look(recurrence.operand);
  if (recurrence.factor.defined()) look(recurrence.factor);
  for (std::size_t i = 0; i < plan.stores.size(); ++i) {
    const auto& store = *plan.stores[i].as<BufferStore>();
    const bool is_another = i != recurrence.statement;
    if (is_another && store.buffer->data.same_as(recurrence.buffer->data)) return store.buffer;
    if (!is_another || !recurrence.is_in_place) continue;
    // Another element of what holds the values is not kept with them.
    std::vector<Expr> parts = store.indices;
    parts.push_back(store.value);
    for (const Expr& part : parts) {
      pre_order_visit(with_state(part, recurrence, recurrence.state), [&](const Ref& ref) {
        const auto* load = ref.as<BufferLoad>();
        if (load && load->buffer->data.same_as(recurrence.buffer->data)) found = load->buffer;
        return !found;
      });
    }
  }
  return found;
}

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

/// The loops over parts: of the totals, of what parts start with, of the parts.
Handles<LoopRV> cut_into_parts(Schedule& schedule, const ParallelScanPlan& plan) {
  const BlockRV block = block_around_or_root(schedule, schedule.node(plan.loop));
  const NodeId node = schedule.node(plan.loop);
  const std::uint32_t function = schedule.function_of(node);
  const For& loop = schedule.get(plan.loop);
  const Expr extent = loop.extent;
  const Expr starts = plan.guard.defined()
                          ? Analyzer().simplify(substitute(plan.guard, {{loop.loop_var, loop.min}}))
                          : Expr(true);
  const SpanScope span(schedule.span_from(schedule.get(plan.loop).span));
  ScanParts made =
      scan_parts(schedule, plan.loop, plan.recurrence, plan.guard, plan.stores, plan.length);
  std::vector<Stmt> all{made.totals, made.carries, made.parts};
  if (made.last.defined()) all.push_back(made.last);
  Stmt result = seq(std::move(all));
  const std::int64_t* constant = as_int(extent);
  // Without iterations, there is no value to start with.
  const bool runs = constant && *constant > 0;
  const Expr condition = runs ? starts : extent > int_imm(extent.dtype(), 0) && starts;
  if (!is_const_int(condition, 1)) {
    result = make(IfThenElse{.condition = condition, .then_case = std::move(result)});
  }
  schedule.replace(node, std::move(result));
  for (const Ptr<Buffer>& buffer : made.buffers) allocate_in(schedule, block, buffer);
  Handles<LoopRV> loops;
  for (const Ptr<Var>& variable : made.loops)
    loops.push_back(loop_of_var(schedule, function, variable));
  return loops;
}

}  // namespace

Planned<ParallelScanPlan> plan_parallel_scan(const Schedule& schedule,
                                             const ParallelScanArguments& arguments) {
  const Argument handle(arguments.loop);
  if (auto refusal = refuse_unless_plain(schedule, arguments.loop)) return *std::move(refusal);
  if (auto refusal = refuse_unless_bounds_stay(schedule, arguments.loop)) {
    return *std::move(refusal);
  }
  if (arguments.length < 1 || arguments.length > 16777216) {
    return Refusal{&part_length_is_positive, {handle, Argument(arguments.length)}};
  }
  const For& loop = schedule.get(arguments.loop);
  const NodeId node = schedule.node(arguments.loop), scope = scope_of(schedule, node);
  for (const Expr* bound : {&loop.min, &loop.extent, &loop.step}) {
    if (!is_known_at(schedule, scope, node, *bound)) {
      return Refusal{&extent_is_known_around, {handle}};
    }
  }
  GuardedBody body = body_of_beginning(loop);
  auto stores = stores_of(body.body);
  if (!stores || has_calls_with_effects(*stores)) return Refusal{&body_is_of_stores, {handle}};
  auto recurrence = recurrence_of(loop, *stores);
  if (!recurrence) return Refusal{&loop_has_a_recurrence, {handle}};
  ParallelScanPlan plan{arguments.loop, arguments.length, std::move(body.guard), *std::move(stores),
                        *std::move(recurrence)};
  const Argument buffer(plan.recurrence.buffer->name);
  if (!plan.recurrence.operand.defined()) return Refusal{&recurrence_is_associative, {buffer}};
  if (const auto changed = changed_input(plan)) {
    return Refusal{&recurrence_inputs_stay, {handle, Argument((*changed)->name)}};
  }
  const bool rounds = plan.recurrence.buffer->dtype.is_float();
  const Combiner extremes[] = {Combiner::minimum, Combiner::maximum, Combiner::smaller,
                               Combiner::larger};
  const bool is_extreme =
      plan.recurrence.combiner &&
      std::ranges::find(extremes, *plan.recurrence.combiner) != std::end(extremes);
  if (rounds && !is_extreme) plan.reordered_reduction = buffer;
  Schedule after = schedule.snapshot();
  const Handles<LoopRV> loops = cut_into_parts(after, plan);
  for (const LoopRV each : {loops[0], loops[2]}) {
    const auto planned = plan_parallel(after, {.loop = each});
    if (const auto* refusal = std::get_if<Refusal>(&planned)) {
      return in_terms_of(arguments.loop, *refusal);
    }
  }
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
