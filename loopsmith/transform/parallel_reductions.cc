// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/parallel_reductions.h"

#include <algorithm>
#include <span>

#include "loopsmith/arith/accumulators.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/atomic_updates.h"
#include "loopsmith/schedule/legality/concurrent_loops.h"
#include "loopsmith/schedule/legality/partial_results.h"
#include "loopsmith/schedule/legality/reduction_fission.h"
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/redefine_buffer.h"
#include "loopsmith/schedule/primitives/relatives.h"
#include "loopsmith/schedule/primitives/rfactor.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {
namespace {

/// So many partial results are combined one after another; more are combined in groups first.
constexpr std::int64_t max_in_group = 8;
constexpr std::int64_t max_in_unknown_group = 64;  ///< Where their number is not known.
/// Where nobody says how many there are in all.
constexpr std::int64_t iterations_of_part = 1024;

bool is_of_block_threads(const For& loop) {
  return is_thread_axis(thread_axis_of(loop));
}

/// A parallel loop in `body`, or one of threads, that is bound to a reduction of a block inside and
/// is not among `others`; null when there is none.
Ptr<Var> parallel_reduction_in(const Stmt& body, const std::vector<Ptr<Var>>& others) {
  Ptr<Var> found;
  std::vector<Ptr<Var>> parallel_loops;
  pre_order_visit(body, [&](const Ref& ref) {
    const auto* loop = ref.as<For>();
    if (loop && (loop->kind == ForKind::parallel || is_of_block_threads(*loop))) {
      parallel_loops.push_back(loop->loop_var);
    }
    if (const auto* realize = ref.as<BlockRealize>()) {
      // A variable that is not of a loop around the block is not used in it.
      for (const Ptr<Var>& loop_var : parallel_loops) {
        const bool is_other = std::ranges::any_of(
            others, [&](const Ptr<Var>& other) { return other.same_as(loop_var); });
        if (!found.defined() && !is_other && arith::is_reduction_loop(*realize, loop_var))
          found = loop_var;
      }
    }
    return !found.defined() && !is_expr(*ref.get());
  });
  return found;
}

/// How often an iteration of the loop updates each result of the reduction in it, where that is
/// known; else once.
std::int64_t updates_in(const Schedule& schedule, LoopRV whole) {
  std::int64_t updates = 1;
  for (const BlockRV block : child_blocks(schedule, schedule.node(whole))) {
    for (const LoopRV handle : loops_around(schedule, schedule.node(block))) {
      const For& loop = schedule.get(handle);
      const std::int64_t* extent = as_int(loop.extent);
      const bool is_within =
          handle != whole && is_inside(schedule, schedule.node(handle), schedule.node(whole));
      if (is_within && extent && arith::is_reduction_loop(schedule.realize(block), loop.loop_var)) {
        updates = std::min<std::int64_t>(updates * std::clamp<std::int64_t>(*extent, 1, 64), 64);
      }
    }
  }
  return updates;
}

/// How many parts, of how many iterations: one of the two where the extent is not known.
std::vector<SplitFactor> cut(const Schedule& schedule, LoopRV loop) {
  const std::int64_t* extent = as_int(schedule.get(loop).extent);
  if (!extent) return {SplitFactor(infer), SplitFactor(iterations_of_part)};
  return {SplitFactor(part_count(*extent, updates_in(schedule, loop))), SplitFactor(infer)};
}

LoopRV loop_over(const Schedule& schedule, const Ptr<Var>& loop_var) {
  for (const LoopRV loop : schedule.loops_named(0, loop_var->name)) {
    if (schedule.get(loop).loop_var.same_as(loop_var)) return loop;
  }
  check(false, "parallel_reductions", "loop {} is lost", loop_var->name);
  return {};
}

/// Combines partial results, over which `part` runs, in groups, and these again: a tree, so that
/// sums round less and chains are short. Gives the blocks of the groups.
Handles<BlockRV> combine_in_groups(Schedule& schedule, LoopRV part) {
  Handles<BlockRV> made;
  for (;;) {
    const std::int64_t* count = as_int(schedule.get(part).extent);
    if (count ? *count <= max_in_group : !made.empty()) return made;
    const std::int64_t size = count ? max_in_group : max_in_unknown_group;
    const auto [group, inside] = split(schedule, part, {infer, size}).take<2>();
    const auto partial = rfactor.attempt(schedule, group, 0);
    if (!partial) return made;
    made.push_back(*partial);
    part = group;
  }
}

/// Puts a block into the innermost of `loops`, if that may hold it, or it must.
void compute_inside(Schedule& schedule, BlockRV block, std::span<const LoopRV> loops, bool must) {
  const bool is_there =
      !loops.empty() && is_inside(schedule, schedule.node(block), schedule.node(loops.back()));
  if (loops.empty() || is_there) return;
  if (must) {
    compute_at(schedule, block, loops.back());
  } else {
    compute_at.attempt(schedule, block, loops.back());
  }
}

/// Puts what a block writes into memory that the threads of a block share. Until it stands inside
/// the loops of its reader, that is not right.
void share(Schedule& schedule, BlockRV block) {
  const auto count = static_cast<std::int64_t>(schedule.get(block).writes.size());
  for (std::int64_t i = 0; i < count; ++i) {
    auto plan = plan_set_scope(
        schedule, {.block = block, .buffer_index = BufferSelector(i), .storage_scope = "shared"});
    commit_set_scope(schedule, std::get<0>(std::move(plan)));
  }
}

/// The function in a form in which later passes see to the reduction, where it cannot be factored:
/// iterations update the same elements, and these were initialised before the loop. Null where they
/// cannot.
Ptr<PrimFunc> left_to_later(const Ptr<PrimFunc>& func, const Ptr<Var>& loop_var) {
  Schedule schedule(func, /*seed=*/1);
  const LoopRV loop = loop_over(schedule, loop_var);
  const auto& threads = schedule.get(loop).thread_binding;
  const Concurrency how =
      threads ? concurrency_of_axis(thread_axis_of(threads->thread_tag)) : Concurrency::in_threads;
  if (has_partial_results(schedule, loop, how)) return nullptr;
  const CarriedDependences carries = carried_by(schedule, loop, how);
  if (carries.verdict.is_proved()) return func;
  if (how == Concurrency::in_threads && accumulator_is_private(schedule, loop, carries.own)) {
    for (const BlockRV block : get_child_blocks(schedule, loop)) {
      const bool is_reduction =
          schedule.get(block).init && arith::is_reduction_loop(schedule.realize(block), loop_var);
      if (is_reduction) decompose_reduction(schedule, block, loop);
    }
    return schedule.func();
  }
  return updates_atomically(schedule, loop) ? func : nullptr;
}

Ptr<PrimFunc> with_parts(const Ptr<PrimFunc>& func, const Ptr<Var>& loop_var) {
  Schedule schedule(func, /*seed=*/1);
  const LoopRV whole = loop_over(schedule, loop_var);
  if (is_of_block_threads(schedule.get(whole))) {
    if (auto apart = with_reduction_split_off(schedule, whole)) schedule = *std::move(apart);
  }
  const Span span = schedule.get(whole).span;
  const ForKind kind = schedule.get(whole).kind;
  const Ptr<IterVar> threads = schedule.get(whole).thread_binding;
  schedule.edit(whole).kind = ForKind::serial;
  schedule.edit(whole).thread_binding = nullptr;
  const std::int64_t* extent = as_int(schedule.get(whole).extent);
  if (!threads && extent && part_count(*extent, updates_in(schedule, whole)) == 1) {
    return schedule.func();
  }
  try {
    // Each thread has its part.
    const LoopRV part = threads ? whole : split(schedule, whole, cut(schedule, whole)).take<2>()[0];
    const BlockRV partial = rfactor(schedule, part, 0);
    const BlockRV total = get_consumers(schedule, partial)[0];
    // Beside their combination, where the results that they are of are few.
    Handles<LoopRV> around = get_loops(schedule, total);
    const auto place = std::ranges::find(around, part);
    if (place != around.end()) around.erase(place, around.end());
    Handles<BlockRV> groups = combine_in_groups(schedule, part);
    groups.insert(groups.begin(), partial);
    for (std::size_t i = groups.size(); i-- > 0;) {
      if (threads) share(schedule, groups[i]);
      compute_inside(schedule, groups[i], around, threads.defined());
    }
    const auto own = Ptr<Var>::from(schedule.realize(partial).iter_values[0]);
    for (const LoopRV loop : get_loops(schedule, partial)) {
      if (!schedule.get(loop).loop_var.same_as(own)) continue;
      schedule.edit(loop).kind = kind;
      schedule.edit(loop).thread_binding = threads;
    }
  } catch (const UserError& error) {
    require(false, ErrorKind::lower, "parallel_reduction_has_parts",
            hint("rfactor the reduction, then parallelize the new loop"), span,
            "parallel loop {} is a reduction without partial results: {}", loop_var->name,
            error.problem());
  }
  return schedule.func();
}

}  // namespace

Ptr<PrimFunc> parallel_reductions(const Ptr<PrimFunc>& func) {
  Ptr<PrimFunc> current = func;
  std::vector<Ptr<Var>> left;
  while (const Ptr<Var> loop_var = parallel_reduction_in(current->body, left)) {
    if (auto later = left_to_later(current, loop_var)) {
      left.push_back(loop_var);
      current = std::move(later);
    } else {
      current = with_parts(current, loop_var);
    }
  }
  return current;
}

}  // namespace loopsmith
