// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/outer_lanes.h"

#include <algorithm>
#include <limits>

#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/rules/plain_loops/innermost_loop.h"
#include "loopsmith/rules/plain_loops/iteration_cost.h"

namespace loopsmith::plain_loops {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
/// Vectors of one scalar, whose operations need not wait for each other, in so many registers.
constexpr std::int64_t max_vectors = 4, registers = 12;

/// The body of a loop, as far as its iterations may be lanes.
struct Body {
  bool is_simple = true;   ///< Stores, branches, and loops that are the same in each iteration.
  bool has_loops = false;  ///< Some are inside.
  std::vector<Ptr<Buffer>> own;  ///< Each iteration has these for itself.
};

Body body_of(const For& loop) {
  Body body;
  pre_order_visit(loop.body, [&](const Ref& ref) {
    if (is_expr(*ref.get())) return false;
    if (const auto* declared = ref.as<DeclBuffer>()) {
      body.own.push_back(declared->buffer);
    } else if (const auto* inner = ref.as<For>()) {
      body.has_loops = true;
      const bool is_same = inner->kind == ForKind::serial &&
                           !uses_variable(inner->min, loop.loop_var) &&
                           !uses_variable(inner->extent, loop.loop_var) &&
                           !reads_memory(inner->extent) && !reads_memory(inner->min);
      body.is_simple = body.is_simple && is_same;
    } else {
      body.is_simple =
          body.is_simple && (ref.is<SeqStmt>() || ref.is<BufferStore>() || ref.is<IfThenElse>() ||
                             ref.is<Allocate>() || ref.is<LetStmt>() || !is_stmt(*ref.get()));
    }
    return body.is_simple;
  });
  return body;
}

/// What an iteration takes of a loop whose iterations are lanes; `never` where they cannot be.
double cycles_in_lanes(const Steps& steps, LoopRV loop, const Machine& machine) {
  const For& node = steps.get(loop);
  const Body body = body_of(node);
  if (node.kind != ForKind::serial || !body.is_simple || !body.has_loops || body.own.empty()) {
    return never;
  }
  double cycles = 0;
  std::vector<const For*> around = nest_around(steps.schedule(), loop);
  around.push_back(&node);
  for (const Statement& each : statements_in(node.body)) {
    const Reference& stored = each.references[0];
    const auto is_stored = [&](const Ptr<Buffer>& own) { return own.same_as(stored.buffer); };
    const bool is_shared = std::ranges::none_of(body.own, is_stored) &&
                           motion_of(stored, node).kind == Motion::Kind::none;
    const IterationCost cost = iteration_cost(each, node, machine, body.own);
    if (is_shared || cost.is_chain) return never;
    cycles += cost.vector * executions(each.loops, around, machine);
  }
  return cycles;
}

/// What a run of a loop takes when the best loops are in vectors; appends those around others.
double best_cycles(const Steps& steps, LoopRV loop, const Machine& machine,
                   std::vector<LoopRV>& chosen) {
  const For& node = steps.get(loop);
  const double trips = trip_count(node, nest_around(steps.schedule(), loop), machine);
  const std::vector<LoopRV> inside = steps.inside(loop);
  std::vector<LoopRV> below;
  double cycles = 0;
  for (const LoopRV inner : inside) cycles += best_cycles(steps, inner, machine, below);
  std::int64_t lanes = 1;
  for (const Statement& each : statements_in(node.body)) {
    lanes = std::max<std::int64_t>(lanes, lanes_of(each, machine));
    if (!each.loops.empty()) continue;
    const IterationCost cost = iteration_cost(each, node, machine);
    cycles += inside.empty() && trips >= lanes_of(each, machine) ? cost.best() : cost.scalar;
  }
  const double in_lanes = inside.empty() || trips < static_cast<double>(lanes)
                              ? never
                              : cycles_in_lanes(steps, loop, machine);
  if (in_lanes < required_gain * cycles) {
    chosen.push_back(loop);
    return trips * in_lanes;
  }
  chosen.insert(chosen.end(), below.begin(), below.end());
  return trips * cycles;
}

/// As many vectors of the widest type as registers hold of each scalar, and iterations fill.
std::int64_t width_of(const Steps& steps, LoopRV loop, const Machine& machine) {
  const For& node = steps.get(loop);
  const auto scalars = static_cast<std::int64_t>(body_of(node).own.size());
  std::int64_t lanes = machine.vector_bytes;
  for (const Statement& each : statements_in(node.body)) {
    lanes = std::min<std::int64_t>(lanes, lanes_of(each, machine));
  }
  const double trips = trip_count(node, nest_around(steps.schedule(), loop), machine);
  std::int64_t vectors = max_vectors;
  while (vectors > 1 &&
         (vectors * scalars > registers || static_cast<double>(vectors * lanes) > trips)) {
    vectors /= 2;
  }
  return vectors * lanes;
}

}  // namespace

void vectorize_outer(Steps& steps, LoopRV loop, const Machine& machine) {
  std::vector<LoopRV> chosen;
  best_cycles(steps, loop, machine, chosen);
  for (const LoopRV each : chosen) {
    Steps::Snapshot before = steps.snapshot();
    const std::vector<LoopRV> parts = steps.split(each, {infer, width_of(steps, each, machine)});
    if (parts.empty() || !steps.vectorize(parts.back())) steps.restore(std::move(before));
  }
}

}  // namespace loopsmith::plain_loops
