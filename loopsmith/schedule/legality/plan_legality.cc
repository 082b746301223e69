// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/plan_legality.h"

#include <algorithm>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/ir/live_values.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/block_order.h"
#include "loopsmith/schedule/legality/common_updates.h"
#include "loopsmith/schedule/legality/concurrent_loops.h"
#include "loopsmith/schedule/legality/dependence_cache.h"
#include "loopsmith/schedule/legality/private_memory.h"
#include "loopsmith/schedule/legality/reassociation.h"
#include "loopsmith/schedule/legality/recurrence_inputs.h"
#include "loopsmith/schedule/legality/regroupings.h"
#include "loopsmith/schedule/legality/shared_tiles.h"
#include "loopsmith/schedule/legality/statement_order.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"
#include "loopsmith/schedule/queries/jumps.h"
#include "loopsmith/schedule/queries/path_condition.h"

namespace loopsmith {

// ---- Statements ----

std::optional<Refusal> refuse_by_order(const Schedule& schedule, DistributePlan& plan) {
  OrderAnswer obstacle;
  for (std::size_t i = 1; i < plan.parts.size(); ++i) {
    OrderAnswer answer = may_distribute(schedule, plan.loop, plan.parts[i]);
    if (answer.is_proved()) {
      plan.cuts.push_back(i);
    } else if (i == 1 || answer.kind == OrderAnswer::Kind::violated) {
      obstacle = std::move(answer);
    }
  }
  if (!plan.cuts.empty()) return {};
  if (obstacle.kind == OrderAnswer::Kind::violated) {
    return changed_results(distribution_changes_order, {Argument(plan.loop)},
                           std::move(obstacle.witness));
  }
  return changed_results(distribution_is_unknown, {Argument(plan.loop), Argument(obstacle.why)});
}

std::optional<Refusal> refuse_by_order(const Schedule& schedule, ReorderStatementsPlan& plan) {
  const std::vector<Stmt>& all = schedule.as<SeqStmt>(plan.sequence)->seq;
  const Stmt& statement = all[plan.from];
  for (std::uint32_t i = std::min(plan.from, plan.to); i <= std::max(plan.from, plan.to); ++i) {
    if (i == plan.from) continue;
    const Stmt& other = all[i];
    OrderAnswer answer = i < plan.from ? may_exchange(schedule, plan.sequence, other, statement)
                                       : may_exchange(schedule, plan.sequence, statement, other);
    if (answer.kind == OrderAnswer::Kind::violated) {
      return changed_results(statements_need_their_order, {plan.moved, Argument(Ref(other))},
                             std::move(answer.witness));
    }
    if (answer.kind == OrderAnswer::Kind::unknown) {
      return changed_results(statement_order_is_unknown,
                             {plan.moved, Argument(Ref(other)), Argument(answer.why)});
    }
    if (answer.reorders_updates) {
      plan.reordered_reduction = rounding_reduction_inside(schedule, plan.sequence);
    }
  }
  return {};
}

// ---- Loops ----

std::optional<Refusal> refuse_by_order(const Schedule& schedule, ReorderPlan& plan) {
  if (plan.band.empty()) return {};
  OrderAnswer verdict;
  if (plan.shape.is_as_it_is()) {
    verdict = may_reorder(schedule, plan.band, plan.order);
  } else {
    Schedule shaped = schedule.snapshot();
    take_shape(shaped, plan.band, plan.shape);
    verdict = may_reorder(shaped, plan.band, plan.order);
  }
  if (verdict.kind == OrderAnswer::Kind::violated) {
    return changed_results(order_would_change, {Argument(plan.named[0])},
                           std::move(verdict.witness));
  }
  if (verdict.kind == OrderAnswer::Kind::unknown && !plan.assume_independent) {
    return changed_results(order_is_unknown, {to_argument(plan.named), Argument(verdict.why)});
  }
  plan.is_assumed = !verdict.is_proved();
  plan.reordered_reduction = verdict.reorders_updates
                                 ? rounding_reduction_inside(schedule, schedule.node(plan.band[0]))
                                 : reordered_reduction(schedule, plan.band, plan.order);
  return {};
}

std::optional<Refusal> refuse_by_order(const Schedule& schedule, MergePlan& plan) {
  for (auto& [first, second, answer] : may_merge(schedule, plan.nests)) {
    const Argument before(plan.named[first]), behind(plan.named[second]);
    if (answer.kind == OrderAnswer::Kind::violated) {
      return changed_results(merging_changes_order, {behind, before}, std::move(answer.witness));
    }
    if (answer.kind == OrderAnswer::Kind::unknown && !plan.assume_independent) {
      return changed_results(merging_is_unknown, {before, behind, Argument(answer.why)});
    }
  }
  return {};
}

namespace {

/// Where the statements between the loops go: first those before them, then the loops, then the
/// others. The statement that can go nowhere, where there is one.
std::optional<Stmt> bring_together(const Schedule& schedule, MergeSiblingsPlan& plan) {
  const std::vector<Stmt>& all = schedule.as<SeqStmt>(plan.sequence)->seq;
  std::vector<std::uint32_t> slots, before, after;
  for (const LoopRV loop : plan.loops) slots.push_back(schedule.at(schedule.node(loop)).slot);
  const auto may_change = [&](std::uint32_t first, std::uint32_t second) {
    return may_exchange(schedule, plan.sequence, all[first], all[second]).is_proved();
  };
  for (std::uint32_t i = slots.front() + 1; i < slots.back(); ++i) {
    if (std::ranges::find(slots, i) != slots.end()) continue;
    if (jump_out_of(all[i])) return all[i];
    const auto passes = [&](std::uint32_t other) {
      return other < i ? may_change(other, i) : may_change(i, other);
    };
    const auto next = std::ranges::lower_bound(slots, i);
    if (std::all_of(slots.begin(), next, passes) && std::ranges::all_of(after, passes)) {
      before.push_back(i);
    } else if (std::all_of(next, slots.end(), passes)) {
      after.push_back(i);
    } else {
      return all[i];
    }
  }
  for (std::uint32_t i = 0; i < slots.front(); ++i) plan.order.push_back(i);
  plan.order.insert(plan.order.end(), before.begin(), before.end());
  plan.first_slot = static_cast<std::uint32_t>(plan.order.size());
  plan.order.insert(plan.order.end(), slots.begin(), slots.end());
  plan.order.insert(plan.order.end(), after.begin(), after.end());
  for (std::uint32_t i = slots.back() + 1; i < all.size(); ++i) plan.order.push_back(i);
  return {};
}

}  // namespace

std::optional<Refusal> refuse_by_order(const Schedule& schedule, MergeSiblingsPlan& plan) {
  if (const auto obstacle = bring_together(schedule, plan)) {
    return changed_results(siblings_can_be_adjacent, {Argument(Ref(*obstacle))});
  }
  Schedule arranged = schedule.snapshot();
  arrange_siblings(arranged, plan);
  auto merging = plan_merge(arranged, {.loops = plan.loops});
  if (auto* refusal = std::get_if<Refusal>(&merging)) return std::move(*refusal);
  return refuse_by_order(arranged, std::get<MergePlan>(merging));
}

std::optional<Refusal> refuse_by_order(const Schedule& schedule, ExpandScalarPlan& plan) {
  // What is declared in the loop is new in each iteration: no iteration finds values of another.
  if (is_inside(schedule, plan.allocated.owner, schedule.node(plan.loop))) return {};
  const NodeId nest = whole_nest(schedule, schedule.node(plan.loop));
  const Ptr<Buffer>& buffer = plan.allocated.buffer;
  Dependences dependences(under_path_condition(schedule, nest), {.local_buffers = {buffer}});
  if (dependences.may_be_private(schedule.get(plan.loop).loop_var, buffer)) return {};
  return changed_results(iterations_write_first, {Argument(plan.loop), Argument(Ref(buffer))});
}

std::optional<Refusal> refuse_by_order(const Schedule& schedule, PrivatizePlan& plan) {
  if (plan.updated.empty()) {
    for (const Ptr<Buffer>& buffer : updated_in_common(schedule, plan.loop)) {
      auto found = updated_buffer(schedule, plan.loop, buffer);
      if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
      plan.updated.push_back(std::get<UpdatedBuffer>(std::move(found)));
    }
    if (plan.updated.empty()) return Refusal{&loop_updates_in_common, {Argument(plan.loop)}};
  }
  for (UpdatedBuffer& one : plan.updated) {
    one.may_be_unset = !schedule.as<PrimFunc>(one.owner) &&
                       !is_set_before(schedule, plan.loop, one.owner, one.buffer);
    const bool rounds = one.combiner == Combiner::sum || one.combiner == Combiner::product;
    if (rounds && one.buffer->dtype.is_float()) {
      plan.reordered_reduction = Argument(one.buffer->name);
    }
  }
  return {};
}

namespace {

constexpr ResultChange kept_value_is_set{
    LegalityQuestion::cover, false,
    "iterations of loop {} may keep what {} holds, which nothing is certain to set before",
    "store to it before the loop"};

/// True when a loop stores to a variable under conditions, and what reads it first `after` the step
/// may find that nothing has set it: parts of a scan hand on what the loop leaves alone.
bool may_keep_nothing(const Schedule& schedule, LoopRV loop, const Ptr<Buffer>& buffer,
                      const Schedule& after) {
  const NodeId owner = owner_of(schedule, schedule.node(loop), buffer);
  const auto* realize = owner == no_node ? nullptr : after.as<BlockRealize>(owner);
  if (!realize || !has_one_element(*buffer)) return false;
  bool is_conditional = false;
  pre_order_visit(schedule.get(loop).body, [&](const Ref& ref) {
    if (!ref.is<IfThenElse>()) return !is_expr(*ref.get());
    pre_order_visit(ref, [&](const Ref& inner) {
      const auto* store = inner.as<BufferStore>();
      is_conditional = is_conditional || (store && store->buffer.same_as(buffer));
      return !is_conditional;
    });
    return false;
  });
  return is_conditional && is_live_before(realize->block->body, buffer);
}

/// True when nothing can have stored to a buffer before a loop starts: all that stores to its
/// memory is in that loop, which runs once where the buffer is allocated.
bool is_unset_before(const Schedule& schedule, LoopRV loop, const Ptr<Buffer>& buffer) {
  const NodeId node = schedule.node(loop), owner = owner_of(schedule, node, buffer);
  const auto* realize = owner == no_node ? nullptr : schedule.as<BlockRealize>(owner);
  if (!realize || realize->block->init) return false;
  for (NodeId at = schedule.at(node).parent; at != owner; at = schedule.at(at).parent) {
    if (schedule.as<For>(at) || schedule.as<While>(at)) return false;
  }
  const BufferAccesses uses = uses_of(schedule, owner, buffer);
  bool is_stored = !uses.by_indices_alone() || uses.by_callee;
  pre_order_visit(realize->block->body, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    is_stored = is_stored || (store && store->buffer->data.same_as(buffer->data));
    return !is_stored && ref.get() != schedule.at(node).object;
  });
  return !is_stored;
}

}  // namespace

std::optional<Refusal> refuse_by_order(const Schedule& schedule, ParallelScanPlan& plan) {
  if (const auto changed = changed_input(plan.recurrence, plan.stores)) {
    return changed_results(recurrence_inputs_stay,
                           {Argument(plan.loop), Argument((*changed)->name)});
  }
  for (CarriedValue& carried : plan.recurrence.carried) {
    carried.is_unset = is_unset_before(schedule, plan.loop, carried.buffer);
  }
  Schedule after = schedule.snapshot();
  const Handles<LoopRV> loops = cut_into_parts(after, plan);
  for (const CarriedValue& carried : plan.recurrence.carried) {
    if (may_keep_nothing(schedule, plan.loop, carried.buffer, after)) {
      return changed_results(kept_value_is_set,
                             {Argument(plan.loop), Argument(carried.buffer->name)});
    }
  }
  for (const LoopRV each : {loops[0], loops[2]}) {
    if (auto refusal = parallel.refusal_of(after, {.loop = each})) {
      return in_terms_of(plan.loop, *std::move(refusal));
    }
  }
  return {};
}

std::optional<Refusal> refuse_by_order(const Schedule& schedule, PeelPlan& plan) {
  plan.own = memory_of_iterations(schedule, plan.loop);
  return {};
}

std::optional<Refusal> refuse_by_order(const Schedule& schedule, InspectSplitPlan& plan) {
  if (schedule.get(plan.loop).kind != ForKind::parallel) return {};
  // What a step records is a matter of the program, not of what was asked about it before.
  Schedule unknown = schedule.snapshot();
  unknown.known_facts().clear();
  plan.has_own_elements =
      carried_by(unknown, plan.loop, Concurrency::in_threads).verdict.is_proved();
  return {};
}

// ---- Blocks ----

std::optional<Refusal> refuse_by_order(const Schedule& schedule, TransformBlockLayoutPlan& plan) {
  if (axes_are_injective(schedule, plan.block)) return {};
  return changed_results(instances_may_depend, {Argument(plan.block)});
}

std::optional<Refusal> refuse_by_order(const Schedule& schedule, TensorizePlan& plan) {
  if (!schedule.has_concurrent_loops()) return {};
  Schedule described = schedule.snapshot();
  if (plan.enclosing) {
    insert_enclosing_block(described, EnclosingBlock(*plan.enclosing));
    if (auto conflict = refuse_new_conflicts(schedule, described, plan.loop)) return conflict;
  }
  if (!plan.made.init && !reads_what_it_writes(plan.made)) return {};
  Schedule implemented = schedule.snapshot();
  commit_tensorize(implemented, TensorizePlan(plan));
  return refuse_lost_reductions(described, implemented);
}

// ---- Iterations at once ----

namespace {

bool is_bound_to(const For* loop, std::string_view axis) {
  return loop && loop->kind == ForKind::thread_binding && loop->thread_binding->thread_tag == axis;
}

/// Refuses a thread axis that a loop around or inside the loop has, unless the threads share out
/// what the inner of the two does. `vthread` is no axis: each loop has virtual threads of its own.
std::optional<Refusal> refuse_taken_axis(const Schedule& schedule, LoopRV loop,
                                         const std::string& axis) {
  if (axis == "vthread") return {};
  const auto refusal = [&](LoopRV other) {
    return Refusal{&thread_axis_is_free, {Argument(other), Argument(axis), Argument(loop)}};
  };
  const bool are_threads = is_thread_axis(thread_axis_of(axis));
  OwnMemory memory(schedule);
  const NodeId node = schedule.node(loop);
  for (NodeId around = schedule.at(node).parent; around != no_node;
       around = schedule.at(around).parent) {
    if (!is_bound_to(schedule.as<For>(around), axis)) continue;
    const LoopRV outer = schedule.loop_at(around);
    if (!are_threads || !may_share_out(schedule, outer, loop, memory)) return refusal(outer);
  }
  std::vector<NodeId> open = {schedule.at(node).first_child};
  while (!open.empty()) {
    const NodeId inside = open.back();
    open.pop_back();
    if (inside == no_node) continue;
    open.push_back(schedule.at(inside).next);
    open.push_back(schedule.at(inside).first_child);
    if (!is_bound_to(schedule.as<For>(inside), axis)) continue;
    const LoopRV inner = schedule.loop_at(inside);
    if (!are_threads || !may_share_out(schedule, loop, inner, memory)) return refusal(inner);
  }
  return {};
}

bool is_in_lanes(const Schedule& schedule, LoopRV loop) {
  for (NodeId node = schedule.at(schedule.node(loop)).parent; node != no_node;
       node = schedule.at(node).parent) {
    const auto* around = schedule.as<For>(node);
    if (around && around->kind == ForKind::vectorized) return true;
  }
  return false;
}

constexpr ResultChange parts_are_unknown{
    LegalityQuestion::concurrency, false,
    "whether iterations of loop {} depend on each other is unknown, as {}",
    "parallelize the loop that inspect_split cuts before it is cut: its parts then run "
    "concurrently"};

/// True of the loop over the parts into which `inspect_split` cut another one.
bool is_over_parts(const Schedule& schedule, LoopRV loop) {
  for (const Step& step : schedule.steps()) {
    const auto* made =
        step.primitive == &inspect_split ? step.result.as<Argument::List>() : nullptr;
    const auto* parts = made && !made->empty() ? made->front().as<LoopRV>() : nullptr;
    if (parts && *parts == loop) return true;
  }
  return false;
}

std::optional<Refusal> refuse_as_written(const Schedule& schedule, LoopKindPlan& plan) {
  const For planned = planned_loop(schedule, plan);
  const Concurrency how = concurrency_of(planned);
  // Lanes around it were in step with its iterations.
  if (is_in_lanes(schedule, plan.loop)) {
    Schedule after = schedule.snapshot();
    commit_loop_kind(after, LoopKindPlan(plan));
    if (auto conflict = refuse_new_conflicts(schedule, after)) return conflict;
  }
  CarriedDependences carries = carried_by(schedule, plan.loop, how);
  plan.has_independent_iterations = carries.verdict.is_proved();
  const bool has_others =
      plan.is_atomic &&
      (carries.verdict.is_proved() ||
       (carries.is_reduction && !updates_atomically(schedule, plan.loop, planned)));
  if (has_others) return Refusal{&updates_can_be_atomic, {Argument(plan.loop)}};
  if (carries.verdict.is_proved()) return {};
  if (carries.is_reduction) {
    if (!may_reduce_concurrently(schedule, plan.loop, planned)) {
      const auto shared = conflicting_buffers(schedule, plan.loop, how);
      if (auto refusal = refuse_own_reads(schedule, plan.loop, shared)) return refusal;
      const bool is_axis = has_reduction_over(schedule, plan.loop);
      return changed_results(is_axis ? loop_is_reduction : updates_conflict, {Argument(plan.loop)},
                             std::move(carries.verdict.witness));
    }
    plan.reordered_reduction = rounding_reduction_inside(schedule, schedule.node(plan.loop));
    return {};
  }
  if (carries.verdict.kind == OrderAnswer::Kind::violated) {
    return changed_results(iterations_depend, {Argument(plan.loop)},
                           std::move(carries.verdict.witness));
  }
  if (plan.assume_independent) return {};
  return changed_results(
      is_over_parts(schedule, plan.loop) ? parts_are_unknown : dependence_is_unknown,
      {Argument(plan.loop), Argument(carries.verdict.why)});
}

/// Refuses a loop of a launch with which blocks would conflict. What is unknown is taken on trust.
std::optional<Refusal> refuse_by_blocks(const Schedule& schedule, const LoopKindPlan& plan) {
  if (!is_launch_axis(thread_axis_of(plan.thread_axis))) return {};
  Schedule after = schedule.snapshot();
  commit_loop_kind(after, LoopKindPlan(plan));
  auto refusal = block_order_conflict_around(after, plan.loop);
  if (refusal && plan.assume_independent && !refusal->change->is_known) return {};
  return refusal;
}

}  // namespace

std::optional<Refusal> refuse_by_order(const Schedule& schedule, LoopKindPlan& plan) {
  if (plan.kind == ForKind::unrolled) return {};
  if (plan.kind == ForKind::thread_binding) {
    if (auto refusal = refuse_taken_axis(schedule, plan.loop, plan.thread_axis)) return refusal;
  }
  auto refusal = refuse_as_written(schedule, plan);
  if (!refusal) return refuse_by_blocks(schedule, plan);
  // Branches that are updates may help.
  Schedule selecting = schedule.snapshot();
  if (!write_selections(selecting, selecting.node(plan.loop))) return refusal;
  LoopKindPlan again = plan;
  again.assume_independent = false;
  again.selects = true;
  if (refuse_as_written(selecting, again)) return refusal;
  plan = std::move(again);
  return refuse_by_blocks(schedule, plan);
}

std::optional<Refusal> refuse_by_order(const Schedule& schedule, HoistFactorPlan& plan) {
  if (auto refusal = refuse_terms_of_results(schedule, plan.outermost, plan.block)) return refusal;
  return refuse_mixed_reductions(schedule, plan.outermost, plan.block);
}

std::optional<Refusal> refuse_by_order(const Schedule& schedule, MergeOnlinePlan& plan) {
  std::vector<BlockRV> blocks{plan.maximum};
  for (const OnlineSums::Sum& sum : plan.sums.sums()) blocks.push_back(sum.block);
  for (const BlockRV block : blocks) {
    if (auto refusal = refuse_terms_of_results(schedule, plan.loops[0], block)) return refusal;
  }
  for (const BlockRV block : blocks) {
    const auto loop = std::ranges::find_if(plan.loops, [&](LoopRV each) {
      return is_inside(schedule, schedule.node(block), schedule.node(each));
    });
    if (auto refusal = refuse_mixed_reductions(schedule, *loop, block)) return refusal;
  }
  return {};
}

}  // namespace loopsmith
