// SPDX-License-Identifier: Apache-2.0
// Programs drawn from the grammar of loop nests under random steps, lowered: what they compute
// stays the same.
#include <gtest/gtest.h>

#include <map>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/schedule/legality/obligations.h"
#include "loopsmith/schedule/legality/regroupings.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/random_program.h"
#include "loopsmith/schedule/testing/random_step.h"
#include "loopsmith/schedule/testing/trial.h"
#include "loopsmith/support/testing/fuzz_cases.h"
#include "loopsmith/transform/pipeline.h"

namespace loopsmith {
namespace {

using schedule_testing::Draw;

/// The loops of a schedule, outer ones before those inside.
Handles<LoopRV> all_loops(const Schedule& schedule) {
  Handles<LoopRV> found;
  std::vector<NodeId> open{schedule.root(0)};
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    if (schedule.as<For>(node)) found.push_back(schedule.loop_at(node));
    for (NodeId child = schedule.at(node).first_child; child != no_node;
         child = schedule.at(child).next) {
      open.push_back(child);
    }
  }
  return found;
}

/// Some steps of any primitive, then loops that run concurrently: what lowering makes most of.
void take_steps(Schedule& schedule, Draw& draw) {
  const auto attempt = [](const auto& step) {
    try {
      step();
    } catch (const UserError&) {
      // Refused, as it may be.
    }
  };
  for (int left = draw.between(0, 8); left > 0; --left) {
    attempt([&] { draw_step(draw, schedule).apply(schedule); });
  }
  for (const LoopRV loop : all_loops(schedule)) {
    switch (draw.between(0, 5)) {
      case 0: attempt([&] { parallel(schedule, loop); }); break;
      case 1: attempt([&] { vectorize(schedule, loop); }); break;
      case 2: attempt([&] { unroll(schedule, loop); }); break;
      default: break;
    }
  }
}

TEST(random_nests, compute_the_same_after_lowering) {
  const int first = testing::first_fuzz_seed(), cases = testing::fuzz_cases(400);
  int lowered = 0;
  std::map<std::string_view, int> refused;  // By what the error says first.
  for (int seed = first; seed < first + cases; ++seed) {
    const Ptr<PrimFunc> func = schedule_testing::random_program(static_cast<std::uint64_t>(seed));
    if (!schedule_testing::is_valid(func)) continue;
    Draw draw(static_cast<std::uint64_t>(seed) ^ 0x2545f491);
    Schedule schedule(func, 1);
    take_steps(schedule, draw);
    // With other arguments the function gives other results.
    const bool has_its_parameters =
        std::ranges::equal(func->buffer_map, schedule.func()->buffer_map, RefEqual());
    if (!has_its_parameters || !obligations(schedule).empty()) continue;
    const auto text = [&] {
      return fmt::format("seed {}\n{}{}", seed, schedule.trace().text(), script(schedule.func()));
    };
    Ptr<PrimFunc> after;
    try {
      after = lower_function(recorded_func(schedule), {.verify = true});
    } catch (const UserError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::lower) << error.what() << "\n" << text();
      ++refused[error.code()];
      continue;
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what() << "\n" << text();
      continue;
    }
    ++lowered;
    const auto verdict = interp::compare(func, after);
    // Of what no result uses, less may be stored than was.
    if (verdict.reason.find("was never written") != std::string::npos) continue;
    EXPECT_NE(verdict.answer, interp::Answer::different) << verdict.reason << "\n" << text();
  }
  EXPECT_GT(lowered, cases / 2);
  for (const auto& [code, count] : refused)
    std::printf("%s %d\n", std::string(code).c_str(), count);
}

}  // namespace
}  // namespace loopsmith
