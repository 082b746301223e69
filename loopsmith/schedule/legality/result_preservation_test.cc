// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/result_preservation.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "loopsmith/ir/structural.h"
#include "loopsmith/schedule/legality/testing/wrong_steps.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"
#include "loopsmith/schedule/testing/sound.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr const char* chain = R"((A: T.Buffer((8,)), C: T.Buffer((8,))):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[7 - vi]
    for i in range(8):
        with T.block("sum"):
            vi = T.axis.spatial(8, i)
            C[vi] = C[vi] + A[vi]
)";

std::string refused_by(WrongStep step, const char* block) {
  Schedule sch(program(chain));
  const auto before = structural_hash(sch.func());
  const std::string error = error_of([&] { step(sch, get_block(sch, block)); });
  EXPECT_EQ(structural_hash(sch.func()), before) << "a refused step left something";
  return error;
}

TEST(result_preservation, refuses_statements_that_change_places) {
  EXPECT_EQ(refused_by(exchange_statements, "B"),
            "step_keeps_results: wrong: results would change: C (i=7) reads what B (vi=0) "
            "writes to B, which would not be there yet");
}

TEST(result_preservation, refuses_to_leave_out_what_is_seen) {
  EXPECT_EQ(refused_by(leave_out_the_last, "B"),
            "step_keeps_results: wrong: results would change: sum (vi=0) would not run any more, "
            "and C is used outside");
}

TEST(result_preservation, refuses_to_repeat_what_adds_up_or_is_overwritten) {
  EXPECT_EQ(refused_by(repeat_the_block, "C").substr(0, 18), "step_keeps_results");
  EXPECT_EQ(refused_by(repeat_the_block, "sum").substr(0, 45),
            "step_keeps_results: wrong: results may change");
}

TEST(result_preservation, refuses_to_read_a_copy_that_is_made_too_early) {
  EXPECT_EQ(refused_by(copy_too_early, "C").substr(0, 39),
            "step_keeps_results: wrong: results woul");
}

TEST(result_preservation, refuses_statements_that_do_something_else) {
  EXPECT_EQ(refused_by(store_another_value, "C"),
            "step_keeps_results: wrong: results may change: "
            "`C[vi] = B[7 - vi] + T.float32(1)` is not what it was");
  EXPECT_EQ(refused_by(copy_another_value, "C"),
            "step_keeps_results: wrong: results may change: "
            "`wrong[i_wrong] = B[i_wrong] + B[i_wrong]` is new, and no copy");
}

TEST(result_preservation, takes_back_a_step_in_which_something_is_thrown) {
  Schedule sch(program(chain));
  const BlockRV block = get_block(sch, "B");
  const auto loops = get_loops(sch, block);
  split(sch, loops[0], {infer, 2});
  const auto before = structural_hash(sch.func());
  const std::size_t steps = sch.steps().size();
  EXPECT_THROW(throw_half_done(sch, block), std::runtime_error);
  EXPECT_EQ(structural_hash(sch.func()), before);
  EXPECT_EQ(sch.steps().size(), steps);
  sch.check_tree();
  // The handles from before are as good as they were.
  split(sch, get_loops(sch, block)[1], {infer, 2});
}

TEST(result_preservation, tells_the_inits_of_peeled_reductions_apart) {
  const auto before = program(R"(b: T.handle, E: T.Buffer((1,), "int32"))", R"(
n = T.int32()
B = T.match_buffer(b, (4, n), "int32")
C = T.alloc_buffer((4, n), "int32")
D = T.alloc_buffer((4, n), "int32")
for i0, i1 in T.grid(4, n):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i0, i1])
        C[vi, vj] = B[vi, vj] + 1
for i2, i3 in T.grid(4, n):
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i2, i3])
        D[vi, vj] = C[vi, vj] * 2
for i4, i5, i6 in T.grid(2, 4, n):
    with T.block("E"):
        vr, vi, vj = T.axis.remap("RRR", [i4, i5, i6])
        with T.init():
            E[0] = 0
        E[0] = E[0] + D[vi, vj] * vr
)");
  Schedule sch(before);
  sch.verify_quick_answers(true);
  peel(sch, get_loop(sch, "i5"), 1);
  compute_at(sch, get_block(sch, "C"), get_loop(sch, "i2"));
  expect_result(sch, before);
}

/// What is read may change when all is done.
TEST(result_preservation, takes_blocks_for_stable_whose_inputs_change_afterwards) {
  const auto func = program(R"(A: T.Buffer((2,), "int32"), C: T.Buffer((3, 4), "int32"))", R"(
D = T.alloc_buffer((4,), "int32")
E = T.alloc_buffer((4,), "int32")
for i in range(2, -1, -1):
    for j in range(4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = vi
        if i >= 1:
            with T.block("D"):
                vj = T.axis.spatial(4, j)
                D[vj] = A[1] + 3
for j in range(4):
    with T.block("E"):
        vj = T.axis.spatial(4, j)
        E[vj] = D[vj] * 2
for i in range(2):
    with T.block("A"):
        vi = T.axis.spatial(2, i)
        A[vi] = E[vi] + E[vi + 2]
)");
  Schedule sch(func);
  sch.verify_quick_answers(true);
  reverse_compute_at(sch, get_block(sch, "E"), get_loops(sch, get_block(sch, "C"))[1]);
  expect_sound(sch, func);
}

// Two instances of A_local write one element, so what an instance of P reads is not told by its
// name, which another iteration gives again.
TEST(result_preservation, takes_no_name_that_comes_again_for_one_instance) {
  const auto before = program(R"(A: T.Buffer((4, 6), "int32"), C: T.Buffer((3, 5), "int32"))", R"(
A_local = T.alloc_buffer((4, 6), "int32")
P = T.alloc_buffer((4,), "int32")
S = T.alloc_buffer((3,), "int32")
for i in range(3):
    with T.block("A_local"):
        v = T.axis.spatial(3, i)
        T.reads(A[v:v + 2, 4 - v:6 - v])
        T.writes(A_local[v:v + 2, 4 - v:6 - v])
        for y, x in T.grid(2, 2):
            A_local[v + y, 4 - v + x] = A[v + y, 4 - v + x]
    for k in range(2):
        with T.block("P"):
            v = T.axis.spatial(4, i + k)
            P[v] = A_local[v, 5 - v] + 3
    with T.block("S"):
        v = T.axis.spatial(3, i)
        S[v] = P[v] + P[v + 1]
    for j in range(5):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = S[vi]
)");
  Schedule sch(before);
  sch.verify_quick_answers(true);
  compute_inline(sch, get_block(sch, "S"));
  expect_result(sch, before);
}

}  // namespace
}  // namespace loopsmith
