// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/testing/random_nest.h"

#include <fmt/format.h>

#include <algorithm>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/schedule/legality/obligations.h"
#include "loopsmith/schedule/legality/regroupings.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/random_program.h"
#include "loopsmith/schedule/testing/random_step.h"
#include "loopsmith/schedule/testing/semantics.h"
#include "loopsmith/schedule/testing/trial.h"
#include "loopsmith/support/error.h"

namespace loopsmith::schedule_testing {
namespace {

template <class Step>
void attempt(const Step& step) {
  try {
    step();
  } catch (const UserError&) {
    // Refused, as it may be.
  }
}

void run_concurrently(Schedule& schedule, LoopRV loop, Machine machine, Draw& draw) {
  if (machine == Machine::gpu && draw.chance(60)) {
    const char* axis = draw.weighted<const char*>({{"blockIdx.x", 6},
                                                   {"threadIdx.x", 8},
                                                   {"blockIdx.y", 2},
                                                   {"threadIdx.y", 4},
                                                   {"vthread.x", 1}});
    return attempt([&] { bind(schedule, loop, axis); });
  }
  switch (draw.between(0, 5)) {
    case 0: return attempt([&] { parallel(schedule, loop); });
    case 1: return attempt([&] { vectorize(schedule, loop); });
    case 2: return attempt([&] { unroll(schedule, loop); });
    default: return;
  }
}

void take_steps(Schedule& schedule, Machine machine, Draw& draw) {
  for (int left = draw.between(0, 8); left > 0; --left) {
    attempt([&] { draw_step(draw, schedule).apply(schedule); });
  }
  for (const LoopRV loop : all_loops(schedule)) run_concurrently(schedule, loop, machine, draw);
}

bool has_threads(const Schedule& schedule) {
  return std::ranges::any_of(all_loops(schedule), [&](LoopRV loop) {
    const ThreadAxis axis = thread_axis_of(schedule.get(loop));
    return is_thread_axis(axis) || is_block_axis(axis);
  });
}

}  // namespace

std::string RandomNest::text() const {
  return fmt::format("seed {}\n{}{}from\n{}", seed, trace, script(after), script(before));
}

std::optional<RandomNest> random_nest(std::uint64_t seed, Machine machine) {
  const Ptr<PrimFunc> before =
      random_program(seed, seed % 4 == 3 ? IndexTypes::mixed : IndexTypes::int32);
  if (!is_valid(before)) return {};
  Draw draw(seed ^ 0x2545f491);
  Schedule schedule(before, 1);
  take_steps(schedule, machine, draw);
  // With other arguments the function gives other results.
  const bool has_its_parameters =
      std::ranges::equal(before->buffer_map, schedule.func()->buffer_map, RefEqual());
  if (!has_its_parameters || !obligations(schedule).empty()) return {};
  if (machine == Machine::processor && has_threads(schedule)) return {};
  return RandomNest{seed, before, recorded_func(schedule), schedule.trace().text()};
}

bool is_of_no_result(const std::string& complaint) {
  return complaint.find("was never written") != std::string::npos ||
         complaint.find(" overflows int") != std::string::npos;
}

}  // namespace loopsmith::schedule_testing
