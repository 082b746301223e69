// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/iteration_cost.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::plain_loops {
namespace {

constexpr double line_bytes = 64;
/// Loads and stores that a core does in a cycle, and operations.
constexpr double accesses_per_cycle = 2, operations_per_cycle = 2;
/// From the cache of the core, where lines follow each other, and where they do not.
constexpr double line_in_order = 3, line_apart = 12;
/// Until the next addition to one sum may start.
constexpr double sum_latency = 4;
/// Until a load has what a store just before has stored.
constexpr double store_latency = 8;
/// An element of a vector that is collected from or spread over memory.
constexpr double gathered_element = 1.5, scattered_element = 2;
/// A vector of which only some lanes are stored.
constexpr double masked_store = 8;

/// True when the first cache holds a buffer, where sizes that are not known are as guessed.
bool stays_in_cache(const Buffer& buffer, const Machine& machine) {
  double bytes = buffer.dtype.bytes();
  for (const Expr& extent : buffer.shape) {
    const std::int64_t* number = as_int(extent);
    bytes *= number ? static_cast<double>(*number) : machine.unknown_size;
  }
  return bytes <= static_cast<double>(machine.first_cache_bytes);
}

/// True when a statement reads the element that it stores.
bool reads_own(const Statement& statement) {
  const Reference& stored = statement.references[0];
  return std::ranges::any_of(statement.references, [&](const Reference& reference) {
    return !reference.is_store && reference.buffer.same_as(stored.buffer) &&
           are_same_indices(reference.indices, stored.indices);
  });
}

/// True when an iteration of the loop reads what the one before has stored.
bool takes_over(const Statement& statement, const For& loop) {
  const Reference& stored = statement.references[0];
  const Substitution before{{loop.loop_var, loop.loop_var - loop.step}};
  Analyzer analyzer;
  const auto is_it = [&](const Reference& reference) {
    return !reference.is_store && reference.buffer.same_as(stored.buffer) &&
           std::ranges::equal(stored.indices, reference.indices, [&](const Expr& a, const Expr& b) {
             return analyzer.can_prove_equal(substitute(a, before), b);
           });
  };
  return std::ranges::any_of(statement.references, is_it);
}

/// What bringing lines into the first cache costs an iteration.
double line_cost(const Reference& reference, const Motion& motion, const Machine& machine) {
  if (motion.kind == Motion::Kind::none || stays_in_cache(*reference.buffer, machine)) return 0;
  const double lines = std::min(static_cast<double>(motion.bytes) / line_bytes, 1.0);
  return lines * (motion.bytes <= 2 * line_bytes ? line_in_order : line_apart);
}

}  // namespace

int lanes_of(const Statement& statement, const Machine& machine) {
  const int bytes = std::max<int>(statement.store->buffer->dtype.bytes(), 1);
  return std::max(machine.vector_bytes / bytes, 1);
}

IterationCost iteration_cost(const Statement& statement, const For& innermost,
                             const Machine& machine, std::span<const Ptr<Buffer>> own) {
  const double lanes = lanes_of(statement, machine);
  const auto is_own = [&](const Reference& reference) {
    return std::ranges::any_of(
        own, [&](const Ptr<Buffer>& each) { return each.same_as(reference.buffer); });
  };
  const Motion stored = motion_of(statement.references[0], innermost);
  const bool stays = is_own(statement.references[0]);
  const bool accumulates = !stays && stored.kind == Motion::Kind::none;
  const double operations = statement.operations / operations_per_cycle;
  IterationCost cost{.scalar = operations, .vector = operations / lanes};
  double lines = 0;
  for (const Reference& reference : statement.references) {
    const Motion motion = motion_of(reference, innermost);
    if (is_own(reference) || motion.kind == Motion::Kind::none) continue;
    lines += line_cost(reference, motion, machine);
    cost.scalar += 1 / accesses_per_cycle;
    if (motion.kind == Motion::Kind::contiguous) {
      cost.vector += 1 / accesses_per_cycle / lanes;
    } else {
      cost.vector += reference.is_store ? scattered_element : gathered_element;
    }
  }
  const double latency = statement.store->buffer->dtype.is_float() ? sum_latency : 1;
  if (stays) {
    // One instruction more where a branch decides: it chooses between two values.
    if (statement.is_conditional) cost.vector += 1 / operations_per_cycle / lanes;
    if (reads_own(statement)) cost.scalar = std::max(cost.scalar, latency);
  } else if (accumulates && statement.is_accumulation) {
    cost.scalar = std::max(cost.scalar, sum_latency);
    cost.vector = std::max(cost.vector, sum_latency / lanes);
  } else if (accumulates && reads_own(statement)) {
    // It stays in memory.
    cost.is_chain = true;
    cost.scalar = std::max(cost.scalar, latency + store_latency);
  } else if (accumulates) {
    cost.scalar = std::max(cost.scalar, latency);
    cost.vector = cost.scalar;
  } else if (takes_over(statement, innermost)) {
    cost.is_chain = true;
    cost.scalar = std::max(cost.scalar, latency);
  } else if (statement.is_conditional) {
    cost.vector += masked_store / lanes;
    cost.scalar += 2;
  }
  cost.scalar += lines;
  cost.vector = cost.is_chain ? cost.scalar : cost.vector + lines;
  return cost;
}

}  // namespace loopsmith::plain_loops
