// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te_schedule/to_tir.h"

#include <gtest/gtest.h>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/te/te.h"

namespace loopsmith::te {
namespace {

TEST(to_tir, carries_decisions_out_as_steps_of_a_schedule) {
  const Tensor A = placeholder({34}, f32, "A");
  const Tensor B = compute({34}, [&](const Expr& i) { return A(i) * 2; }, "B", {.axes = {"i"}});
  const Tensor C =
      compute({32}, [&](const Expr& i) { return B(i) + B(i + 2); }, "C", {.axes = {"i"}});
  const Schedule s = create_schedule({C});
  const auto [outer, inner] = s[C].split(C.axis(0), 8);
  s[B].compute_at(s[C], outer);
  s[C].parallel(outer);
  const loopsmith::Schedule made = to_tir(s, std::vector<Ref>{A, C});
  std::vector<std::string> steps;
  for (const Step& step : made.steps()) steps.emplace_back(step.primitive->name);
  EXPECT_EQ(steps, (std::vector<std::string>{"get_block", "get_loops", "split", "get_block",
                                             "compute_at", "get_loops", "fuse", "parallel"}));
  made.check_tree();
  const auto verdict = interp::compare(made.original(), made.mod());
  EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason;
}

}  // namespace
}  // namespace loopsmith::te
