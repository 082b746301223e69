// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/path_condition.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

/// Why loop `i` of a program over X, whose shape is `shape`, may not be parallel.
std::string parallel_of(std::string_view shape, std::string_view lines) {
  const std::string parameters = "a: T.handle, n: T.int32, s: T.int32, m: T.int32";
  const auto func = program(
      parameters, fmt::format("X = T.match_buffer(a, ({},), \"float32\")\n{}", shape, lines));
  Schedule sch(func);
  return error_of([&] { parallel(sch, get_loop(sch, "i")); });
}

constexpr std::string_view stays_a_reduction =
    "step_keeps_results: parallel: results would change: iterations of loop i update elements in "
    "common, of "
    "which they cannot have partial results";

TEST(path_condition, conditions_tell_the_sign_of_a_stride) {
  EXPECT_EQ(parallel_of("m", R"(
for i in range(n):
    X[i * s] = X[i * s] * T.float32(2)
)"),
            stays_a_reduction);
  EXPECT_EQ(parallel_of("m", R"(
if s > 0:
    for i in range(n):
        X[i * s] = X[i * s] * T.float32(2)
)"),
            "");
  EXPECT_EQ(parallel_of("m", R"(
assert s >= 1, "stride"
for i in range(n):
    X[i * s] = X[i * s] * T.float32(2)
)"),
            "");
  EXPECT_EQ(parallel_of("m", R"(
if s > 0:
    X[0] = T.float32(1)
else:
    for i in range(n):
        X[i * s] = X[i * s] * T.float32(2)
)"),
            std::string(stays_a_reduction) + ": iteration i=0 reads X[0], iteration i=1 writes it");
}

TEST(path_condition, memory_that_is_stored_to_is_not_empty) {
  EXPECT_EQ(parallel_of("n * s", R"(
for i in range(n):
    X[i * s] = X[i * s] * T.float32(2)
)"),
            "");
  // It may be that nothing is stored, or that both sizes are negative.
  EXPECT_EQ(parallel_of("n * s", R"(
for i in range(n):
    if i > 5:
        X[i * s] = X[i * s] * T.float32(2)
)"),
            stays_a_reduction);
  EXPECT_EQ(parallel_of("m * s", R"(
for i in range(n):
    X[i * s] = X[i * s] * T.float32(2)
)"),
            stays_a_reduction);
}

TEST(path_condition, sizes_of_parameters_are_not_negative) {
  // With -1 elements, the loop would run once, and nothing be copied before.
  const std::string lines = R"(
X = T.match_buffer(a, (n,), "float32")
Y = T.match_buffer(b, (m,), "float32")
for i in range(n // 2 * 2, n // 2 * 2 + n % 2):
    with T.block("Y"):
        vi = T.axis.spatial(n, i)
        Y[vi] = X[vi] * T.float32(2)
)";
  const auto func = program("a: T.handle, b: T.handle, n: T.int32, m: T.int32", lines);
  Schedule sch(func);
  sch.verify_quick_answers(true);
  cache_read(sch, get_block(sch, "Y"), 0, "local");
  expect_result(sch, func);
}

}  // namespace
}  // namespace loopsmith
