// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/measure/measurement.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "loopsmith/driver/build.h"
#include "loopsmith/script/parse.h"

namespace loopsmith::tune {
namespace {

/// A function that adds a number to each element.
Ptr<PrimFunc> sum_with(const std::string& number) {
  return parse_function(
      "@T.prim_func\n"
      "def main(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
      "    for i in range(64):\n"
      "        B[i] = A[i] + T.float32(" +
      number + ")\n");
}

TEST(Measurement, tells_what_is_wrong_or_hangs) {
  const Workload workload(random_arguments(*sum_with("1"), 5), build(sum_with("1")));
  const Outcome right = workload.measure(build(sum_with("1")), 1);
  EXPECT_EQ(right.failure, "");
  EXPECT_EQ(right.samples.size(), 5U);
  EXPECT_GT(right.bytes, 0);
  const Outcome wrong = workload.measure(build(sum_with("2")), 1);
  EXPECT_EQ(wrong.failure, wrong_result);
  EXPECT_EQ(wrong.detail.substr(0, 19), "argument 1, element");
  EXPECT_EQ(workload.compare(build(sum_with("2")), build(sum_with("2"))).failure, "");
  EXPECT_EQ(workload.compare(build(sum_with("2")), build(sum_with("1"))).failure, wrong_result);
  const Module endless = build(
      parse_function("@T.prim_func\n"
                     "def main(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
                     "    while A[0] == A[0]:\n"
                     "        B[0] = B[0] + T.float32(1)\n"));
  const Outcome late = in_child([&] { return workload.measure(endless, 1); }, {.seconds = 0.5});
  EXPECT_EQ(late.failure, timeout);
  EXPECT_EQ(late.detail, "no answer within 0.5 s");
  const Outcome crashed = in_child([]() -> Outcome { std::abort(); }, {});
  EXPECT_EQ(crashed.failure, crash);
  EXPECT_EQ(crashed.detail, "signal 6");
  const Outcome duel = workload.duel(build(sum_with("1")), build(sum_with("1")), 3, 2);
  EXPECT_EQ(duel.samples.size(), 3U);
  EXPECT_EQ(duel.others.size(), 3U);
  EXPECT_EQ(duel.cold.size(), 2U);
  EXPECT_EQ(duel.other_cold.size(), 2U);
}

TEST(Measurement, lets_sums_of_halves_be_regrouped) {
  const Ptr<PrimFunc> func = parse_function(
      "@T.prim_func\n"
      "def main(A: T.Buffer((4,), \"float16\"), B: T.Buffer((4,), \"bfloat16\")):\n"
      "    A[0] = T.float16(0)\n");
  const std::vector<NDArray> expected = random_arguments(*func, 1),
                             got = random_arguments(*func, 1);
  EXPECT_NE(expected[0].data<std::uint16_t>()[0], 0);
  for (const NDArray& array : got) array.data<std::uint16_t>()[1] ^= 1;  // The last bit.
  EXPECT_EQ(difference(expected, got), "");
  got[1].data<std::uint16_t>()[2] ^= 0x8000;
  EXPECT_EQ(difference(expected, got).substr(0, 22), "argument 1, element 2:");
}

}  // namespace
}  // namespace loopsmith::tune
