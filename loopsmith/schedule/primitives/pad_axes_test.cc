// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/pad_axes.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/script_text.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

TEST(pad_axes, repeats_the_last_index_into_a_larger_buffer) {
  const auto before = matmul(5, 6, 7);
  Schedule sch(before);
  sch.verify_quick_answers(true);
  const auto c = get_block(sch, "C");
  const auto loops = get_loops(sch, c);
  cache_write(sch, c, BufferSelector(0), "global");
  pad_axes(sch, c, {4, 8, 1});
  EXPECT_EQ(get_loops(sch, c), loops);
  expect_result(sch, before,
                program(R"(A: T.Buffer((5, 7), "float32"),
         B: T.Buffer((7, 6), "float32"), C: T.Buffer((5, 6), "float32"))",
                        R"(
C_global = T.alloc_buffer((8, 8))
for i, j, k in T.grid(8, 8, 7):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C_global[vi, vj] = T.float32(0)
        C_global[vi, vj] = C_global[vi, vj] + A[T.min(vi, 4), vk] * B[vk, T.min(vj, 5)]
for ax0, ax1 in T.grid(5, 6):
    with T.block("C_global"):
        v0, v1 = T.axis.remap("SS", [ax0, ax1])
        C[v0, v1] = C_global[v0, v1]
)"));
  expect_replays(sch, before);
}

TEST(pad_axes, takes_what_sums_indices_and_has_conditions) {
  const auto before = program(
      R"(X: T.Buffer((9,), "float32"), W: T.Buffer((3,), "float32"), Y: T.Buffer((9,), "float32"))",
      R"(
P = T.alloc_buffer((9,))
for i, r in T.grid(9, 3):
    with T.block("P"):
        vi, vr = T.axis.remap("SR", [i, r])
        with T.init():
            P[vi] = T.float32(0)
        P[vi] = P[vi] + T.if_then_else(1 <= vi + vr and vi + vr < 10, X[vi + vr - 1], T.float32(0)) * W[vr]
for i in range(9):
    with T.block("Y"):
        vi = T.axis.spatial(9, i)
        Y[vi] = T.max(P[vi], T.float32(0))
)");
  Schedule sch(before);
  sch.verify_quick_answers(true);
  const auto p = get_block(sch, "P");
  pad_axes(sch, p, {4, 1});
  expect_result(sch, before);
  compute_at(sch, p, split(sch, get_loops(sch, get_block(sch, "Y"))[0], {infer, 4})[0]);
  EXPECT_TRUE(is_const_int(sch.realize(p).predicate, 1));
  expect_result(sch, before);
}

TEST(pad_axes, reads_what_was_added_to_an_operand) {
  const auto before = program(R"(A: T.Buffer((10, 7), "float32"), C: T.Buffer((10,), "float32"))",
                              R"(
S = T.alloc_buffer((10, 7))
M = T.alloc_buffer((10,))
for i, k in T.grid(10, 7):
    with T.block("S"):
        vi, vk = T.axis.remap("SS", [i, k])
        S[vi, vk] = A[vi, vk] * T.float32(2)
for i, k in T.grid(10, 7):
    with T.block("M"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            M[vi] = T.float32(0)
        M[vi] = T.max(M[vi], T.if_then_else(vk < vi, S[vi, vk], T.float32(0)))
for i in range(10):
    with T.block("C"):
        vi = T.axis.spatial(10, i)
        C[vi] = M[vi]
)");
  Schedule sch(before);
  sch.verify_quick_answers(true);
  pad_axes(sch, get_block(sch, "S"), {4, 1});
  pad_axes(sch, get_block(sch, "M"), {4, 1});
  expect_result(sch, before,
                program(R"(A: T.Buffer((10, 7), "float32"), C: T.Buffer((10,), "float32"))",
                        R"(
S = T.alloc_buffer((12, 7))
M = T.alloc_buffer((12,))
for i, k in T.grid(12, 7):
    with T.block("S"):
        vi, vk = T.axis.remap("SS", [i, k])
        S[vi, vk] = A[T.min(vi, 9), vk] * T.float32(2)
for i, k in T.grid(12, 7):
    with T.block("M"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            M[vi] = T.float32(0)
        M[vi] = T.max(M[vi], T.if_then_else(vk < T.min(vi, 9), S[vi, vk], T.float32(0)))
for i in range(10):
    with T.block("C"):
        vi = T.axis.spatial(10, i)
        C[vi] = M[vi]
)"));
  expect_replays(sch, before);
}

TEST(pad_axes, repeats_the_last_index_where_more_follows_from_an_element_than_a_value) {
  // As an index, a condition, a divisor; and where what was added is unwritten.
  const auto padded = [](std::string_view type, std::string_view value, bool of_both) {
    Schedule sch(program(R"(A: T.Buffer((12,), "float32"), C: T.Buffer((10,), "float32"))",
                         fmt::format(R"(
S = T.alloc_buffer((10,), "{0}")
M = T.alloc_buffer((10,))
for i in range(10):
    with T.block("S"):
        vi = T.axis.spatial(10, i)
        S[vi] = T.cast(vi, "{0}")
for i in range(10):
    with T.block("M"):
        vi = T.axis.spatial(10, i)
        M[vi] = {1}
for i in range(10):
    with T.block("C"):
        vi = T.axis.spatial(10, i)
        C[vi] = M[vi]
)",
                                     type, value)));
    sch.verify_quick_answers(true);
    if (of_both) pad_axes(sch, get_block(sch, "S"), {4});
    pad_axes(sch, get_block(sch, "M"), {4});
    const Block& block = sch.get(get_block(sch, "M"));
    return to_string(Ref(block.body.as<BufferStore>()->value));
  };
  EXPECT_EQ(padded("float32", "S[vi]", true), "S[vi]");
  EXPECT_EQ(padded("float32", "S[vi]", false), "S[T.min(vi, 9)]");
  EXPECT_EQ(padded("int32", "A[S[vi]]", true), "A[S[T.min(vi, 9)]]");
  EXPECT_EQ(padded("float32", "T.Select(S[vi] < T.float32(3), A[vi], T.float32(0))", true),
            "T.Select(S[T.min(vi, 9)] < T.float32(3), A[vi], T.float32(0))");
  EXPECT_EQ(padded("float32", "A[vi]", true), "A[vi]");
}

TEST(pad_axes, takes_symbolic_sizes) {
  const auto before = program("a: T.handle, c: T.handle", R"(
n = T.int32()
A = T.match_buffer(a, (n, 8))
C = T.match_buffer(c, (n, 8))
B = T.alloc_buffer((n, 8))
for i, j in T.grid(n, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] + T.float32(1)
for i, j in T.grid(n, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj] * T.float32(2)
)");
  Schedule sch(before);
  pad_axes(sch, get_block(sch, "B"), {16, 1});
  expect_result(sch, before);
}

TEST(pad_axes, leaves_reductions_that_are_guarded) {
  const auto before = matmul(5, 6, 7);
  Schedule sch(before);
  sch.verify_quick_answers(true);
  const auto c = get_block(sch, "C");
  cache_write(sch, c, BufferSelector(0), "global");
  split(sch, get_loops(sch, c)[2], {infer, 4});
  pad_axes(sch, c, {4, 1, 1});
  expect_result(sch, before);
}

TEST(pad_axes, refuses_what_it_cannot_repeat) {
  Schedule sch(matmul(5, 6, 7));
  const auto c = get_block(sch, "C");
  for (const auto& padding : {std::vector<std::int64_t>{2, 4}, {2, 4, 0}}) {
    EXPECT_EQ(error_of([&] { pad_axes(sch, c, padding); }),
              "arguments_fit: pad_axes: the padding of block C is no list of 3 positive "
              "integers");
  }
  EXPECT_EQ(error_of([&] {
              pad_axes(sch, *block_around(sch, sch.node(c)), std::vector<std::int64_t>{});
            }),
            "block_is_not_root: pad_axes: the primitive does not operate on the root block root");
  EXPECT_EQ(error_of([&] { pad_axes(sch, c, {1, 1, 4}); }),
            "axes_can_be_padded: pad_axes: axis v_k of block C is a reduction axis");
  EXPECT_EQ(error_of([&] { pad_axes(sch, c, {4, 1, 1}); }),
            "axes_can_be_padded: pad_axes: buffer C, which block C writes, is not allocated by "
            "the block around it, where it could be enlarged");
  split(sch, get_loops(sch, c)[0], {infer, 5});
  EXPECT_EQ(error_of([&] { pad_axes(sch, c, {4, 1, 1}); }),
            "axes_can_be_padded: pad_axes: axis v_i of block C is not bound to a loop of "
            "its own from 0");
  decompose_reduction(sch, c, get_loops(sch, c)[3]);
  EXPECT_EQ(error_of([&] { pad_axes(sch, c, {1, 4, 1}); }),
            "block_is_complete_or_reduction: pad_axes: block C_update is neither a complete block "
            "- it violates condition #1 - nor a reduction block - it violates condition #1");
}

TEST(pad_axes, refuses_nests_that_are_shared_or_guarded) {
  const auto refused = [](std::string_view first, std::string_view second) {
    Schedule of(program(R"(A: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32"))",
                        fmt::format("B = T.alloc_buffer((12,))\n{}\n{}", first, second)));
    return error_of([&] { pad_axes(of, get_block(of, "B"), {4}); });
  };
  EXPECT_EQ(refused(R"(
for i in range(6):
    with T.block("B"):
        vi = T.axis.spatial(6, i)
        B[vi] = A[vi]
    C[i] = B[i])",
                    ""),
            "nest_is_perfect: pad_axes: block B is not alone in the loops around it");
  EXPECT_EQ(refused(R"(
for i in range(6):
    with T.block("B"):
        vi = T.axis.spatial(6, i)
        T.where(i < 5)
        B[vi] = A[vi])",
                    ""),
            "step_keeps_results: pad_axes: results may change: block B is not known to write for "
            "all values of its "
            "axes");
  EXPECT_EQ(refused(R"(
for i in range(6):
    with T.block("B"):
        vi = T.axis.spatial(6, i)
        B[vi] = T.call_extern("float32", "f", A[vi]))",
                    ""),
            "step_keeps_results: pad_axes: results may change: block B asserts, or calls what may "
            "have effects");
  EXPECT_EQ(refused(R"(
for i in range(6):
    with T.block("B"):
        vi = T.axis.spatial(6, i)
        B[vi * 2] = A[vi])",
                    ""),
            "axes_can_be_padded: pad_axes: axis vi of block B is not one index of buffer B");
}

TEST(pad_axes, refuses_extents_that_depend_on_a_loop) {
  Schedule sch(program(R"(A: T.Buffer((6,), "float32"), D: T.Buffer((6,), "float32"))", R"(
C = T.alloc_buffer((6, 6))
for i in range(6):
    for k in range(i + 1):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            vk = T.axis.spatial(i + 1, k)
            C[vi, vk] = A[vk]
for i in range(6):
    with T.block("D"):
        vi = T.axis.spatial(6, i)
        D[vi] = C[vi, 0]
)"));
  EXPECT_EQ(error_of([&] { pad_axes(sch, get_block(sch, "C"), {1, 4}); }),
            "axes_can_be_padded: pad_axes: axis vk of block C is not bound to a loop of its own "
            "from 0");
}

}  // namespace
}  // namespace loopsmith
