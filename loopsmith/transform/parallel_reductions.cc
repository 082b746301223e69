// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/parallel_reductions.h"

#include <algorithm>

#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/relatives.h"
#include "loopsmith/schedule/primitives/rfactor.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {
namespace {

/// Enough parts for the threads of large machines to share them evenly.
constexpr std::int64_t most_parts = 64;
/// A part is to be more work than its combination.
constexpr std::int64_t fewest_in_part = 8;
/// Where nobody says how many there are in all.
constexpr std::int64_t iterations_of_part = 1024;

bool drives_reduction(const BlockRealize& realize, const Ptr<Var>& loop_var) {
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    if (realize.block->iter_vars[i]->iter_type == IterType::comm_reduce &&
        uses_variable(realize.iter_values[i], loop_var)) {
      return true;
    }
  }
  return false;
}

/// A parallel loop in `body` that drives a reduction of a block inside; null when there is none.
Ptr<Var> parallel_reduction_in(const Stmt& body) {
  Ptr<Var> found;
  std::vector<Ptr<Var>> parallel_loops;
  pre_order_visit(body, [&](const Ref& ref) {
    const auto* loop = ref.as<For>();
    if (loop && loop->kind == ForKind::parallel) parallel_loops.push_back(loop->loop_var);
    if (const auto* realize = ref.as<BlockRealize>()) {
      // A variable that is not of a loop around the block is not used in it.
      for (const Ptr<Var>& loop_var : parallel_loops) {
        if (!found.defined() && drives_reduction(*realize, loop_var)) found = loop_var;
      }
    }
    return !found.defined() && !node_info(*ref.get()).is_expr;
  });
  return found;
}

/// How many parts, of how many iterations: one of the two where the extent is not known.
std::vector<Factor> cut(const For& loop) {
  const std::int64_t* extent = as_int(loop.extent);
  if (!extent) return {Factor(infer), Factor(iterations_of_part)};
  return {Factor(std::clamp<std::int64_t>(*extent / fewest_in_part, 1, most_parts)), Factor(infer)};
}

LoopRV loop_over(const Schedule& schedule, const Ptr<Var>& loop_var) {
  for (const LoopRV loop : schedule.loops_named(0, loop_var->name)) {
    if (schedule.get(loop).loop_var.same_as(loop_var)) return loop;
  }
  check(false, "parallel_reductions", "loop {} is lost", loop_var->name);
  return {};
}

Ptr<PrimFunc> with_parts(const Ptr<PrimFunc>& func, const Ptr<Var>& loop_var) {
  Schedule schedule(func, /*seed=*/1);
  const LoopRV whole = loop_over(schedule, loop_var);
  const Span span = schedule.get(whole).span;
  schedule.edit(whole).kind = ForKind::serial;
  const std::int64_t* extent = as_int(schedule.get(whole).extent);
  if (extent && *extent < 2 * fewest_in_part) return schedule.func();
  try {
    const auto [part, rest] = split(schedule, whole, cut(schedule.get(whole))).take<2>();
    const BlockRV partial = rfactor(schedule, part, 0);
    const BlockRV total = get_consumers(schedule, partial)[0];
    // Beside their combination, where the results that they are of are few.
    const Handles<LoopRV> around = get_loops(schedule, total);
    const auto place = std::ranges::find(around, part);
    if (place != around.begin() && place != around.end()) {
      const ComputeAtArguments at{.block = partial, .loop = *(place - 1)};
      if (compute_at.can_apply(schedule, at)) compute_at.apply(schedule, at);
    }
    const auto own = Ptr<Var>::from(schedule.realize(partial).iter_values[0]);
    for (const LoopRV loop : get_loops(schedule, partial)) {
      if (schedule.get(loop).loop_var.same_as(own)) schedule.edit(loop).kind = ForKind::parallel;
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
  while (const Ptr<Var> loop_var = parallel_reduction_in(current->body)) {
    current = with_parts(current, loop_var);
  }
  return current;
}

}  // namespace loopsmith
