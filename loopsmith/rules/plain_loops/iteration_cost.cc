// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/iteration_cost.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"

namespace loopsmith::plain_loops {
namespace {

constexpr double line_bytes = 64;
/// Loads and stores that a core does in a cycle, and operations.
constexpr double accesses_per_cycle = 2, operations_per_cycle = 2;
/// From the cache of the core, where lines follow each other, and where they do not.
constexpr double line_in_order = 3, line_apart = 12;
/// Until the next addition to one sum may start.
constexpr double sum_latency = 4;
/// An element of a vector that is collected from or spread over memory.
constexpr double gathered_element = 1.5, scattered_element = 2;
/// A vector of which only some lanes are stored.
constexpr double masked_store = 8;

double bytes_of(const Buffer& buffer) {
  double bytes = buffer.dtype.bytes();
  for (const Expr& extent : buffer.shape) {
    const std::int64_t* number = as_int(extent);
    bytes *= number ? static_cast<double>(*number) : 1000;
  }
  return bytes;
}

/// What bringing lines into the first cache costs an iteration.
double line_cost(const Reference& reference, const Motion& motion, const Machine& machine) {
  const bool stays = bytes_of(*reference.buffer) <= static_cast<double>(machine.first_cache_bytes);
  if (motion.kind == Motion::Kind::none || stays) return 0;
  const double lines = std::min(static_cast<double>(motion.bytes) / line_bytes, 1.0);
  return lines * (motion.bytes <= 2 * line_bytes ? line_in_order : line_apart);
}

}  // namespace

int lanes_of(const Statement& statement, const Machine& machine) {
  const int bytes = std::max<int>(statement.store->buffer->dtype.bytes(), 1);
  return std::max(machine.vector_bytes / bytes, 1);
}

IterationCost iteration_cost(const Statement& statement, const For& innermost,
                             const Machine& machine) {
  const double lanes = lanes_of(statement, machine);
  const Motion stored = motion_of(statement.references[0], innermost);
  const bool accumulates = stored.kind == Motion::Kind::none;
  const double operations = statement.operations / operations_per_cycle;
  IterationCost cost{.scalar = operations, .vector = operations / lanes};
  double lines = 0;
  for (const Reference& reference : statement.references) {
    const Motion motion = motion_of(reference, innermost);
    if (motion.kind == Motion::Kind::none) continue;
    lines += line_cost(reference, motion, machine);
    cost.scalar += 1 / accesses_per_cycle;
    if (motion.kind == Motion::Kind::contiguous) {
      cost.vector += 1 / accesses_per_cycle / lanes;
    } else {
      cost.vector += reference.is_store ? scattered_element : gathered_element;
    }
  }
  if (accumulates) cost.scalar = std::max(cost.scalar, sum_latency);
  if (accumulates && statement.is_accumulation) {
    cost.vector = std::max(cost.vector, sum_latency / lanes);
  } else if (accumulates) {
    cost.vector = cost.scalar;
  } else if (statement.is_conditional) {
    cost.vector += masked_store / lanes;
    cost.scalar += 2;
  }
  cost.scalar += lines;
  cost.vector += lines;
  return cost;
}

}  // namespace loopsmith::plain_loops
