// SPDX-License-Identifier: Apache-2.0
// Programs drawn from the grammar of loop nests under random steps, lowered: what they compute
// stays the same.
#include <gtest/gtest.h>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/random_nest.h"
#include "loopsmith/schedule/testing/semantics.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/support/testing/fuzz_cases.h"
#include "loopsmith/transform/pipeline.h"

namespace loopsmith {
namespace {

using schedule_testing::all_loops;
using schedule_testing::random_nest;
using schedule_testing::RandomNest;

/// Programs that were lowered to others once.
constexpr std::string_view found[] = {
    // An init that runs before all updates forgets what an update reads by another name.
    R"(A: T.Buffer((2, 2), "uint32")):
    V = T.decl_buffer((1, 2), "uint32", data=A.data, elem_offset=2)
    for i, k, j in T.grid(2, 1, 2):
        with T.block("A"):
            vi, vk, vj = T.axis.remap("SRS", [i, k, j])
            with T.init():
                A[vj, vi] = T.uint32(1)
            A[vj, vi] = A[vj, vi] + V[vk, vj] * T.uint32(3))",
    // Instances that run again start their results again.
    R"(A: T.Buffer((6,), "int32"), C: T.Buffer((6,), "int32")):
    for k, r in T.grid(6, 3):
        for j in range(r * 2, r * 2 + 6):
            with T.block("C"):
                vk = T.axis.reduce(6, k)
                vj = T.axis.spatial(6, j - r * 2)
                with T.init():
                    C[vj] = 0
                C[vj] = C[vj] + A[vj] + 2)",
    // An init that decides how often its loop runs.
    R"(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        for k in range(A[i] % 4):
            with T.block("A"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    A[vi] = 0
                A[vi] = A[vi] + B[vk] + 1)",
    // An init that decides whether the block runs.
    R"(A: T.Buffer((2,), "int32"), B: T.Buffer((1,), "int32"), C: T.Buffer((1,), "int32")):
    for k in range(2):
        with T.block("C"):
            vk = T.axis.reduce(2, k)
            T.where(C[0] < 2)
            with T.init():
                C[0] = B[0]
            C[0] = C[0] + A[vk])",
    // A reduction over nothing, the outer loop of which goes down.
    R"(A: T.Buffer((1,), "int32")):
    for i in range(5):
        for j in range(0):
            with T.block("A"):
                vi = T.axis.reduce(5, 4 - i)
                vj = T.axis.reduce(0, j)
                with T.init():
                    A[0] = 1
                A[0] = A[0] + 3
        for j in range(3):
            A[0] = A[0] * 3)",
    // A reduction that starts where a loop says.
    R"(A: T.Buffer((7,), "int32"), C: T.Buffer((7,), "int32")):
    for i in range(7):
        for j in range(i, 7):
            with T.block("C"):
                vi = T.axis.spatial(7, i)
                vj = T.axis.reduce((i, 7), j)
                with T.init():
                    C[vi] = A[vi]
                C[vi] = C[vi] + A[vj])",
    // Shared memory whose parts are used in turn, again and again.
    R"(A: T.Buffer((5,), "int32"), C: T.Buffer((2,), "int32")):
    S = T.alloc_buffer((2,), "int32", scope="shared")
    for k, i in T.grid(5, 2):
        with T.block("S"):
            vk, vi = T.axis.remap("RS", [k, i])
            with T.init():
                S[vi] = 0
            S[vi] = S[vi] + A[vk] * (vi + 1)
        with T.block("C"):
            vi = T.axis.spatial(2, i)
            C[vi] = S[vi])",
    // Shared memory whose parts are used at once.
    R"(A: T.Buffer((3, 4), "int32"), C: T.Buffer((3, 4), "int32")):
    S = T.alloc_buffer((3, 4), "int32", scope="shared")
    for i in T.parallel(3):
        for j in range(4):
            S[i, j] = A[i, j]
        for j in range(4):
            C[i, j] = S[i, 3 - j])",
    // A reduction over nothing in a block whose axes reduce, too.
    R"(A: T.Buffer((1,), "int32"), C: T.Buffer((1,), "int32")):
    for i, j in T.grid(3, 2):
        with T.block("outer"):
            vi, vj = T.axis.remap("SS", [i, j])
            for k in range(0):
                with T.block("C"):
                    vvi = T.axis.reduce(3, vi)
                    vvj = T.axis.reduce(2, vj)
                    vk = T.axis.reduce(0, k)
                    with T.init():
                        C[0] = A[0]
                    C[0] = C[0] + A[vk])",
    // A statement that does not go in step, in both parts of a loop that was cut.
    R"(A: T.Buffer((2, 2), "int32"), B: T.Buffer((5, 2), "int32")):
    V = T.decl_buffer((3,), "int32", data=A.data, elem_offset=1)
    for i in range(5):
        for j in T.vectorized(i + 1, i + 1 + (1 - i)):
            for k in range(7):
                if k % 2 == 1:
                    with T.block("B"):
                        vi = T.axis.spatial(5, i)
                        vj = T.axis.spatial(2, j)
                        vk = T.axis.spatial(7, k)
                        T.where(0 < k and k < 6)
                        V[vj] = A[vj, vj]
                        B[vj, vj] = A[vj, vj] + V[vj])",
    // Stores for nothing.
    R"(A: T.Buffer((4,), "int32"), C: T.Buffer((1,), "int32")):
    B = T.alloc_buffer((), "int32")
    B[()] = A[0]
    C[0] = B[()]
    for i in T.parallel(4):
        for j in range(4):
            with T.block("B"):
                B[()] = A[j] + i)"};

TEST(random_nests, stay_right_that_were_not) {
  for (const std::string_view lines : found) {
    const std::string text =
        fmt::format("from loopsmith.script import tir as T\n\n@T.prim_func\ndef main({}\n", lines);
    const Ptr<PrimFunc> func = parse_function(text);
    const auto verdict = interp::compare(func, lower_function(func, {.verify = true}));
    EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason << "\n" << text;
  }
}

TEST(random_nests, read_in_an_iteration_what_it_accumulates) {
  const Ptr<PrimFunc> func = parse_function(R"(from loopsmith.script import tir as T

@T.prim_func
def main(A: T.Buffer((2,), "int32")):
    for i in range(2):
        for j in range(i + 1):
            if i != 1:
                A[j] = A[j] + A[i] + 3
            A[i] = A[i] + A[i // 2]
)");
  Schedule schedule(func, 1);
  EXPECT_THROW(parallel(schedule, all_loops(schedule)[1]), UserError);
}

TEST(random_nests, start_before_a_loop_what_it_does_not_change) {
  for (const std::string_view lines : {R"(
        B[j] = B[j] + 1
        with T.block("C"):
            vj = T.axis.reduce(4, j)
            with T.init():
                C[0] = B[0]
            C[0] = T.max(C[0], B[vj]))",
                                       R"(
        if j == 0:
            continue
        with T.block("C"):
            vj = T.axis.reduce(4, j)
            with T.init():
                C[0] = 0
            C[0] = T.max(C[0], B[vj]))"}) {
    const Ptr<PrimFunc> func =
        parse_function(fmt::format("from loopsmith.script import tir as T\n\n@T.prim_func\n"
                                   "def main(B: T.Buffer((4,), 'int32'), C: T.Buffer((1,), "
                                   "'int32')):\n    for j in range(4):{}\n",
                                   lines));
    Schedule schedule(func, 1);
    EXPECT_THROW(parallel(schedule, all_loops(schedule)[0]), UserError) << lines;
  }
}

TEST(random_nests, compute_the_same_after_lowering) {
  const int first = testing::first_fuzz_seed(), cases = testing::fuzz_cases(400);
  int lowered = 0;
  for (int seed = first; seed < first + cases; ++seed) {
    const std::optional<RandomNest> nest = random_nest(static_cast<std::uint64_t>(seed));
    if (!nest) continue;
    Ptr<PrimFunc> after;
    try {
      after = lower_function(nest->after, {.verify = true});
    } catch (const UserError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::lower) << error.what() << "\n" << nest->text();
      continue;
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what() << "\n" << nest->text();
      continue;
    }
    ++lowered;
    const auto verdict = interp::compare(nest->before, after);
    if (schedule_testing::is_of_no_result(verdict.reason)) continue;
    EXPECT_NE(verdict.answer, interp::Answer::different) << verdict.reason << "\n"
                                                         << nest->text() << "lowered to\n"
                                                         << script(after);
  }
  EXPECT_GT(lowered, cases / 3);
}

}  // namespace
}  // namespace loopsmith
