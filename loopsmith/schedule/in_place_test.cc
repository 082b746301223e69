// SPDX-License-Identifier: Apache-2.0
// Reductions that read other elements of what they update: Cholesky, LU, dynamic programming.
#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

struct InPlace {
  std::string_view parameters;
  std::string_view body;
};

constexpr InPlace in_place[] = {
    // Cholesky.
    {R"(A: T.Buffer((20, 20), "float32"))", R"(
for j in range(20):
    for i in range(j, 20):
        for k in range(j):
            A[i, j] = A[i, j] - A[i, k] * A[j, k]
)"},
    // A chain of matrices.
    {R"(C: T.Buffer((18, 18), "int32"), W: T.Buffer((18,), "int32"))", R"(
for d in range(1, 18):
    for i in range(18 - d):
        for k in range(i, i + d):
            C[i, i + d] = T.min(C[i, i + d], C[i, k] + C[k + 1, i + d] + W[k])
)"},
    // A triangular system of any size.
    {R"(a: T.handle, b: T.handle, n: T.int32)", R"(
L = T.match_buffer(a, (n, n), "float32")
x = T.match_buffer(b, (n,), "float32")
for i in range(n):
    for k in range(i):
        x[i] = x[i] - L[i, k] * x[k]
)"},
    // LU, as Crout has it.
    {R"(A: T.Buffer((20, 20), "float32"))", R"(
for i, j in T.grid(20, 20):
    for k in range(T.min(i, j)):
        A[i, j] = A[i, j] - A[i, k] * A[k, j]
)"},
    // A block without an init.
    {R"(A: T.Buffer((20, 20), "float32"))", R"(
for j, i, k in T.grid(20, 20, 20):
    with T.block("A"):
        vj, vi, vk = T.axis.remap("SSR", [j, i, k])
        T.where(k < j)
        A[vi, vj] = A[vi, vj] - A[vi, vk] * A[vj, vk]
)"},
    // Elements that are no box apart.
    {R"(x: T.Buffer((40,), "float32"))", R"(
for i, k in T.grid(20, 20):
    x[i * 2] = x[i * 2] + x[k * 2 + 1]
)"},
};

TEST(in_place, reductions_run_at_once) {
  for (const InPlace& each : in_place) {
    const auto func = program(each.parameters, each.body);
    for (const bool in_lanes : {false, true}) {
      Schedule sch(func);
      const LoopRV k = get_loop(sch, "k");
      EXPECT_EQ(error_of([&] { in_lanes ? vectorize(sch, k) : parallel(sch, k); }), "")
          << each.body;
      expect_result(sch, func);
    }
  }
}

/// Why loop `k` may not run so.
std::string refusal_of_solve(std::string_view extent, std::string_view index, bool in_lanes) {
  Schedule sch(program(R"(x: T.Buffer((40,), "float32"), P: T.Buffer((20,), "int32"))",
                       fmt::format(R"(
for i in range(20):
    for k in range({}):
        x[i] = x[i] - x[{}]
)",
                                   extent, index)));
  const LoopRV k = get_loop(sch, "k");
  return error_of([&] { in_lanes ? vectorize(sch, k) : parallel(sch, k); });
}

TEST(in_place, what_may_read_its_result_is_named) {
  EXPECT_EQ(refusal_of_solve("i", "k", false), "");
  EXPECT_EQ(refusal_of_solve("i + 1", "k", false),
            "step_keeps_results: parallel: results would change: iterations of loop k depend on "
            "each other: "
            "iteration i=1, k=0 writes x[1], iteration i=1, k=1 reads it");
  EXPECT_EQ(refusal_of_solve("i", "P[k]", false),
            "step_keeps_results: parallel: results may change: whether iterations of loop k depend "
            "on each other is "
            "unknown, as index 0 of x is not quasi-affine: P[k]");
  // In lanes, all reads of a statement come before its writes.
  EXPECT_EQ(refusal_of_solve("i, 20", "k", true), "");
  EXPECT_EQ(refusal_of_solve("i, 20", "k", false),
            "step_keeps_results: parallel: results would change: iterations of loop k depend on "
            "each other: "
            "iteration i=0, k=0 reads x[0], iteration i=0, k=1 writes it");
}

TEST(in_place, a_result_that_one_iteration_reads_is_not_partial) {
  Schedule sch(program(R"(A: T.Buffer((40, 20), "float32"))", R"(
for j in range(20):
    for k in range(j + 1):
        A[j, j] = T.min(A[j, j], A[j * 2, k])
)"));
  EXPECT_EQ(error_of([&] { parallel(sch, get_loop(sch, "k")); }),
            "step_keeps_results: parallel: results would change: loop k may read elements of A "
            "that it updates: it reads "
            "A[j * 2, k]: iteration j=0, k=0 writes A[0, 0], iteration j=0, k=0 reads it");
}

constexpr std::string_view shortest = R"(
for d in range(1, 18):
    for i in range(18 - d):
        for k in range(18):
            with T.block("C"):
                vi = T.axis.spatial(18, i)
                vd = T.axis.spatial(T.Range(1, 18), d)
                vk = T.axis.reduce(18, k)
                T.where(k < d)
                with T.init():
                    C[vi, vi + vd] = T.int32(1000)
                C[vi, vi + vd] = T.min(C[vi, vi + vd], C[vi, vi + vk] + C[vi + vk + 1, vi + vd])
)";
constexpr std::string_view table = R"(C: T.Buffer((18, 18), "int32"))";

TEST(in_place, reads_are_declared) {
  Schedule sch(program(table, shortest));
  const Block& block = sch.get(get_block(sch, "C"));
  ASSERT_EQ(block.reads.size(), 1U);
  EXPECT_EQ(block.reads[0]->buffer->name, "C");
}

TEST(in_place, a_reduction_is_factored_inside_of_its_results) {
  const auto before = program(table, shortest);
  Schedule sch(before);
  const auto k = split(sch, get_loop(sch, "k"), {infer, 4});
  rfactor(sch, k[1], 0);
  expect_result(sch, before);
  EXPECT_NE(body_of(sch).find(R"(
        for i in range(18 - d):
            for k_0_1, k_1_1 in T.grid(5, 4):
                with T.block("C_rf"):)"),
            std::string::npos)
      << body_of(sch);
}

TEST(in_place, an_init_goes_before_any_loop_where_nothing_reads_what_it_overwrites) {
  const auto before = program(table, shortest);
  for (const std::string loop : {"d", "i", "k"}) {
    Schedule sch(before);
    decompose_reduction(sch, get_block(sch, "C"), get_loop(sch, loop));
    if (loop == "k") parallel(sch, get_loop(sch, "k"));
    expect_result(sch, before);
  }
}

TEST(in_place, what_a_reduction_reads_of_its_results_is_finished) {
  const auto before = program(R"(A: T.Buffer((9, 9), "float32"))", R"(
for i, j, k in T.grid(9, 9, 9):
    with T.block("A"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        T.where(k < j)
        with T.init():
            A[vi, vj] = T.float32(1)
        A[vi, vj] = A[vi, vj] + A[vi, vk]
)");
  Schedule started(before);
  decompose_reduction(started, get_block(started, "A"), get_loop(started, "j"));
  expect_result(started, before);
  Schedule factored(before);
  rfactor(factored, get_loop(factored, "k"), 0);
  expect_result(factored, before);
}

TEST(in_place, an_init_of_false_axes_keeps_its_place) {
  Schedule sch(program(R"(A: T.Buffer((8,), "float32"), B: T.Buffer((8, 8), "float32"))", R"(
for i, j, k in T.grid(8, 8, 8):
    with T.block("A"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            A[vi] = T.float32(0)
        A[vi] = A[vi] + B[vj, vk]
)"));
  EXPECT_EQ(error_of([&] { reorder(sch, {get_loop(sch, "k"), get_loop(sch, "j")}); }),
            "step_keeps_results: reorder: results would change: loop k would run before what it "
            "depends on: iteration i=0, "
            "j=0, k=1 reads A[0], iteration i=0, j=1, k=0 writes it");
  EXPECT_EQ(error_of([&] { vectorize(sch, get_loop(sch, "j")); }),
            "step_keeps_results: vectorize: results may change: whether iterations of loop j "
            "depend on each other is "
            "unknown, as it runs instances of a reduction more than once");
}

TEST(in_place, a_triangular_reduction_has_no_dimension_of_its_own) {
  const auto before =
      program(R"(A: T.Buffer((20,), "float32"), B: T.Buffer((20, 20), "float32"))", R"(
for j in range(20):
    for k in range(j):
        with T.block("A"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                A[vj] = T.float32(1)
            A[vj] = A[vj] + B[vj, vk] * A[vk]
)");
  Schedule sch(before);
  EXPECT_EQ(error_of([&] { rfactor(sch, get_loop(sch, "k"), 0); }),
            "nest_is_plain: rfactor: partial results of block A cannot be computed before loop k, "
            "as bounds of the reduction depend on loops around it");
  parallel(sch, get_loop(sch, "k"));
  expect_result(sch, before);
}

TEST(in_place, an_init_stays_behind_readers_of_what_it_overwrites) {
  Schedule sch(program(R"(A: T.Buffer((8,), "float32"), B: T.Buffer((8, 8), "float32"))", R"(
for i in range(8):
    B[i, 0] = A[i]
    for k in range(8):
        with T.block("A"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                A[vi] = T.float32(0)
            A[vi] = A[vi] + B[vi, vk]
)"));
  EXPECT_EQ(error_of([&] { decompose_reduction(sch, get_block(sch, "A"), get_loop(sch, "i")); }),
            "step_keeps_results: decompose_reduction: results would change: `B[i, 0] = A[i]` (i=7) "
            "reads A before A_init (vi_init=7) writes it, and would come after that");
}

TEST(in_place, an_init_stays_behind_readers_of_what_was_there_before) {
  const auto error = [](std::string_view index) {
    const auto before = program(R"(A: T.Buffer((9,), "float32"), B: T.Buffer((8, 8), "float32"))",
                                fmt::format(R"(
for i in range(8):
    for k in range(8):
        with T.block("A"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                A[vi] = T.float32(0)
            A[vi] = A[vi] + B[vi, vk]
    B[i, 0] = A[{}]
)",
                                            index));
    Schedule sch(before);
    const BlockRV sums = get_block(sch, "A");
    const std::string refusal =
        error_of([&] { decompose_reduction(sch, sums, get_loop(sch, "i")); });
    expect_result(sch, before);
    return refusal;
  };
  EXPECT_EQ(error("i"), "");
  EXPECT_EQ(error("i // 2"), "");
  EXPECT_EQ(error("i + 1"),
            "step_keeps_results: decompose_reduction: results would change: `B[i, 0] = A[i + 1]` "
            "(i=6) reads A before A_init (vi_init=7) writes it, and would come after that");
}

TEST(in_place, an_init_goes_before_readers_of_partial_results) {
  const auto before = program(R"(A: T.Buffer((8,), "int32"), B: T.Buffer((8, 8), "int32"))", R"(
for k in range(8):
    for i in range(8):
        with T.block("A"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                A[vi] = 1
            A[vi] = A[vi] + B[vi, vk]
    for j in range(8):
        B[j, k] = A[7 - j]
)");
  Schedule sch(before);
  decompose_reduction(sch, get_block(sch, "A"), get_loop(sch, "k"));
  expect_result(sch, before);
}

TEST(in_place, partial_results_need_an_init_that_ran) {
  Schedule sch(program(R"(A: T.Buffer((8,), "float32"), B: T.Buffer((8, 8), "float32"))", R"(
for i, k in T.grid(8, 8):
    with T.block("A"):
        vi, vk = T.axis.remap("SR", [i, k])
        T.where(i < k)
        with T.init():
            A[vi] = T.float32(0)
        A[vi] = T.max(A[vi], B[vi, vk])
)"));
  EXPECT_EQ(error_of([&] { rfactor(sch, get_loop(sch, "k"), 0); }),
            "nest_is_plain: rfactor: partial results of block A cannot be computed before loop i, "
            "as its condition does not only bound the reduction's end");
}

}  // namespace
}  // namespace loopsmith
