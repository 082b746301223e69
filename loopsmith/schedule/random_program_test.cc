// SPDX-License-Identifier: Apache-2.0
// Random steps on programs of a grammar, looked at by the judge and by the interpreter. For longer:
// fuzz/schedule_fuzz.cc.
#include <gtest/gtest.h>

#include <set>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/agreement.h"
#include "loopsmith/schedule/testing/random_program.h"
#include "loopsmith/schedule/testing/trial.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/support/testing/fuzz_cases.h"

namespace loopsmith::schedule_testing {
namespace {

TEST(random_program, means_the_same_to_the_judge_and_to_the_interpreter) {
  int valid = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Ptr<PrimFunc> program = random_program(seed);
    if (is_valid(program)) {
      ++valid;
      continue;
    }
    const auto difference = disagreement(program);
    const bool is_undefined = !difference || difference->find("never written") != std::string::npos;
    EXPECT_TRUE(is_undefined) << *difference << "\n" << random_script(seed);
  }
  EXPECT_GT(valid, 150);
}

TEST(random_program, takes_steps_that_leave_no_trace_where_they_are_refused) {
  std::set<std::string_view> accepted;
  int steps = 0, wrong = 0;
  const auto first = static_cast<std::uint64_t>(testing::first_fuzz_seed()) + 1;
  const auto cases = static_cast<std::uint64_t>(testing::fuzz_cases(300));
  for (std::uint64_t seed = first; seed < first + cases; ++seed) {
    const Ptr<PrimFunc> program = random_program(seed);
    if (!is_valid(program)) continue;
    Trial trial(program);
    play(trial, seed, [&](const DrawnStep& step, Taken taken) {
      if (taken == Taken::refused) return;
      accepted.insert(step.primitive->name);
      ++steps;
    });
    if (!trial.finding()) continue;
    ++wrong;
    const Wrong kind = trial.finding()->wrong;
    EXPECT_TRUE(kind != Wrong::refusal && kind != Wrong::exception) << text(*trial.finding());
  }
  EXPECT_GT(steps, static_cast<int>(cases));
  EXPECT_GT(accepted.size(), 25U);
  EXPECT_LT(wrong, static_cast<int>(cases) / 25);
}

/// Types of indices are not what a step may fail for, nor what changes its answer by much.
TEST(random_program, takes_steps_on_loops_of_both_widths) {
  std::set<std::string_view> accepted[2];
  for (const IndexTypes types : {IndexTypes::int32, IndexTypes::mixed}) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      const Ptr<PrimFunc> program = random_program(seed, types);
      if (!is_valid(program)) continue;
      Trial trial(program);
      play(trial, seed, [&](const DrawnStep& step, Taken taken) {
        if (taken == Taken::same) accepted[types == IndexTypes::mixed].insert(step.primitive->name);
      });
      if (!trial.finding()) continue;
      EXPECT_NE(trial.finding()->wrong, Wrong::exception) << text(*trial.finding());
    }
  }
  EXPECT_GT(accepted[1].size() + 4, accepted[0].size());
}

TEST(random_program, is_shrunk_to_what_makes_the_difference) {
  // What a promise says that is not true: iteration 1 reads what iteration 0 writes.
  const Ptr<PrimFunc> program = parse_function(R"(@T.prim_func
def main(A: T.Buffer((7, 5), "int32"), B: T.Buffer((7,), "int32"), C: T.Buffer((5,), "int32")):
    for k in range(5):
        with T.block("other"):
            vk = T.axis.spatial(5, k)
            C[vk] = C[vk] + 1
    for i in range(6):
        for j in range(5):
            with T.block("update"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[B[vi] % 7, vj] = A[B[vi + 1] % 7, vj] + B[vi] * 2)");
  const DrawnStep unroll_other{&unroll, {Argument("k")}};
  const DrawnStep parallel_rows{&parallel, {Argument("i"), Argument(true)}};
  const auto finding = finding_of(program, {unroll_other, parallel_rows});
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(finding->wrong, Wrong::result);
  const Finding small = shrunk(*finding, 20);
  ASSERT_EQ(small.steps.size(), 1U);
  EXPECT_EQ(small.steps[0].primitive->name, "parallel");
  const std::string shown = text(small);
  EXPECT_EQ(shown.find("other"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("for j in"), std::string::npos) << shown;
  EXPECT_TRUE(shown.starts_with("# parallel: result: A["));
}

TEST(random_step, leaves_out_only_primitives_that_there_are) {
  for (const LeftOut& one : left_out()) EXPECT_NE(find_primitive(one.primitive), nullptr);
}

}  // namespace
}  // namespace loopsmith::schedule_testing
