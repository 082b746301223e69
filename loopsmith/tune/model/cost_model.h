// SPDX-License-Identifier: Apache-2.0
// A model of a processor: how long a scheduled function will take, without compiling it. It has the
// ports and the registers of a core, vectors, the latency of sums, three caches and memory, and
// threads; it is for comparing schedules of one function, not for figures.
#pragma once
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/tune/model/statements.h"

namespace loopsmith::tune {

/// What a function, or one of its statements, takes on one core, in cycles, and how it is shared.
struct Cost {
  double compute = 0;      ///< Operations, loads and stores, as if all were in the first cache.
  double first_cache = 0;  ///< Bringing data into the first cache,
  double core_cache = 0;   ///< into that of the core,
  double last_cache = 0;   ///< into the largest one, from memory.
  double launches = 0;     ///< Starting threads.
  double threads = 1;      ///< Among how many the work is divided.

  /// What it takes in all: the longest of these, and a share of the others, which overlap.
  double cycles() const;
};

/// The cost of a statement; `program_bytes` is what all of the program's memory takes.
Cost cost_of(const Statement& statement, const CpuModel& machine, double program_bytes);

/// The cost of each statement of a program.
std::vector<Cost> costs_of(const std::vector<Statement>& statements, const CpuModel& machine);

/// How long statements take that cost so much, one after the other, in seconds, about.
double seconds_of(const std::vector<Cost>& costs);

/// The cost of a function as it is scheduled: of each statement.
/// Throws a UserError where it cannot be lowered.
std::vector<Cost> costs_of(const Ptr<PrimFunc>& func, const CpuModel& machine,
                           const LowerOptions& options = {});

/// How long a call takes, in seconds, about.
double estimate(const Ptr<PrimFunc>& func, const CpuModel& machine,
                const LowerOptions& options = {});

}  // namespace loopsmith::tune
