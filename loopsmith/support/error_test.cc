// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/support/error.h"

#include <gtest/gtest.h>

namespace loopsmith {
namespace {

template <class Error, class F>
Error caught(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  throw std::logic_error("nothing was thrown");
}

TEST(error, require_throws_problem_and_hint) {
  const auto error = caught<UserError>([] {
    require(false, "factor_is_positive", hint("pass 1 or more"),
            "split: factor of loop {} is {}, not positive", "i", 0);
  });
  EXPECT_STREQ(error.what(), "split: factor of loop i is 0, not positive\n  hint: pass 1 or more");
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_EQ(error.code(), "factor_is_positive");
  EXPECT_EQ(error.problem(), "split: factor of loop i is 0, not positive");
  EXPECT_EQ(error.hint(), "pass 1 or more");
  EXPECT_FALSE(error.span().known());
}

TEST(error, require_does_nothing_when_all_is_well) {
  EXPECT_NO_THROW(require(true, "code", hint("h"), "problem"));
  EXPECT_NO_THROW(check(true, "a_pass", "problem"));
}

TEST(error, the_place_is_quoted_last) {
  const Span span{source_id("<error_test>", "for i in range(10):\n"), 1};
  const auto error = caught<UserError>(
      [&] { fail(ErrorKind::script, "code", hint(""), span, "loop {} is empty", "i"); });
  EXPECT_STREQ(error.what(),
               "loop i is empty\n"
               "  at <error_test>:1\n"
               "    for i in range(10):\n"
               "    ^^^^^^^^^^^^^^^^^^^");
}

TEST(error, a_phase_is_said_first_and_keeps_the_place_that_is_known) {
  const Span first{source_id("<error_test>"), 1};
  const Span second{source_id("<error_test>"), 2};
  const UserError bare(ErrorKind::lower, "code", "extent is not constant", "split it");
  const UserError placed = bare.in_phase("unroll_loops", first);
  EXPECT_EQ(placed.problem(), "unroll_loops: extent is not constant");
  EXPECT_EQ(placed.kind(), ErrorKind::lower);
  EXPECT_EQ(placed.span(), first);
  EXPECT_EQ(placed.in_phase("lower", second).span(), first);
}

TEST(error, a_kind_is_named_as_its_python_class) {
  EXPECT_EQ(to_string(ErrorKind::user), "UserError");
  EXPECT_EQ(to_string(ErrorKind::type_mismatch), "TypeMismatch");
  EXPECT_EQ(to_string(ErrorKind::interp), "InterpError");
}

TEST(error, check_reports_a_bug_of_ours) {
  const auto error =
      caught<InternalError>([] { check(false, "flatten_buffers", "no shape for {}", "A"); });
  EXPECT_STREQ(error.what(), "internal error in flatten_buffers, please report: no shape for A");
}

}  // namespace
}  // namespace loopsmith
