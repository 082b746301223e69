// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/fuse_reduction_epilogue.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr std::string_view epilogue_parameters =
    R"(A: T.Buffer((6, 8), "float32"), D: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32"))";

Ptr<PrimFunc> reduction(std::string_view init, std::string_view update, std::string_view epilogue) {
  return program(epilogue_parameters, fmt::format(R"(
B = T.alloc_buffer((6,))
for i, k in T.grid(6, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = {}
        B[vi] = {}
for i in range(6):
    with T.block("C"):
        vi = T.axis.spatial(6, i)
        C[vi] = {}
)",
                                                  init, update, epilogue));
}

TEST(fuse_reduction_epilogue, starts_from_the_bias) {
  const auto before = reduction("T.float32(0)", "B[vi] + A[vi, vk]", "B[vi] + D[vi]");
  Schedule sch(before);
  fuse_reduction_epilogue(sch, get_block(sch, "B"), get_block(sch, "C"));
  expect_result(sch, before, program(epilogue_parameters, R"(
for i, k in T.grid(6, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = D[vi]
        C[vi] = C[vi] + A[vi, vk]
)"));
}

TEST(fuse_reduction_epilogue, combines_as_the_reduction_does) {
  const auto with_start = reduction("T.float32(1)", "B[vi] + A[vi, vk]", "D[vi] + B[vi]");
  const auto largest =
      reduction("T.min_value(\"float32\")", "T.max(B[vi], A[vi, vk])", "T.max(B[vi], D[vi])");
  for (const auto& before : {with_start, largest}) {
    Schedule sch(before);
    fuse_reduction_epilogue(sch, get_block(sch, "B"), get_block(sch, "C"));
    expect_result(sch, before);
  }
}

/// A reduction and its epilogue in one loop, with something else between them.
Ptr<PrimFunc> in_one_loop(std::string_view between) {
  return program(epilogue_parameters, fmt::format(R"(
B = T.alloc_buffer((6,))
for i in range(6):
    for k in range(8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
{}
    with T.block("C"):
        vi = T.axis.spatial(6, i)
        C[vi] = B[vi] + D[vi]
)",
                                                  between));
}

TEST(fuse_reduction_epilogue, may_share_a_loop_with_the_reduction) {
  for (const std::string_view between : {"", "    A[i, 0] = T.float32(3)"}) {
    const auto before = in_one_loop(between);
    Schedule sch(before);
    fuse_reduction_epilogue(sch, get_block(sch, "B"), get_block(sch, "C"));
    expect_result(sch, before);
  }
}

TEST(fuse_reduction_epilogue, starts_no_result_that_is_still_used) {
  Schedule sch(in_one_loop("    A[i, 0] = C[i]"));
  EXPECT_EQ(
      error_of([&] { fuse_reduction_epilogue(sch, get_block(sch, "B"), get_block(sch, "C")); }),
      "step_keeps_results: fuse_reduction_epilogue: results would change: `A[i, 0] = C[i]` (i=5) "
      "reads C before C (vi=5) writes it, and would come after that");
}

TEST(fuse_reduction_epilogue, refuses_other_epilogues) {
  Schedule sch(reduction("T.float32(0)", "B[vi] + A[vi, vk]", "T.max(B[vi], T.float32(0))"));
  EXPECT_EQ(
      error_of([&] { fuse_reduction_epilogue(sch, get_block(sch, "B"), get_block(sch, "C")); }),
      "block_is_an_epilogue: fuse_reduction_epilogue: block C does not combine the results of "
      "block B as the reduction does, in their type");
  EXPECT_EQ(
      error_of([&] { fuse_reduction_epilogue(sch, get_block(sch, "C"), get_block(sch, "C")); }),
      "block_is_an_epilogue: fuse_reduction_epilogue: block C is not the epilogue of block "
      "C");
}

}  // namespace
}  // namespace loopsmith
