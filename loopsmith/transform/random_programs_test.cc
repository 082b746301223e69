// SPDX-License-Identifier: Apache-2.0
// Every pass, on programs drawn at random: what they compute stays the same.
#include <gtest/gtest.h>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/testing/programs.h"

namespace loopsmith {
namespace {

using testing::Program;
using testing::TestArgument;

std::vector<TestArgument> result_of(const Ptr<PrimFunc>& func,
                                    std::vector<TestArgument> arguments) {
  testing::evaluate(func, arguments);
  return arguments;
}

class RandomPrograms : public ::testing::TestWithParam<int> {};

TEST_P(RandomPrograms, keep_their_meaning_under_each_pass) {
  constexpr int programs_a_case = 24;
  for (int i = 0; i < programs_a_case; ++i) {
    const int seed = GetParam() * programs_a_case + i;
    const Program program = testing::random_program(seed);
    const std::vector<TestArgument> expected = result_of(program.func, program.arguments);
    LowerOptions options{.verify = true};
    options.on_pass = [&](const PassRecord& record) {
      if (record.after.same_as(record.before)) return;
      std::vector<TestArgument> actual;
      ASSERT_NO_THROW(actual = result_of(record.after, program.arguments))
          << "seed " << seed << " after " << record.name;
      ASSERT_EQ(actual, expected) << "seed " << seed << " after " << record.name;
    };
    lower_function(program.func, options);
    if (HasFatalFailure()) return;
  }
}

TEST(random_programs, are_the_same_for_any_sizes_after_lowering) {
  for (int seed = 1000; seed < 1040; ++seed) {
    const Program program = testing::random_program(seed);
    const interp::Verdict verdict = interp::compare(program.func, lower_function(program.func));
    ASSERT_EQ(verdict.answer, interp::Answer::same) << "seed " << seed << ": " << verdict.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, RandomPrograms, ::testing::Range(0, 10));

}  // namespace
}  // namespace loopsmith
