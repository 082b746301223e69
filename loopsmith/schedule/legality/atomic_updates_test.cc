// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

/// Counts, in buckets that are read from X: `update` of H in block `H`.
Ptr<PrimFunc> histogram(std::string_view type, std::string_view update,
                        std::string_view parameters = "") {
  return program(
      fmt::format(R"(X: T.Buffer((50,), "int32"), H: T.Buffer((8,), "{}"){})", type, parameters),
      fmt::format(R"(
for i in range(50):
    with T.block("H"):
        vi = T.axis.reduce(50, i)
        {}
)",
                  update));
}

std::string refusal_of_parallel(const Ptr<PrimFunc>& func) {
  Schedule sch(func);
  return error_of([&] { parallel(sch, get_loops(sch, get_block(sch, "H"))[0]); });
}

TEST(atomic_updates, run_in_parallel_and_in_blocks) {
  const auto before = histogram("int32", "H[X[vi] % 8] = H[X[vi] % 8] + 1");
  Schedule sch(before);
  const auto loop = get_loops(sch, get_block(sch, "H"))[0];
  parallel(sch, loop);
  EXPECT_FALSE(sch.steps().back().reorders_reduction);
  expect_result(sch, before);
  Schedule blocks(before);
  bind(blocks, get_loops(blocks, get_block(blocks, "H"))[0], "blockIdx.x");
  expect_result(blocks, before);
}

TEST(atomic_updates, leave_what_an_iteration_has_for_itself) {
  const auto before = program(
      R"(N: T.Buffer((64,), "int32"), L: T.Buffer((64,), "int32"), H: T.Buffer((64,), "int32"))",
      R"(
for i in range(16):
    least = L[i]
    for k in range(4):
        least = T.min(least, L[N[i * 4 + k] % 64])
    if least < L[i]:
        H[L[i] % 64] = T.min(H[L[i] % 64], least)
)");
  Schedule sch(before);
  atomic(sch, get_loop(sch, "i"));
  expect_result(sch, before);
}

TEST(atomic_updates, are_no_results_of_which_others_are_made) {
  Schedule sch(program(
      R"(A: T.Buffer((6,), "int64"), C: T.Buffer((1,), "int64"), D: T.Buffer((1,), "int64"))",
      R"(
for i in range(6):
    with T.block("C"):
        vi = T.axis.reduce(6, i)
        T.reads(A[vi])
        T.writes(D[0], C[0])
        with T.init():
            D[0] = T.int64(0)
        D[0] = D[0] + A[vi]
        C[0] = C[0] + D[0]
)"));
  EXPECT_TRUE(error_of([&] {
                atomic(sch, get_loop(sch, "i"));
              }).starts_with("step_keeps_results: atomic: results would change"));
  EXPECT_TRUE(error_of([&] {
                parallel(sch, get_loop(sch, "i"));
              }).starts_with("step_keeps_results: parallel: results would change"));
}

TEST(atomic_updates, are_of_words_alone) {
  const auto runs_in_blocks = [](std::string_view type, std::string_view update) {
    Schedule sch(histogram(type, update));
    return error_of([&] { bind(sch, get_loop(sch, "i"), "blockIdx.x"); }).empty();
  };
  EXPECT_TRUE(runs_in_blocks("int64", "H[X[vi] % 8] = T.int64(3) + H[X[vi] % 8]"));
  EXPECT_FALSE(runs_in_blocks("float32", "H[X[vi] % 8] = H[X[vi] % 8] + T.float32(1)"));
  EXPECT_FALSE(runs_in_blocks("int16", "H[X[vi] % 8] = H[X[vi] % 8] + T.int16(1)"));
  const auto is_taken_by_atomic = [](std::string_view type, std::string_view update) {
    Schedule sch(histogram(type, update));
    return error_of([&] { atomic(sch, get_loop(sch, "i")); }).empty();
  };
  EXPECT_TRUE(is_taken_by_atomic("float32", "H[X[vi] % 8] = H[X[vi] % 8] + T.float32(1)"));
  EXPECT_FALSE(is_taken_by_atomic("float32", "H[X[vi] % 8] = T.max(H[X[vi] % 8], T.float32(1))"));
}

TEST(atomic_updates, are_differences_extremes_and_bits_too) {
  for (const std::string_view update :
       {"T.max(H[X[vi] % 8], X[vi])", "T.min(X[vi], H[X[vi] % 8])",
        "T.bitwise_and(H[X[vi] % 8], X[vi])", "T.bitwise_or(X[vi], H[X[vi] % 8])",
        "T.bitwise_xor(H[X[vi] % 8], X[vi])", "H[X[vi] % 8] - X[vi]", "H[X[vi] % 8] + X[vi] - vi",
        "T.Select(X[vi] > H[X[vi] % 8], X[vi], H[X[vi] % 8])"}) {
    const auto before = histogram("int32", fmt::format("H[X[vi] % 8] = {}", update));
    Schedule sch(before);
    const auto loop = get_loops(sch, get_block(sch, "H"))[0];
    parallel(sch, loop);
    expect_result(sch, before);
  }
  // No two of one kind in any order, nor with an operation between them.
  EXPECT_EQ(refusal_of_parallel(histogram(
                "int32", "H[X[vi] % 8] = T.bitwise_xor(T.max(H[X[vi] % 8], X[vi]), X[vi])")),
            "step_keeps_results: parallel: results may change: whether iterations of loop i depend "
            "on each other is "
            "unknown, as index 0 of H is not quasi-affine: X[vi] % 8");
}

TEST(atomic_updates, stay_right_when_steps_follow) {
  const auto before = histogram("int32", "H[X[vi] % 8] = H[X[vi] % 8] + X[vi]");
  Schedule sch(before);
  const auto [outer, inner] =
      split(sch, get_loops(sch, get_block(sch, "H"))[0], {infer, 16}).take<2>();
  parallel(sch, outer);
  unroll(sch, inner);
  expect_result(sch, before);
}

}  // namespace
}  // namespace loopsmith
