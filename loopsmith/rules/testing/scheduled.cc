// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/testing/scheduled.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/transform/pipeline.h"

namespace loopsmith::testing {
namespace {

std::vector<TestArgument> results_of(const Ptr<PrimFunc>& func,
                                     std::vector<TestArgument> arguments) {
  evaluate(func, arguments);
  return arguments;
}

}  // namespace

TestArgument numbers(std::vector<std::int64_t> shape, int seed) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  TestArgument argument{.shape = std::move(shape), .elements = {}};
  for (std::int64_t i = 0; i < count; ++i) {
    argument.elements.push_back(static_cast<double>((i * 37 + seed * 11) % 101 - 50));
  }
  return argument;
}

Ptr<PrimFunc> checked_schedule(const Ptr<PrimFunc>& func,
                               const std::vector<TestArgument>& arguments,
                               const CpuModel& machine) {
  for (const bool leaves_holes : {false, true}) {
    const Schedule steps = default_schedule(func, machine, leaves_holes);
    Schedule again(func);
    steps.trace().apply_to(again);
    EXPECT_TRUE(structural_equal(again.func(), steps.func())) << steps.trace().text();
  }
  const Ptr<PrimFunc> scheduled = with_default_schedule(func, machine);
  verify_well_formed(scheduled);
  const std::vector<TestArgument> expected = results_of(func, arguments);
  EXPECT_EQ(results_of(scheduled, arguments), expected) << script(scheduled);
  const Ptr<PrimFunc> lowered = lower_function(scheduled, {.verify = true});
  EXPECT_EQ(results_of(lowered, arguments), expected) << script(lowered);
  return scheduled;
}

}  // namespace loopsmith::testing
