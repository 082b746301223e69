// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/sample_compute_location.h"

#include <gtest/gtest.h>

#include <set>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

std::int64_t decision_of(const Schedule& schedule) {
  return *schedule.steps().back().arguments.back().as<std::int64_t>();
}

TEST(sample_compute_location, gives_each_possible_place) {
  const auto before = two_stages(8, 6);
  std::set<std::int64_t> seen;
  for (int seed = 1; seed < 40; ++seed) {
    Schedule sch(before, seed);
    const auto b = get_block(sch, "B");
    const auto place = sample_compute_location(sch, b);
    seen.insert(decision_of(sch));
    compute_at(sch, b, place);
    expect_result(sch, before);
  }
  EXPECT_EQ(seen, (std::set<std::int64_t>{-2, -1, 0, 1}));
}

TEST(sample_compute_location, gives_loops_of_a_reduction_around_spatial_ones) {
  const auto before = program(R"(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8,), "float32"))", R"(
    B = T.alloc_buffer((8, 4))
    for i, k in T.grid(8, 4):
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = A[vi, vk] * T.float32(2)
    for i_0, k_0, k_1, i_1 in T.grid(2, 2, 2, 4):
        with T.block("C"):
            vi = T.axis.spatial(8, i_0 * 4 + i_1)
            vk = T.axis.reduce(4, k_0 * 2 + k_1)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + B[vi, vk]
)");
  std::set<std::int64_t> seen;
  for (int seed = 1; seed < 60; ++seed) {
    Schedule sch(before, seed);
    const auto b = get_block(sch, "B");
    const auto place = sample_compute_location(sch, b);
    seen.insert(decision_of(sch));
    compute_at(sch, b, place);
    expect_result(sch, before);
  }
  EXPECT_EQ(seen, (std::set<std::int64_t>{-2, -1, 0, 1, 2}));
}

TEST(sample_compute_location, takes_a_decision_or_the_next_below) {
  const auto before = matmul(8, 6, 4);
  for (const auto& [asked, given] : {std::pair{5, -1}, std::pair{-1, -1}, std::pair{-2, -1}}) {
    Schedule sch(before);
    sample_compute_location(sch, get_block(sch, "C"), asked);
    EXPECT_EQ(decision_of(sch), given);
  }
  const auto two = two_stages(8, 6);
  Schedule sch(two);
  const auto b = get_block(sch, "B");
  const auto place = sample_compute_location(sch, b, 7);
  EXPECT_EQ(decision_of(sch), 1);
  EXPECT_EQ(sch.name(place), "j");
  sample_compute_location(sch, b, -2);
  EXPECT_EQ(decision_of(sch), -2);
}

TEST(sample_compute_location, gives_marks_that_are_no_loops) {
  Schedule sch(two_stages(8, 6));
  const auto b = get_block(sch, "B");
  const auto mark = sample_compute_location(sch, b, -1);
  EXPECT_EQ(sch.name(mark), "root");
  EXPECT_EQ(error_of([&] { split(sch, mark, {infer, 2}); }),
            "handle_is_alive: split: the loop or block is of another schedule");
  reverse_compute_at(sch, get_block(sch, "C"), mark);
  const auto inlined = sample_compute_location(sch, b, -2);
  EXPECT_EQ(sch.name(inlined), "inlined");
  reverse_compute_at(sch, get_block(sch, "C"), inlined);
  EXPECT_EQ(sch.blocks_named(0, "C").size(), 0u);
}

}  // namespace
}  // namespace loopsmith
