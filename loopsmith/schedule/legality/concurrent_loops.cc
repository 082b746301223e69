// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/concurrent_loops.h"

#include <fmt/format.h>

#include <algorithm>

#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/block_order.h"
#include "loopsmith/schedule/legality/private_memory.h"
#include "loopsmith/schedule/legality/regroupings.h"
#include "loopsmith/schedule/legality/shared_tiles.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/primitives/fuse.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/rfactor.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/changed_accesses.h"
#include "loopsmith/schedule/queries/changed_nests.h"
#include "loopsmith/schedule/queries/varying_loops.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// Calls `visit` for each loop that runs its iterations concurrently and stands in a nest that the
/// snapshot does not have so; stops at false.
template <class Visit>
void each_concurrent_loop(const Schedule& schedule, const Schedule* snapshot, Visit&& visit) {
  each_changed_node(schedule, snapshot, [&](NodeId node) {
    return !schedule.at(node).is_concurrent || visit(schedule.loop_at(node));
  });
}

std::string_view word_of(const For& loop) {
  if (loop.kind == ForKind::thread_binding) return loop.thread_binding->thread_tag;
  return loop.kind == ForKind::parallel ? "parallel" : "vectorized";
}

/// True when the loops that a step fuses have extents that are the same in all iterations around:
/// digits of others are no indices that lowering sees through when it asks the same again.
bool has_fixed_extents(const Schedule& before, const Step& step) {
  const auto* loops = step.arguments[0].as<Argument::List>();
  return loops && std::ranges::all_of(*loops, [&](const Argument& argument) {
           const auto* loop = argument.as<LoopRV>();
           if (!loop) return false;
           const auto around = loops_around(before, before.node(*loop));
           return std::ranges::none_of(around, [&](LoopRV outer) {
             return uses_variable(before.get(*loop).extent, before.get(outer).loop_var);
           });
         });
}

/// True when a step reorders loops that are all inside of a parallel one, and was proved to keep
/// what is accessed in its iterations. (Threads of a block wait at other places after it, and lanes
/// go through statements in another order.)
bool is_proved_inside(const Schedule& before, const Step& step, LoopRV parallel) {
  const auto* loops = step.arguments[0].as<Argument::List>();
  const auto* is_taken_on_trust = step.arguments[1].as<bool>();
  if (!loops || !is_taken_on_trust || *is_taken_on_trust) return false;
  return concurrency_of(before.get(parallel)) == Concurrency::in_threads &&
         std::ranges::all_of(*loops, [&](const Argument& argument) {
           const auto* loop = argument.as<LoopRV>();
           return loop && loop->index != parallel.index &&
                  is_inside(before, before.node(*loop), before.node(parallel));
         });
}

/// Do iterations of the loop perhaps accumulate into common elements? Not where they were proved to
/// be independent.
bool may_have_parts(const Schedule& before, const Schedule& after, LoopRV loop) {
  if (before.known_facts().has_independent_iterations(loop)) return false;
  const Concurrency how = concurrency_of(after.get(loop));
  return how == Concurrency::in_threads ||
         (how == Concurrency::in_block_threads && has_reduction_over(after, loop));
}

/// Do iterations of the loop run side by side, each loop inside in step, where such a loop has
/// other bounds in each of them?
bool may_lose_step(const For& loop) {
  return concurrency_of(loop) == Concurrency::in_lanes && has_varying_loops(loop);
}

/// Is it a matter of the loops and blocks inside whether the loop may run its iterations
/// concurrently, and not of what each iteration accesses alone?
bool rests_on_inside(const Schedule& before, const Schedule& after, LoopRV loop) {
  return may_have_parts(before, after, loop) || may_lose_step(after.get(loop)) ||
         (&before != &after && may_lose_step(before.get(loop)));
}

/// True when the last step, which led from `before` to `after`, keeps what each iteration of a loop
/// accesses.
bool keeps_accesses(const Schedule& before, const Schedule& after) {
  return after.steps().size() == before.steps().size() + 1 &&
         after.steps().back().primitive->keeps_accesses;
}

/// Does the last step, which led from `before` to `after`, leave it to each iteration of a
/// concurrent loop, one from before it, what it accesses?
///
/// Lemma. Most primitives that change no order say of themselves that they keep what each iteration
/// accesses. `fuse` runs all instances in the order that they had; `reorder` of loops inside runs
/// those of an iteration in another, in which each access finds what it found.
/// `decompose_reduction` before a loop inside of this one takes inits to an earlier place of the
/// same iteration, from where each access in it finds what it found. So two iterations conflict
/// after the step if they did before, and what one of them has for itself stays so. Where they
/// reduce, and are combined by partial results, these depend on the loops and blocks inside, and
/// are asked for again. Lanes conflict by the order of their iterations as well: they go through
/// statements together. Loops that have the same bounds in all lanes keep that order where each
/// lane keeps its own, unless an init goes to an earlier place than what another lane reads.
bool leaves_iterations(const Schedule& before, const Schedule& after, LoopRV loop) {
  if (after.steps().size() != before.steps().size() + 1) return false;  // No step as yet.
  if (rests_on_inside(before, after, loop)) return false;
  if (keeps_accesses(before, after)) return true;
  const Step& step = after.steps().back();
  if (step.primitive->name == fuse.name) return has_fixed_extents(before, step);
  if (step.primitive->name == reorder.name) return is_proved_inside(before, step, loop);
  if (step.primitive->name != decompose_reduction.name) return false;
  if (concurrency_of(after.get(loop)) == Concurrency::in_lanes) return false;
  const BlockRV block = *step.arguments[0].as<BlockRV>();
  const LoopRV inner = *step.arguments[1].as<LoopRV>();
  // Threads would have to wait between an init in shared memory and what follows it.
  const bool is_shared = std::ranges::any_of(after.get(block).writes, [](const auto& region) {
    return is_shared_by_threads(memory_scope(*region->buffer));
  });
  return !is_shared && inner.index != loop.index &&
         is_inside(after, after.node(inner), after.node(loop));
}

/// Does a block around the loop `enclosed` leave it to each iteration of a concurrent loop what it
/// accesses?
///
/// Lemma. All instances run in the order that they had, but for inits of the block inside, which go
/// to an earlier place of the same iteration of loops that are not inside of the block, from where
/// each access finds what it found. What is beside the block stays as it was.
bool block_leaves_iterations(const Schedule& before, const Schedule& after, LoopRV loop,
                             LoopRV enclosed) {
  if (rests_on_inside(before, after, loop) || loop.index == enclosed.index) return false;
  if (is_inside(before, before.node(loop), before.node(enclosed))) return false;
  // Threads would have to wait between an init in shared memory and what follows it; lanes go on
  // to what follows together.
  const bool is_in_lanes = concurrency_of(after.get(loop)) == Concurrency::in_lanes;
  const auto blocks = child_blocks(before, before.node(enclosed));
  return std::ranges::none_of(blocks, [&](BlockRV block) {
    const Block& body = before.get(block);
    return body.init && (is_in_lanes || std::ranges::any_of(body.writes, [](const auto& region) {
                           return is_shared_by_threads(memory_scope(*region->buffer));
                         }));
  });
}

/// True when one statement reads memory that another one stores to.
bool reads_what_is_stored(const Stmt& reader, const Stmt& writer) {
  std::unordered_set<const Object*> stored;
  pre_order_visit(writer, [&](const Ref& ref) {
    if (const auto* store = ref.as<BufferStore>()) stored.insert(store->buffer->data.get());
    return !is_expr(*ref.get());
  });
  bool found = false;
  pre_order_visit(reader, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    found = found || (load && stored.contains(load->buffer->data.get()));
    return !found;
  });
  return found;
}

/// Does a step leave what the iterations of a loop over threads store, and all that decides on it?
///
/// Lemma. Whether threads may share out the iterations of a loop is a matter of the statements
/// inside, of all accesses to the memory that these store to, of whether what they read is written,
/// and of the loops and conditions around. (What they read and is written in the outermost of the
/// loops over these threads, `around`, the threads have to write alike.)
bool leaves_fill(const Schedule& after, LoopRV loop, LoopRV around,
                 const ChangedAccesses& changed) {
  const NodeId node = after.node(loop);
  if (changed.are_in(after.statement(node)) ||
      reads_what_is_stored(after.get(loop).body, after.get(around).body)) {
    return false;
  }
  for (NodeId at = after.at(node).parent; at != no_node; at = after.at(at).parent) {
    std::vector<Expr> header;
    if (const auto* around = after.as<For>(at)) {
      header = {around->min, around->extent};
    } else if (const auto* branch = after.as<IfThenElse>(at)) {
      header = {branch->condition};
    } else if (const auto* let = after.as<LetStmt>(at)) {
      header = {let->value};
    } else if (const auto* repeated = after.as<While>(at)) {
      header = {repeated->condition};
    } else if (const auto* realize = after.as<BlockRealize>(at)) {
      header = realize->iter_values;
      header.push_back(realize->predicate);
    }
    const auto has_changed = [&](const Expr& expr) { return changed.are_in(expr); };
    if (std::ranges::any_of(header, has_changed)) return false;
  }
  return true;
}

/// The loops around one over threads that are over the same.
Handles<LoopRV> loops_of_its_axis(const Schedule& schedule, LoopRV handle) {
  Handles<LoopRV> found;
  const For& loop = schedule.get(handle);
  if (loop.kind != ForKind::thread_binding) return found;
  const NodeId node = schedule.node(handle);
  for (NodeId at = schedule.at(node).parent; at != no_node; at = schedule.at(at).parent) {
    const auto* around = schedule.as<For>(at);
    const bool is_of_it = around && around->kind == ForKind::thread_binding &&
                          around->thread_binding->thread_tag == loop.thread_binding->thread_tag;
    if (is_of_it) found.push_back(schedule.loop_at(at));
  }
  return found;
}

/// Why a loop over threads may not be inside another one over the same.
std::optional<Refusal> sharing_conflict_of(const Schedule& schedule, LoopRV handle,
                                           OwnMemory& memory) {
  const For& loop = schedule.get(handle);
  for (const LoopRV around : loops_of_its_axis(schedule, handle)) {
    if (may_share_out(schedule, around, handle, memory)) continue;
    return changed_results(
        threads_do_more_than_fill,
        {Argument(loop.loop_var->name), Argument(loop.thread_binding->thread_tag),
         Argument(schedule.get(around).loop_var->name)});
  }
  return {};
}

/// Why the order of its iterations does not let a loop run them concurrently.
std::optional<Refusal> order_conflict_of(const Schedule& schedule, LoopRV handle,
                                         OwnMemory& memory) {
  const For& loop = schedule.get(handle);
  const Concurrency how = concurrency_of(loop);
  CarriedDependences carries = carried_by(schedule, handle, how, memory);
  schedule.known_facts().set_independent_iterations(handle, carries.verdict.is_proved());
  if (carries.verdict.is_proved()) return {};
  if (carries.is_reduction && may_reduce_concurrently(schedule, handle, loop)) return {};
  std::vector<Argument> subjects{Argument(loop.loop_var->name), Argument(word_of(loop))};
  if (carries.verdict.kind == OrderAnswer::Kind::unknown) {
    subjects.emplace_back(carries.verdict.why);
    return changed_results(iterations_may_depend, std::move(subjects));
  }
  return changed_results(iterations_would_depend, std::move(subjects),
                         std::move(carries.verdict.witness));
}

using ConflictOf = std::optional<Refusal>(const Schedule&, LoopRV, OwnMemory&);

/// The conflict in spite of which the loop ran its iterations concurrently before.
std::optional<Refusal> known_conflict(const Schedule& before, LoopRV loop,
                                      ConflictOf& conflict_of) {
  std::optional<Refusal> known;
  const Schedule asked = before.snapshot();  // Which learns what is found, and forgets it.
  OwnMemory memory(asked);
  each_concurrent_loop(asked, nullptr, [&](LoopRV other) {
    if (other.index != loop.index) return true;
    known = conflict_of(asked, other, memory);
    return false;
  });
  return known;
}

/// True when iterations of the loop conflict over more buffers than before. (A buffer that a step
/// puts in the place of another one takes over its conflict.)
bool conflicts_anew(const Schedule& before, const Schedule& after, LoopRV loop) {
  const Concurrency how = concurrency_of(after.get(loop));
  return conflicting_buffers(after, loop, how).size() >
         conflicting_buffers(before, loop, how).size();
}

}  // namespace

std::optional<Refusal> refuse_by_order(const Schedule& schedule, RfactorPlan& plan) {
  // An init would come between updates that partial results keep apart.
  std::vector<LoopRV> reduced = plan.dropped;
  reduced.push_back(plan.loop);
  for (const LoopRV each : reduced) {
    if (is_injective(schedule, plan.block, {&each, 1})) continue;
    const std::string& name = schedule.get(each).loop_var->name;
    return Refusal{&nest_is_plain,
                   {Argument(plan.block), Argument(plan.path[0]),
                    Argument(fmt::format("loop {} may run an instance more than once", name))}};
  }
  if (!plan.is_in_place) return {};
  return refuse_own_reads(schedule, plan.path[0], plan.block);
}

bool has_reduction_over(const Schedule& schedule, LoopRV loop) {
  const auto blocks = child_blocks(schedule, schedule.node(loop));
  return std::ranges::any_of(blocks, [&](BlockRV block) {
    return arith::is_reduction_loop(schedule.realize(block), schedule.get(loop).loop_var);
  });
}

bool has_loops_that_rest_on_inside(const Schedule& schedule) {
  bool found = false;
  each_concurrent_loop(schedule, nullptr, [&](LoopRV loop) {
    found = rests_on_inside(schedule, schedule, loop);
    return !found;
  });
  return found;
}

std::optional<Refusal> refuse_new_conflicts(const Schedule& before, const Schedule& after,
                                            std::optional<LoopRV> enclosed) {
  std::optional<Refusal> refusal;
  OwnMemory memory(after);
  std::optional<ChangedAccesses> compared;
  const auto changed = [&]() -> const ChangedAccesses& {
    if (!compared) compared.emplace(before, after);
    return *compared;
  };
  const auto keeps_order = [&](LoopRV loop) {
    return leaves_iterations(before, after, loop) ||
           (before.known_facts().has_independent_iterations(loop) &&
            stays_independent(after, loop, concurrency_of(after.get(loop)), memory, changed()));
  };
  const auto keeps_sharing = [&](LoopRV loop) {
    const auto around = loops_of_its_axis(after, loop);
    return around.empty() || leaves_fill(after, loop, around.back(), changed());
  };
  std::vector<std::uint32_t> old;
  each_concurrent_loop(before, nullptr, [&](LoopRV loop) {
    old.push_back(loop.index);
    return true;
  });
  each_concurrent_loop(after, &before, [&](LoopRV loop) {
    const bool is_old = std::ranges::find(old, loop.index) != old.end();
    // Loops that such a step makes concurrent answer for themselves.
    if (!is_old && keeps_accesses(before, after)) return true;
    const bool is_beside =
        is_old && enclosed && block_leaves_iterations(before, after, loop, *enclosed);
    for (ConflictOf* conflict_of :
         {sharing_conflict_of, order_conflict_of, block_order_conflict_of}) {
      const bool is_of_order = conflict_of == order_conflict_of;
      const bool is_of_sharing = conflict_of == sharing_conflict_of;
      const bool is_answered = is_beside || (is_old && is_of_order && keeps_order(loop)) ||
                               (is_old && is_of_sharing && keeps_sharing(loop));
      if (is_answered && !after.verifies_quick_answers()) continue;
      auto conflict = conflict_of(after, loop, memory);
      if (!conflict) continue;
      // What the user took on trust, or was so from the beginning, stays so; but nothing is
      // certain to conflict that could not be told before.
      const auto known = known_conflict(before, loop, *conflict_of);
      const bool is_worse = known && conflict->change->is_known && !known->change->is_known;
      if (!known || is_worse || (is_of_order && conflicts_anew(before, after, loop))) {
        // Of what the step left alone, the exact check may know less than what was known before.
        const bool is_elsewhere =
            is_of_order && is_old && before.known_facts().has_independent_iterations(loop) &&
            !conflicts_in_changed(after, loop, concurrency_of(after.get(loop)), changed());
        if (is_elsewhere) {
          after.known_facts().set_independent_iterations(loop, true);
          continue;
        }
        if (is_answered) {
          // The exact check need not know what the lemmas do; but it must not know better.
          check(!conflict->change->is_known, "quick_answers", "iterations of loop {} conflict anew",
                after.get(loop).loop_var->name);
          after.known_facts().set_independent_iterations(
              loop, before.known_facts().has_independent_iterations(loop));
          continue;
        }
        refusal = std::move(conflict);
      }
      if (refusal) return false;
    }
    return true;
  });
  return refusal;
}

std::optional<Refusal> refuse_lost_reductions(const Schedule& described,
                                              const Schedule& implemented) {
  std::optional<Refusal> refusal;
  OwnMemory memory(implemented);
  // Loops of threads that the implementation has itself are its own business.
  std::vector<LoopRV> known;
  each_concurrent_loop(described, nullptr, [&](LoopRV loop) {
    known.push_back(loop);
    return true;
  });
  each_concurrent_loop(implemented, &described, [&](LoopRV loop) {
    if (std::ranges::find(known, loop) == known.end()) return true;
    const Concurrency how = concurrency_of(described.get(loop));
    const CarriedDependences carries = carried_by(described, loop, how);
    const bool is_combined =
        carries.is_reduction && may_reduce_concurrently(described, loop, described.get(loop));
    if (is_combined) refusal = order_conflict_of(implemented, loop, memory);
    return !refusal;
  });
  return refusal;
}

}  // namespace loopsmith
