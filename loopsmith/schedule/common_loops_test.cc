// SPDX-License-Identifier: Apache-2.0
// Blocks that share loops, and overwrite what others of them read in earlier or later iterations.
#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr std::string_view parameters =
    R"(A: T.Buffer((12, 12), "int32"), B: T.Buffer((12, 12), "int32"), V: T.Buffer((12,), "int32"))";

/// The error of a step, after which the program computes what it did.
std::string error_after(const Ptr<PrimFunc>& before, const std::function<void(Schedule&)>& step) {
  Schedule sch(before);
  std::string error = error_of([&] { step(sch); });
  expect_result(sch, before);
  return error;
}

TEST(common_loops, partial_results_wait_for_what_they_add_up) {
  const auto before = program(parameters, R"(
for i in range(8):
    for k in range(8):
        with T.block("V"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                V[vi] = 0
            V[vi] = V[vi] + A[vi, vk]
    with T.block("A"):
        vi = T.axis.spatial(8, i)
        A[vi + 1, 0] = V[vi]
)");
  EXPECT_EQ(error_after(before, [](Schedule& sch) { rfactor(sch, get_loop(sch, "k"), 0); }), "");
}

/// for i: V = sums of A; then a block that uses V or A, in loops of its own or the same.
Ptr<PrimFunc> sums_and(std::string_view user) {
  return program(parameters, fmt::format(R"(
for i in range(8):
    for j in range(8):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi + 1, vj] = B[vi, vj] * 2
for i in range(8):
    for k in range(8):
        with T.block("V"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                V[vi] = 0
            V[vi] = V[vi] + A[vi + 1, vk]
    for j in range(8):
        with T.block("user"):
            vi, vj = T.axis.remap("SS", [i, j])
            {}
)",
                                         user));
}

TEST(common_loops, a_result_is_not_early_for_readers_of_what_was_there) {
  const auto to_producer = [](Schedule& sch) {
    reverse_compute_at(sch, get_block(sch, "V"), get_loops(sch, get_block(sch, "A"))[0]);
  };
  EXPECT_EQ(error_after(sums_and("B[vi, vj] = V[vi] + V[vj]"), to_producer),
            "step_keeps_results: reverse_compute_at: results would change: user (i=6, j=7) "
            "reads V before V (vi=7, vk=0) writes it, and would come after that");
  EXPECT_EQ(error_after(sums_and("B[vi, vj] = V[vi] + 1"), to_producer), "");
}

Ptr<PrimFunc> three_in_a_loop(std::string_view first, std::string_view second,
                              std::string_view third) {
  return program(parameters, fmt::format(R"(
T0 = T.alloc_buffer((8, 8), "int32")
T1 = T.alloc_buffer((8, 8), "int32")
for i in range(8):
    for j in range(8):
        with T.block("first"):
            vi, vj = T.axis.remap("SS", [i, j])
            {}
    for j in range(8):
        with T.block("second"):
            vi, vj = T.axis.remap("SS", [i, j])
            {}
    for j in range(8):
        with T.block("third"):
            vi, vj = T.axis.remap("SS", [i, j])
            {}
)",
                                         first, second, third));
}

void second_to_first(Schedule& sch) {
  reverse_compute_at(sch, get_block(sch, "second"), get_loops(sch, get_block(sch, "first"))[1]);
}

TEST(common_loops, a_wait_in_an_iteration_keeps_a_reader_from_lagging) {
  EXPECT_EQ(error_after(
                three_in_a_loop("B[vi + 2, vj] = A[vi, vj]",
                                "T0[vi, vj] = B[vi + 4, vj] - B[vi + 2, vj]", "V[vi] = T0[vi, vj]"),
                second_to_first),
            "step_keeps_results: reverse_compute_at: results would change: second (vi=5, "
            "vj=7) reads B before first (vi=7, vj=7) writes it, and would come after that");
}

TEST(common_loops, a_reader_of_what_was_there_does_not_lag) {
  EXPECT_EQ(error_after(three_in_a_loop("A[vi, vj] = B[vi, vj] + 1", "T0[vi, vj] = A[vi + 1, vj]",
                                        "V[vj] = 3"),
                        second_to_first),
            "step_keeps_results: reverse_compute_at: results would change: second (vi=6, "
            "vj=7) reads A before first (vi=7, vj=7) writes it, and would come after that");
}

TEST(common_loops, what_all_of_an_iteration_reads_is_not_left_to_later_ones) {
  const auto copied_again = [](std::string_view reader) {
    return program(parameters, fmt::format(R"(
D = T.alloc_buffer((12, 12), "int32")
for i in range(8):
    for j in range(8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + V[vi]
    for i1, j1 in T.grid(8, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i1, j1])
            D[vi, vj] = B[vi, vj]
    for j in range(8):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = D[{}, vj]
)",
                                           reader));
  };
  const auto to_producer = [](Schedule& sch) {
    reverse_compute_at(sch, get_block(sch, "D"), get_loops(sch, get_block(sch, "B"))[1]);
  };
  EXPECT_EQ(error_after(copied_again("7 - vi"), to_producer),
            "step_keeps_results: reverse_compute_at: results may change: instances of "
            "`D[vi, vj] = B[vi, vj]` run more than once already");
  // D is a copy of B, and what is read of it was copied in time.
  EXPECT_EQ(error_after(copied_again("vi"), to_producer), "");
}

TEST(common_loops, a_producer_keeps_its_iteration_where_its_inputs_change) {
  const auto first_to_second = [](Schedule& sch) {
    compute_at(sch, get_block(sch, "first"), get_loops(sch, get_block(sch, "second"))[1]);
  };
  const std::string_view first = "T0[vi, vj] = V[vj] + 1",
                         earlier = "T1[vi, vj] = T0[T.max(vi - 1, 0), vj]",
                         same = "T1[vi, vj] = T0[vi, vj]";
  EXPECT_EQ(error_after(three_in_a_loop(first, earlier, "V[vj] = V[vj] + vi"), first_to_second),
            "step_keeps_results: compute_at: results would change: first (vi=0, vj=7) reads "
            "V before third (i=0, j=7) writes it, and would come after that");
  EXPECT_EQ(error_after(three_in_a_loop(first, same, "V[vj] = V[vj] + vi"), first_to_second), "");
  EXPECT_EQ(error_after(three_in_a_loop(first, earlier, "B[vi, vj] = V[vj] + vi"), first_to_second),
            "");
}

TEST(common_loops, an_instance_is_inlined_in_its_iteration_alone_where_its_inputs_change) {
  const auto inline_first = [](Schedule& sch) { compute_inline(sch, get_block(sch, "first")); };
  const std::string_view first = "T0[vi, vj] = V[vj] + 1", change = "V[vj] = V[vj] + vi";
  EXPECT_EQ(error_after(three_in_a_loop(first, "B[vi, vj] = T0[T.max(vi - 1, 0), vj]", change),
                        inline_first),
            "step_keeps_results: compute_inline: results would change: first (vi=0, vj=7) "
            "reads V before third (i=0, j=7) writes it, and would come after that");
  EXPECT_EQ(error_after(three_in_a_loop(first, "B[vi, vj] = T0[vi, 7 - vj]", change), inline_first),
            "");
}

TEST(common_loops, a_reader_is_inlined_in_its_iteration_alone_where_others_see_its_results) {
  const auto of_second = [](std::string_view index, std::string_view third) {
    const std::string second = fmt::format("T.where(i >= 1)\n            B[vi, vj] = {}", index);
    return error_after(
        three_in_a_loop("T0[vi, vj] = A[vi, vj] + 1", second, third),
        [](Schedule& sch) { reverse_compute_inline(sch, get_block(sch, "second")); });
  };
  EXPECT_EQ(of_second("T0[vi - 1, vj]", "T1[vi, vj] = B[vi + 1, vj]"),
            "step_keeps_results: reverse_compute_inline: results would change: third (i=6, "
            "j=7) reads B before second (vi=7, vj=7) writes it, and would come after that");
  EXPECT_EQ(of_second("T0[vi, vj]", "T1[vi, vj] = B[vi + 1, vj]"), "");
  EXPECT_EQ(of_second("T0[vi - 1, vj]", "T1[vi, vj] = V[vj]"), "");
}

TEST(common_loops, an_early_reader_of_a_producer_waits_for_it_where_it_is) {
  const auto before = program(parameters, R"(
T0 = T.alloc_buffer((8,), "int32")
for i in range(8):
    with T.block("early"):
        vi = T.axis.spatial(8, i)
        T.where(i >= 1)
        V[vi] = T0[vi - 1]
    with T.block("T0"):
        vi = T.axis.spatial(8, i)
        T0[vi] = A[vi, 0] + 1
for i, j in T.grid(8, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = T0[vi]
)");
  EXPECT_EQ(error_after(before,
                        [](Schedule& sch) {
                          compute_at(sch, get_block(sch, "T0"),
                                     get_loops(sch, get_block(sch, "B"))[0]);
                        }),
            "consumers_are_in_the_loop: compute_at: Not all required blocks are under the loop "
            "scope: early reads what block T0 writes, outside of loop i");
}

TEST(common_loops, a_reader_moves_away_from_a_writer_that_it_was_ahead_of) {
  const auto to_last = [](Schedule& sch) {
    compute_at(sch, get_block(sch, "T0"), get_loops(sch, get_block(sch, "B"))[0]);
  };
  const auto ahead = [](int offset) {
    return program(parameters, fmt::format(R"(
T0 = T.alloc_buffer((8,), "int32")
for i in range(8):
    with T.block("V"):
        vi = T.axis.spatial(8, i)
        V[vi + 1] = A[vi, 0]
    with T.block("T0"):
        vi = T.axis.spatial(8, i)
        T0[vi] = V[vi + {}] + 1
for i, j in T.grid(8, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = T0[vi]
)",
                                           offset));
  };
  EXPECT_EQ(error_after(ahead(1), to_last), "");
  EXPECT_EQ(error_after(ahead(0), to_last), "");
  EXPECT_EQ(error_after(ahead(2), to_last),
            "step_keeps_results: compute_at: results would change: T0 (vi=6) reads V before "
            "V (i=7) writes it, and would come after that");
}

TEST(common_loops, a_copy_that_is_made_anew_does_not_roll) {
  const auto before = program(parameters, R"(
C = T.alloc_buffer((12,), "int32")
for i in range(8):
    for k in range(3):
        with T.block("C"):
            v0 = T.axis.spatial(12, i + k)
            C[v0] = V[v0] + 1
    for j in range(1):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            A[vi, 0] = C[vi] + C[vi + 2]
    for j in range(12):
        with T.block("V"):
            vi, vj = T.axis.remap("SS", [i, j])
            V[vj] = V[vj] + vi
)");
  EXPECT_EQ(error_after(before, [](Schedule& sch) { rolling_buffer(sch, get_block(sch, "C"), 0); }),
            "step_keeps_results: rolling_buffer: results may change: instances of "
            "`C[v0] = V[v0] + 1` run more than once already");
}

}  // namespace
}  // namespace loopsmith
