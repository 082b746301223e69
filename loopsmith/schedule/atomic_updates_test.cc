// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/atomic_sums.h"

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

TEST(atomic_sums, run_in_parallel_and_in_blocks) {
  const auto before = histogram("int32", "H[X[vi] % 8] = H[X[vi] % 8] + 1");
  Schedule sch(before);
  const auto loop = get_loops(sch, get_block(sch, "H"))[0];
  EXPECT_TRUE(adds_atomically(sch, loop));
  parallel(sch, loop);
  EXPECT_FALSE(sch.steps().back().reorders_reduction);
  expect_result(sch, before);
  Schedule blocks(before);
  bind(blocks, get_loops(blocks, get_block(blocks, "H"))[0], "blockIdx.x");
  expect_result(blocks, before);
}

TEST(atomic_sums, are_of_words_alone) {
  EXPECT_EQ(refusal_of_parallel(histogram("int64", "H[X[vi] % 8] = T.int64(3) + H[X[vi] % 8]")),
            "");
  const std::string refused = "loop_is_no_reduction: parallel: loop i is a reduction";
  EXPECT_EQ(refusal_of_parallel(histogram("float32", "H[X[vi] % 8] = H[X[vi] % 8] + T.float32(1)")),
            refused);
  EXPECT_EQ(refusal_of_parallel(histogram("int16", "H[X[vi] % 8] = H[X[vi] % 8] + T.int16(1)")),
            refused);
  EXPECT_EQ(refusal_of_parallel(histogram("int32", "H[X[vi] % 8] = T.max(H[X[vi] % 8], X[vi])")),
            refused);
}

TEST(atomic_sums, stay_right_when_steps_follow) {
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
