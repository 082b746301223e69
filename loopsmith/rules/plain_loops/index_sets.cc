// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/index_sets.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/rules/plain_loops/statements.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/function_variables.h"

namespace loopsmith::plain_loops {
namespace {

/// An expression as a value at which a loop may be cut, if it is one.
std::optional<LoopValue> as_value(const Schedule& schedule, LoopRV loop, const Expr& value) {
  if (const std::int64_t* number = as_int(value)) return LoopValue(*number);
  const NodeId node = schedule.node(loop);
  for (const LoopRV around : loops_around(schedule, node)) {
    if (value.same_as(schedule.get(around).loop_var)) return LoopValue(around);
  }
  const PrimFunc& func = *schedule.as<PrimFunc>(schedule.root(schedule.function_of(node)));
  if (!read_beside_sizes(func, value).empty()) return {};
  return LoopValue(value);
}

/// The values of a loop at which it accesses what all its iterations do.
std::vector<LoopValue> shared_values(const Schedule& schedule, LoopRV loop) {
  const Ptr<Var>& variable = schedule.get(loop).loop_var;
  Analyzer analyzer;
  std::vector<Expr> found;
  // Where an index that moves with the loop is one that does not.
  const auto add = [&](const Expr& moving, const Expr& fixed) {
    if (!uses_variable(moving, variable) || uses_variable(fixed, variable)) return;
    const Expr value = analyzer.simplify(fixed - moving + variable);
    const auto is_it = [&](const Expr& other) { return structural_equal(value, other); };
    if (!uses_variable(value, variable) && std::ranges::none_of(found, is_it)) {
      found.push_back(value);
    }
  };
  const std::vector<Statement> statements = statements_in(schedule.statement(schedule.node(loop)));
  for (const Statement& storing : statements) {
    const Reference& stored = storing.references[0];
    for (const Statement& reading : statements) {
      for (const Reference& other : reading.references) {
        const bool is_alike =
            other.buffer.same_as(stored.buffer) && other.indices.size() == stored.indices.size();
        for (std::size_t i = 0; is_alike && i < stored.indices.size(); ++i) {
          if (stored.indices[i].dtype() != other.indices[i].dtype()) continue;
          add(stored.indices[i], other.indices[i]);
          add(other.indices[i], stored.indices[i]);
        }
      }
    }
  }
  std::vector<LoopValue> values;
  for (const Expr& value : found) {
    if (auto given = as_value(schedule, loop, value)) values.push_back(*std::move(given));
  }
  return values;
}

}  // namespace

bool take_parts(Steps& steps, LoopRV loop, const std::function<bool(LoopRV)>& take) {
  for (const LoopValue& value : shared_values(steps.schedule(), loop)) {
    Steps::Snapshot before = steps.snapshot();
    const std::vector<LoopRV> parts = steps.cut(loop, value);
    const auto is_taken = [&](LoopRV part) {
      return is_const_int(steps.get(part).extent, 1) || take(part);
    };
    if (parts.size() > 1 && std::ranges::all_of(parts, is_taken)) return true;
    steps.restore(std::move(before));
  }
  return false;
}

}  // namespace loopsmith::plain_loops
