// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/schedule/primitive_base.h"
#include "loopsmith/schedule/schedule_error.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/tune/spaces/fixed_order.h"
#include "loopsmith/tune/spaces/generated.h"
#include "loopsmith/tune/spaces/generated_gpu.h"
#include "loopsmith/tune/spaces/space.h"

namespace loopsmith::tune {
namespace {

Ptr<PrimFunc> product_with_epilogue() {
  return parse_function(
      "@T.prim_func\n"
      "def main(A: T.Buffer((24, 20), \"float32\"), B: T.Buffer((20, 32), \"float32\"),\n"
      "         D: T.Buffer((24, 32), \"float32\")):\n"
      "    C = T.alloc_buffer((24, 32), \"float32\")\n"
      "    for i, j, k in T.grid(24, 32, 20):\n"
      "        with T.block(\"C\"):\n"
      "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
      "            with T.init():\n"
      "                C[vi, vj] = T.float32(0)\n"
      "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n"
      "    for i, j in T.grid(24, 32):\n"
      "        with T.block(\"D\"):\n"
      "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
      "            D[vi, vj] = T.max(C[vi, vj], T.float32(0))\n");
}

/// A product of bytes, of sizes that are no whole tiles.
Ptr<PrimFunc> product_of_bytes() {
  return parse_function(
      "@T.prim_func\n"
      "def main(A: T.Buffer((6, 10), \"uint8\"), B: T.Buffer((20, 10), \"int8\"),\n"
      "         C: T.Buffer((6, 20), \"int32\")):\n"
      "    for i, j, k in T.grid(6, 20, 10):\n"
      "        with T.block(\"C\"):\n"
      "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
      "            with T.init():\n"
      "                C[vi, vj] = 0\n"
      "            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], \"int32\") * T.cast(B[vj, vk], "
      "\"int32\")\n");
}

Ptr<PrimFunc> row_sums() {
  return parse_function(
      "@T.prim_func\n"
      "def main(A: T.Buffer((3, 200), \"float32\"), S: T.Buffer((3,), \"float32\")):\n"
      "    for i, k in T.grid(3, 200):\n"
      "        with T.block(\"S\"):\n"
      "            vi, vk = T.axis.remap(\"SR\", [i, k])\n"
      "            with T.init():\n"
      "                S[vi] = T.float32(0)\n"
      "            S[vi] = S[vi] + A[vi, vk]\n");
}

Ptr<PrimFunc> running_sums() {
  return parse_function(
      "@T.prim_func\n"
      "def main(A: T.Buffer((40, 600), \"float32\"), B: T.Buffer((40, 600), \"float32\")):\n"
      "    for i in range(40):\n"
      "        B[i, 0] = A[i, 0]\n"
      "        for j in range(1, 600):\n"
      "            B[i, j] = B[i, j - 1] + A[i, j]\n");
}

Ptr<PrimFunc> triangular_solve() {
  return parse_function(
      "@T.prim_func\n"
      "def main(L: T.Buffer((20, 20), \"float32\"), X: T.Buffer((20, 32), \"float32\")):\n"
      "    for i in range(20):\n"
      "        for k in range(i):\n"
      "            for c in range(32):\n"
      "                X[i, c] = X[i, c] - L[i, k] * X[k, c]\n"
      "        for d in range(32):\n"
      "            X[i, d] = X[i, d] * L[i, i]\n");
}

/// Draws schedules of a program, each of which has to give the program's results; how many programs
/// they are.
std::size_t draw(const Ptr<PrimFunc>& func, const Steps& space, int draws) {
  std::set<std::string> programs;
  for (int seed = 1; seed <= draws; ++seed) {
    Schedule schedule(func, seed * std::int64_t{123456789} % 2147483647);
    try {
      space(schedule);
    } catch (const ScheduleError&) {
      continue;
    }
    const std::string text = script(schedule.func());
    if (!programs.insert(text).second) continue;
    const interp::Verdict verdict = interp::compare(func, schedule.func());
    EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason << "\n" << text;
    // The trace makes the same program again, and so do its decisions in the space.
    Schedule again(func, 1000);
    schedule.trace().apply_to(again);
    EXPECT_EQ(script(again.func()), text);
    std::vector<Samples::Decision> decisions;
    for (std::size_t i = 0; i < schedule.steps().size(); ++i) {
      if (auto decision = schedule.trace().decision(i)) {
        decisions.emplace_back(schedule.steps()[i].primitive->name, *std::move(decision));
      }
    }
    Schedule told(func, 1000);
    told.samples().tell(std::move(decisions));
    space(told);
    EXPECT_EQ(script(told.func()), text);
  }
  return programs.size();
}

TEST(GeneratedSpace, draws_tiles_and_caches_of_products) {
  EXPECT_GE(draw(product_with_epilogue(), generated_space, 12), 10U);
}

TEST(GeneratedSpace, draws_instructions_for_dot_products) {
  EXPECT_GE(draw(product_of_bytes(), generated_space, 16), 10U);
  int instructions = 0;
  for (int seed = 1; seed <= 40; ++seed) {
    Schedule schedule(product_of_bytes(), seed * std::int64_t{123456789} % 2147483647);
    generated_space(schedule);
    const std::string text = script(schedule.func());
    instructions += text.find("llvm.x86.avx512.") != std::string::npos ? 1 : 0;
  }
  EXPECT_GE(instructions, 10);
}

TEST(GeneratedSpace, draws_partial_results_of_sums) {
  EXPECT_GE(draw(row_sums(), generated_space, 12), 8U);
}

TEST(GeneratedSpace, draws_scans_of_loops_without_blocks) {
  EXPECT_GE(draw(running_sums(), generated_space, 12), 6U);
}

TEST(GeneratedSpace, draws_columns_outside_of_what_they_need_in_order) {
  EXPECT_GE(draw(triangular_solve(), generated_space, 60), 30U);
  int outside = 0, together = 0, in_blocks = 0;
  for (int seed = 1; seed <= 100; ++seed) {
    Schedule schedule(triangular_solve(), seed * std::int64_t{123456789} % 2147483647);
    generated_space(schedule);
    const std::string text = script(schedule.func());
    outside += text.find("c_0_m in T.parallel(") < text.find(" i in range(20)") ? 1 : 0;
    together += text.find(" k_1 in T.unroll(") < text.find("T.vectorized(") ? 1 : 0;
    in_blocks += text.find(" i_1 in T.unroll(") < text.find(" k_last in ") ? 1 : 0;
  }
  EXPECT_GE(outside, 2);
  EXPECT_GE(together, 2);
  EXPECT_GE(in_blocks, 2);
}

TEST(GeneratedSpaceForGpu, draws_tiles_in_shared_memory) {
  EXPECT_GE(draw(product_with_epilogue(), generated_space_for_gpu, 12), 6U);
  EXPECT_GE(draw(row_sums(), generated_space_for_gpu, 8), 3U);
}

TEST(FixedOrder, keeps_partial_results_of_a_sum_without_other_vectors) {
  Schedule sums(row_sums(), 1);
  fix_order(sums);
  EXPECT_NE(script(sums.func()).find("alloc_buffer((3, 32))"), std::string::npos)
      << script(sums.func());
  Schedule product(product_with_epilogue(), 1);
  fix_order(product);
  EXPECT_EQ(script(product.func()), script(product_with_epilogue()));
}

}  // namespace
}  // namespace loopsmith::tune
