// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/interleaved_rows.h"

#include <algorithm>
#include <span>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/rules/plain_loops/statements.h"

namespace loopsmith::plain_loops {
namespace {

constexpr std::int64_t rows_at_once = 8;
/// In elements, how much later each row of a sweep may start.
constexpr std::int64_t delays_of_sweeps[] = {1, 2};
constexpr std::int64_t no_delay[] = {0};
/// A row is that much longer than all rows of a step are apart.
constexpr double least_length = 4;
/// The wait for an element is that much longer than the work for it.
constexpr double least_gain = 2;
constexpr double operations_per_cycle = 2;

/// Cycles until an operation on what it waits for is done.
double latency_of(const Ref& node, DataType type) {
  const bool is_float = type.is_float();
  if (node.is<Div>() || node.is<FloorDiv>() || node.is<FloorMod>() || node.is<Mod>()) {
    return is_float ? 12 : 20;
  }
  if (node.is<Call>()) return 12;
  if (node.is<Mul>()) return is_float ? 4 : 3;
  return is_float ? 4 : 1;
}

/// Finds how long a value waits for what the iteration before has stored.
class Wait {
 public:
  Wait(const Statement& statement, const For& loop)
      : stored_(statement.references[0]), before_{{loop.loop_var, loop.loop_var - loop.step}} {}

  /// Below 0 where it does not wait.
  double of(const Expr& value) {
    if (const auto* load = value.as<BufferLoad>()) return is_carried(*load) ? 0 : -1;
    double longest = -1;
    for_each_child(*value.get(), [&](const Ref& child, Role) {
      const Expr operand = Expr::from(child);
      if (operand.defined()) longest = std::max(longest, of(operand));
    });
    return longest < 0 ? longest : longest + latency_of(value, value.dtype());
  }

 private:
  bool is_carried(const BufferLoad& load) {
    return load.buffer.same_as(stored_.buffer) &&
           std::ranges::equal(stored_.indices, load.indices, [&](const Expr& a, const Expr& b) {
             return analyzer_.can_prove_equal(substitute(a, before_), b);
           });
  }

  const Reference& stored_;
  const Substitution before_;
  Analyzer analyzer_;
};

/// True when an iteration waits for the one before, longer than all of its work takes.
bool waits(const For& row) {
  double longest = 0, work = 0;
  for (const Statement& each : statements_in(row.body)) {
    longest = std::max(longest, Wait(each, row).of(each.store->value));
    work += each.operations / operations_per_cycle;
  }
  return longest > least_gain * std::max(work, 1.0);
}

/// True when no row of a step needs what another one makes in it.
bool are_apart(const Steps& steps, LoopRV rows) {
  return loopsmith::vectorize.can_apply(steps.schedule(), {rows});
}

bool take_turns(Steps& steps, LoopRV rows, LoopRV row, std::int64_t delay) {
  const std::int64_t apart = delay * (rows_at_once - 1);
  const std::vector<LoopRV> parts = steps.split(rows, {infer, rows_at_once});
  return !parts.empty() && (delay == 0 || steps.skew(parts[1], row, delay)) &&
         steps.reorder({row, parts[1]}) && are_apart(steps, parts[1]) &&
         (delay == 0 || steps.peel(row, apart, apart)) && steps.unroll(parts[1]);
}

void interleave_inside(Steps& steps, LoopRV rows, LoopRV row, const Machine& machine,
                       std::span<const std::int64_t> delays) {
  const std::vector<const For*> around = nest_around(steps.schedule(), rows);
  const For &outer = steps.get(rows), &inner = steps.get(row);
  if (outer.kind != ForKind::serial || inner.kind != ForKind::serial || !waits(inner)) return;
  const double count = trip_count(outer, around, machine);
  std::vector<const For*> around_row = around;
  around_row.push_back(&outer);
  const double length = trip_count(inner, around_row, machine);
  if (count < 2.0 * rows_at_once) return;
  for (const std::int64_t delay : delays) {
    const auto apart = static_cast<double>(delay * (rows_at_once - 1));
    if (length < least_length * apart) return;
    Steps::Snapshot before = steps.snapshot();
    if (take_turns(steps, rows, row, delay)) return;
    steps.restore(std::move(before));
  }
}

void interleave(Steps& steps, LoopRV loop, const Machine& machine,
                std::span<const std::int64_t> delays) {
  for (const LoopRV inner : steps.inside(loop)) {
    const bool is_row = steps.inside(inner).empty() && steps.get(loop).body.is<For>();
    if (is_row) return interleave_inside(steps, loop, inner, machine, delays);
    interleave(steps, inner, machine, delays);
  }
}

}  // namespace

void interleave_rows(Steps& steps, LoopRV loop, const Machine& machine) {
  interleave(steps, loop, machine, no_delay);
}

void interleave_sweeps(Steps& steps, LoopRV loop, const Machine& machine) {
  interleave(steps, loop, machine, delays_of_sweeps);
}

}  // namespace loopsmith::plain_loops
