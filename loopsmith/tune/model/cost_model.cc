// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/model/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

#include "loopsmith/tune/model/locality.h"

namespace loopsmith::tune {
namespace {

// A core of the last ten years, about; what differs between them moves all schedules alike.
constexpr double first_cache_bytes = 32 << 10;
constexpr double clock_rate = 3e9;
constexpr double operation_ports = 2;
constexpr double load_ports = 2;
constexpr double store_ports = 1;
constexpr double issue_width = 5;
constexpr double latency_of_sum = 4;
constexpr double latency_of_memory = 8;  // From a store to a load of the same element.
constexpr double cycles_of_guarded = 7;  // Of a vector under a condition of its own.
constexpr double cycles_of_uneven = 3;   // The address of a lane that is not beside the last one.
constexpr double cycles_of_division = 8;
constexpr double cycles_of_function = 20;
constexpr double cycles_of_iteration = 1.5;
constexpr double max_instructions = 3000;  // Of a loop's body; more do not fit where they run from.
// Bytes in a cycle: into the first cache, into the core's, into the last.
constexpr std::array<double, 3> bandwidths{64, 24, 10};
constexpr double overlap = 0.25;

bool moves(const Access& access, std::size_t loop) {
  return access.motions[loop].distinct > 1;
}

/// The innermost loops of a statement, as the code has them: a body of copies and vectors, and the
/// loop around it.
struct Body {
  std::size_t begin = 0;  ///< Loops from here on are unrolled or vectors.
  std::size_t lanes_loop = SIZE_MAX;
  double lanes = 1;
  double copies = 1;      ///< Of the statement, in the body, each a vector.
  double iterations = 1;  ///< Of the loop around it.
  double vectors_of_lanes = 1;
  bool is_pivot_vectorized = false;  ///< The back end makes vectors of the loop around it.

  bool has_pivot() const { return begin > 0; }
  std::size_t pivot() const { return begin - 1; }
};

bool is_carried(const Access& access, std::size_t loop) {
  return !access.carried.empty() && access.carried[loop];
}

bool is_unit_or_fixed(const Access& access, std::size_t loop) {
  const Motion& motion = access.motions[loop];
  return motion.is_known && (motion.distinct <= 1 || (motion.stride == 1 && motion.is_even));
}

/// Whether the back end can make vectors of a loop: neighbours are stored, neighbours or one
/// element loaded.
bool is_vectorizable(const Statement& statement, std::size_t loop) {
  return std::ranges::all_of(statement.accesses, [&](const Access& access) {
    return is_unit_or_fixed(access, loop) && (!access.is_store || moves(access, loop)) &&
           !is_carried(access, loop);
  });
}

Body body_of(const Statement& statement, const CpuModel& machine) {
  Body body;
  body.begin = statement.loops.size();
  const double width = std::max(machine.vector_bytes, 1);
  while (body.begin > 0) {
    const NestLoop& loop = statement.loops[body.begin - 1];
    if (loop.kind == ForKind::vectorized) {
      body.lanes_loop = body.begin - 1;
      body.lanes = loop.extent;
      body.vectors_of_lanes = std::ceil(loop.extent * statement.bytes / width);
    } else if (loop.kind == ForKind::unrolled || loop.extent <= 1) {
      body.copies *= loop.extent;
    } else {
      break;
    }
    --body.begin;
  }
  if (!body.has_pivot()) return body;
  body.iterations = statement.loops[body.pivot()].extent;
  if (body.lanes_loop == SIZE_MAX && is_vectorizable(statement, body.pivot())) {
    body.is_pivot_vectorized = true;
    const double lanes = std::max(width / statement.bytes, 1.0);
    body.iterations = std::ceil(body.iterations / lanes);
  }
  return body;
}

/// How many vectors, or single elements where there are none, an access moves in a body.
double moved_in(const Statement& statement, const Access& access, const Body& body,
                const CpuModel& machine) {
  double count = 1;
  for (std::size_t i = body.begin; i < statement.loops.size(); ++i) {
    if (i != body.lanes_loop && moves(access, i)) count *= statement.loops[i].extent;
  }
  if (body.lanes_loop == SIZE_MAX || !moves(access, body.lanes_loop)) return count;
  const Motion& motion = access.motions[body.lanes_loop];
  // Element by element.
  if (!motion.is_known || motion.stride != 1 || !motion.is_even) return count * body.lanes;
  return count * std::ceil(body.lanes * access.bytes / std::max(machine.vector_bytes, 1));
}

/// How many operations of a body wait for each other, since each loads what the last one stored.
double carried_in(const Statement& statement, const Body& body) {
  double longest = 0;
  for (const Access& access : statement.accesses) {
    if (!body.has_pivot() || !is_carried(access, body.pivot())) continue;
    double count = 1;
    for (std::size_t i = body.begin; i < statement.loops.size(); ++i) {
      if (is_carried(access, i)) count *= statement.loops[i].extent;
    }
    longest = std::max(longest, count);
  }
  return longest;
}

/// What a body takes in each iteration of the loop around it.
double cycles_of_body(const Statement& statement, const Body& body, const CpuModel& machine) {
  double loads = 0;
  double stores = 0;
  double fixed = 0;      // Loads and stores of what the loop around the body does not move.
  double registers = 0;  // That this takes, if it stays in registers.
  double addresses = 0;  // Of lanes that are not side by side.
  bool accumulates = false;
  for (const Access& access : statement.accesses) {
    const double count = moved_in(statement, access, body, machine);
    if (body.lanes_loop != SIZE_MAX && !access.motions[body.lanes_loop].is_even) {
      addresses += count * cycles_of_uneven;
    }
    const bool is_fixed = body.has_pivot() && !moves(access, body.pivot());
    if (is_fixed && access.is_accumulator) accumulates = true;
    if (!is_fixed) (access.is_store ? stores : loads) += count;
    if (is_fixed) fixed += count;
    if (is_fixed && !(access.is_store && access.is_accumulator)) registers += count;
  }
  // Copies that run under conditions of their own leave what they update in memory.
  const bool is_guarded = statement.guarded > body.begin;
  const bool is_kept = !is_guarded && registers <= machine.vector_registers - 1.0;
  if (is_kept) {
    loads += fixed / std::max(body.iterations, 1.0);
  } else {
    loads += fixed / 2;
    stores += fixed / 2;
  }
  const Operations& work = statement.operations;
  const double vectors = body.copies * body.vectors_of_lanes;
  const double operations = (work.simple + work.conditions) * vectors;
  const double slow =
      (work.divisions * cycles_of_division + work.functions * cycles_of_function) * vectors;
  double chain = latency_of_sum * carried_in(statement, body);
  if (accumulates) {
    double sums = 1;  // Of one accumulator, one after another.
    for (std::size_t i = body.begin; i < statement.loops.size(); ++i) {
      const Access& store = statement.accesses.front();
      if (!moves(store, i)) sums *= statement.loops[i].extent;
    }
    chain = (latency_of_sum + (is_kept ? 0 : latency_of_memory)) * sums;
  }
  const double instructions = operations + loads + stores;
  double cycles = std::max({operations / operation_ports, loads / load_ports, stores / store_ports,
                            chain, instructions / issue_width}) +
                  slow + addresses + (is_guarded ? cycles_of_guarded * vectors : 0);
  if (instructions > max_instructions) cycles *= 1.5;
  return cycles + (body.has_pivot() ? cycles_of_iteration : 0);
}

double compute_cycles(const Statement& statement, const CpuModel& machine) {
  const Body body = body_of(statement, machine);
  double outside = 1;
  for (std::size_t i = 0; i + 1 < body.begin; ++i) outside *= statement.loops[i].extent;
  return outside * body.iterations * cycles_of_body(statement, body, machine);
}

}  // namespace

double Cost::cycles() const {
  const std::array parts{compute, first_cache, core_cache, last_cache};
  const double longest = *std::ranges::max_element(parts);
  double sum = 0;
  for (const double part : parts) sum += part;
  return (longest + overlap * (sum - longest)) / threads + launches;
}

Cost cost_of(const Statement& statement, const CpuModel& machine, double program_bytes) {
  Cost cost;
  cost.compute = compute_cycles(statement, machine);
  const std::array<double, 3> caches{first_cache_bytes,
                                     static_cast<double>(machine.core_cache_bytes),
                                     static_cast<double>(machine.cache_bytes)};
  cost.first_cache = traffic(statement, caches[0], program_bytes) / bandwidths[0];
  cost.core_cache = traffic(statement, caches[1], program_bytes) / bandwidths[1];
  cost.last_cache = traffic(statement, caches[2], program_bytes) / bandwidths[2];
  double around = 1;
  for (const NestLoop& loop : statement.loops) {
    if (loop.kind == ForKind::parallel) {
      const double turns = std::ceil(loop.extent / std::max(machine.cores, 1));
      cost.threads = loop.extent / std::max(turns, 1.0);
      cost.launches = around * machine.thread_start_cycles;
      break;
    }
    around *= loop.extent;
  }
  return cost;
}

std::vector<Cost> costs_of(const std::vector<Statement>& statements, const CpuModel& machine) {
  std::unordered_set<const Object*> buffers;
  double program_bytes = 0;
  for (const Statement& statement : statements) {
    for (const Access& access : statement.accesses) {
      if (buffers.insert(access.buffer).second) program_bytes += access.buffer_bytes;
    }
  }
  std::vector<Cost> costs;
  for (const Statement& statement : statements) {
    costs.push_back(cost_of(statement, machine, program_bytes));
  }
  return costs;
}

std::vector<Cost> costs_of(const Ptr<PrimFunc>& func, const CpuModel& machine,
                           const LowerOptions& options) {
  return costs_of(statements_of(func, options), machine);
}

double seconds_of(const std::vector<Cost>& costs) {
  double cycles = 0;
  for (const Cost& cost : costs) cycles += cost.cycles();
  return cycles / clock_rate;
}

double estimate(const Ptr<PrimFunc>& func, const CpuModel& machine, const LowerOptions& options) {
  return seconds_of(costs_of(func, machine, options));
}

}  // namespace loopsmith::tune
