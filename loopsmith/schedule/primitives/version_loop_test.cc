// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/version_loop.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

Ptr<PrimFunc> nests() {
  return program("a: T.handle, S: T.Buffer((4,), 'int32')", R"(
n = T.int32()
m = T.int32()
A = T.match_buffer(a, (n, m), "int32")
for i in range(n):
    for j in range(m):
        A[i, j] = A[i, j] + 1
    for k in range(T.min(S[0], m)):
        A[i, k] = A[i, k] * 2
)");
}

TEST(version_loop, makes_two_versions_that_are_scheduled_apart) {
  const auto before = nests();
  Schedule sch(before);
  const LoopRV i = get_loop(sch, "i"), j = get_loop(sch, "j");
  const auto versions = version_loop(sch, std::vector{i, j}, std::vector<std::int64_t>{3, 2});
  ASSERT_EQ(versions.size(), 2u);
  EXPECT_EQ(versions[0].index, i.index);
  parallel(sch, i);
  vectorize(sch, j);
  EXPECT_EQ(sch.get(versions[1]).kind, ForKind::serial);
  EXPECT_NE(body_of(sch).find("if n >= 3 and m >= 2:"), std::string::npos) << body_of(sch);
  expect_result(sch, before);
}

TEST(version_loop, keeps_loops_around_concurrent) {
  const auto before = program("A: T.Buffer((8, 8), 'int32'), S: T.Buffer((8,), 'int32')", R"(
for i in range(8):
    for j in range(8):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = 0
            S[vi] = S[vi] + A[vi, vj]
)");
  Schedule rows(before);
  parallel(rows, get_loop(rows, "i"));
  version_loop(rows, std::vector{get_loop(rows, "j")}, std::vector<std::int64_t>{4});
  expect_result(rows, before);
  // Two blocks that reduce in turn have no partial results.
  Schedule sums(program("A: T.Buffer((8, 8), 'int32'), S: T.Buffer((1,), 'int32')", R"(
for i in range(8):
    for j in range(8):
        with T.block("S"):
            vi, vj = T.axis.remap("RR", [i, j])
            with T.init():
                S[0] = 0
            S[0] = S[0] + A[vi, vj]
)"));
  parallel(sums, get_loop(sums, "i"));
  const std::string refusal = error_of(
      [&] { version_loop(sums, std::vector{get_loop(sums, "j")}, std::vector<std::int64_t>{4}); });
  EXPECT_TRUE(
      refusal.starts_with("step_keeps_results: version_loop: results would change: "
                          "iterations of loop i, which is parallel, would depend on each "
                          "other"))
      << refusal;
}

TEST(version_loop, copies_blocks) {
  const auto before = program("A: T.Buffer((8,), 'int32')", R"(
for i in range(8):
    with T.block("A"):
        vi = T.axis.spatial(8, i)
        A[vi] = A[vi] + 1
)");
  Schedule sch(before);
  version_loop(sch, std::vector{get_loop(sch, "i")}, std::vector<std::int64_t>{4});
  EXPECT_EQ(get_loops(sch, get_block(sch, "A_1")).size(), 1u);
  expect_result(sch, before);
}

TEST(version_loop, asks_whether_rows_have_different_lengths) {
  const auto before = program("s: T.handle, A: T.Buffer((40,), 'int32')", R"(
n = T.int32()
S = T.match_buffer(s, (n + 1,), "int32")
for i in range(n):
    for k in range(S[i], S[i + 1]):
        if 0 <= k and k < 40:
            A[k] = A[k] + i
)");
  Schedule sch(before);
  const auto versions =
      version_loop(sch, std::vector{get_loop(sch, "i")}, std::vector<std::int64_t>{1}, true);
  EXPECT_EQ(versions.size(), 2u);
  expect_result(sch, before);
  Schedule even(nests());
  EXPECT_EQ(
      error_of([&] {
        version_loop(even, std::vector{get_loop(even, "i")}, std::vector<std::int64_t>{1}, true);
      }).substr(0, 88),
      "rows_follow_each_other: version_loop: how much work comes before an iteration of loop i ");
}

TEST(version_loop, refuses_what_is_not_known_before) {
  Schedule sch(nests());
  const auto of = [&](std::vector<LoopRV> loops, std::vector<std::int64_t> least) {
    return error_of([&] { version_loop(sch, loops, least); });
  };
  const LoopRV i = get_loop(sch, "i"), j = get_loop(sch, "j"), k = get_loop(sch, "k");
  EXPECT_EQ(of({i}, {}),
            "arguments_fit: version_loop: 1 loops and 0 numbers of iterations are given");
  EXPECT_EQ(of({j, k}, {1, 1}), "loop_is_around_loop: version_loop: loop j is not around loop k");
  EXPECT_EQ(
      of({i, k}, {1, 1}),
      "bounds_are_known: version_loop: the bounds of loop k are not known before loop i starts");
}

}  // namespace
}  // namespace loopsmith
