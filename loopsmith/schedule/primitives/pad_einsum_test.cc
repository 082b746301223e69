// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/pad_einsum.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

TEST(pad_einsum, rounds_extents_up_and_pads_what_they_index) {
  const auto before = matmul(6, 5, 7);
  Schedule sch(before);
  const auto c = get_block(sch, "C");
  const auto loops = get_loops(sch, c);
  pad_einsum(sch, c, {2, 4, 8});
  EXPECT_EQ(get_loops(sch, c), loops);
  expect_result(sch, before,
                program(R"(A: T.Buffer((6, 7), "float32"),
         B: T.Buffer((7, 5), "float32"), C: T.Buffer((6, 5), "float32"))",
                        R"(
A_pad = T.alloc_buffer((6, 8))
B_pad = T.alloc_buffer((8, 8))
C_pad = T.alloc_buffer((6, 8))
for i0, i1 in T.grid(6, 8):
    with T.block("A_pad"):
        v0, v1 = T.axis.remap("SS", [i0, i1])
        A_pad[v0, v1] = T.if_then_else(v1 < 7, A[v0, v1], T.float32(0))
for i0, i1 in T.grid(8, 8):
    with T.block("B_pad"):
        v0, v1 = T.axis.remap("SS", [i0, i1])
        B_pad[v0, v1] = T.if_then_else(v0 < 7 and v1 < 5, B[v0, v1], T.float32(0))
for i, j, k in T.grid(6, 8, 8):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C_pad[vi, vj] = T.float32(0)
        C_pad[vi, vj] = C_pad[vi, vj] + A_pad[vi, vk] * B_pad[vk, vj]
for i0, i1 in T.grid(6, 5):
    with T.block("C_pad"):
        v0, v1 = T.axis.remap("SS", [i0, i1])
        C[v0, v1] = C_pad[v0, v1]
)"));
}

TEST(pad_einsum, leaves_alone_what_no_changed_axis_indexes) {
  const auto before = matmul(6, 5, 8);
  Schedule sch(before);
  const auto c = get_block(sch, "C");
  pad_einsum(sch, c, {4, 5, 8});
  EXPECT_EQ(sch.get(c).reads[1]->buffer->name, "B");
  expect_result(sch, before);
  Schedule same(before);
  pad_einsum(same, get_block(same, "C"), {3, 1, 4});
  EXPECT_EQ(same.get(*block_around(same, same.node(get_block(same, "C")))).alloc_buffers.size(),
            0u);
  expect_result(same, before);
}

TEST(pad_einsum, stands_among_producers_and_consumers) {
  const auto before = program(R"(A: T.Buffer((5, 6), "int8"), D: T.Buffer((5,), "int32"))", R"(
B = T.alloc_buffer((5, 3, 6), "int8")
C = T.alloc_buffer((5,), "int32")
for i, k in T.grid(5, 6):
    with T.block("B"):
        vi, vk = T.axis.remap("SS", [i, k])
        B[vi, 2, vk] = A[vi, vk]
for i, k in T.grid(5, 6):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 0
        C[vi] = C[vi] + T.cast(B[vi, 2, vk], "int32") * 3
for i in range(5):
    with T.block("D"):
        vi = T.axis.spatial(5, i)
        D[vi] = C[vi] + 1
)");
  for (const auto& padding : {std::vector<std::int64_t>{4, 4}, {1, 4}, {8, 1}}) {
    Schedule sch(before);
    pad_einsum(sch, get_block(sch, "C"), padding);
    expect_result(sch, before);
  }
}

TEST(pad_einsum, takes_symbolic_sizes) {
  const auto before = program("a: T.handle, c: T.handle", R"(
n = T.int32()
A = T.match_buffer(a, (n, 8))
C = T.match_buffer(c, (n, 8))
for i, j in T.grid(n, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, vj] + T.float32(1)
)");
  Schedule sch(before);
  pad_einsum(sch, get_block(sch, "C"), {16, 1});
  expect_result(sch, before);
}

TEST(pad_einsum, copies_all_of_a_dimension_whose_index_is_made_of_other_axes) {
  const auto before = program(
      R"(A: T.Buffer((4, 7), "float32"), B: T.Buffer((2, 7), "float32"), C: T.Buffer((4,), "float32"))",
      R"(
for h, k in T.grid(4, 7):
    with T.block("C"):
        vh, vk = T.axis.remap("SR", [h, k])
        with T.init():
            C[vh] = T.float32(0)
        C[vh] = C[vh] + A[vh, vk] * B[vh // 2, vk]
)");
  Schedule sch(before);
  sch.verify_quick_answers(true);
  pad_einsum(sch, get_block(sch, "C"), {1, 4});
  expect_result(
      sch, before,
      program(
          R"(A: T.Buffer((4, 7), "float32"), B: T.Buffer((2, 7), "float32"), C: T.Buffer((4,), "float32"))",
          R"(
A_pad = T.alloc_buffer((4, 8))
B_pad = T.alloc_buffer((2, 8))
for i0, i1 in T.grid(4, 8):
    with T.block("A_pad"):
        v0, v1 = T.axis.remap("SS", [i0, i1])
        A_pad[v0, v1] = T.if_then_else(v1 < 7, A[v0, v1], T.float32(0))
for i0, i1 in T.grid(2, 8):
    with T.block("B_pad"):
        v0, v1 = T.axis.remap("SS", [i0, i1])
        B_pad[v0, v1] = T.if_then_else(v1 < 7, B[v0, v1], T.float32(0))
for h, k in T.grid(4, 8):
    with T.block("C"):
        vh, vk = T.axis.remap("SR", [h, k])
        with T.init():
            C[vh] = T.float32(0)
        C[vh] = C[vh] + A_pad[vh, vk] * B_pad[vh // 2, vk]
)"));
  // A padded axis, or memory, in such an index has no copy.
  EXPECT_EQ(error_of([&] { pad_einsum(sch, get_block(sch, "C"), {8, 1}); }),
            "block_is_einsum: pad_einsum: block C is no Einsum pattern, as index 0 of buffer B_pad "
            "is neither an axis nor a number");
}

TEST(pad_einsum, refuses_what_is_no_einsum) {
  Schedule sch(matmul(6, 5, 7));
  const auto c = get_block(sch, "C");
  for (const auto& padding : {std::vector<std::int64_t>{2, 4}, {2, 4, 0}}) {
    EXPECT_EQ(error_of([&] { pad_einsum(sch, c, padding); }),
              "arguments_fit: pad_einsum: the padding of block C is no list of 3 positive "
              "integers");
  }
  EXPECT_EQ(error_of([&] {
              pad_einsum(sch, *block_around(sch, sch.node(c)), std::vector<std::int64_t>{});
            }),
            "block_is_not_root: pad_einsum: the primitive does not operate on the root block root");
  decompose_reduction(sch, c, get_loops(sch, c)[2]);
  EXPECT_EQ(
      error_of([&] { pad_einsum(sch, c, {2, 4, 8}); }),
      "block_is_complete_or_reduction: pad_einsum: block C_update is neither a complete block "
      "- it violates condition #1 - nor a reduction block - it violates condition #1");

  const auto refused = [](std::string_view value, std::string_view update = "C[vi] + ") {
    Schedule of(program(R"(A: T.Buffer((8, 8), "int32"), C: T.Buffer((6,), "int32"))",
                        fmt::format(R"(
for i, k in T.grid(6, 5):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 0
        C[vi] = {}{}
)",
                                    update, value)));
    return error_of([&] { pad_einsum(of, get_block(of, "C"), {4, 4}); });
  };
  EXPECT_EQ(refused("A[vi, vk]"), "");
  EXPECT_EQ(refused("A[vi + 1, vk]"),
            "block_is_einsum: pad_einsum: block C is no Einsum pattern, as index 0 of buffer A is "
            "neither an axis nor a number");
  EXPECT_EQ(refused("7 // A[vi, vk]"),
            "block_is_einsum: pad_einsum: block C is no Einsum pattern, as it divides integers, by "
            "zero in what is padded");
  EXPECT_EQ(refused("(A[vi, vk] + 1)"),
            "step_keeps_results: pad_einsum: results may change: zeros beyond axis vk of block C "
            "may change its result");
  EXPECT_EQ(refused("T.max(C[vi], A[vi, vk])", ""),
            "step_keeps_results: pad_einsum: results may change: zeros beyond axis vk of block C "
            "may change its result");
}

TEST(pad_einsum, refuses_nests_that_it_cannot_extend) {
  Schedule sch(two_stages(6, 6));
  const auto b = get_block(sch, "B");
  const auto c = get_block(sch, "C");
  compute_at(sch, b, get_loops(sch, c)[0]);
  EXPECT_EQ(error_of([&] { pad_einsum(sch, c, {4, 4}); }),
            "nest_is_perfect: pad_einsum: block C is not alone in the loops around it");
  const auto refused = [](std::string_view loops, std::string_view bindings) {
    Schedule of(program(R"(A: T.Buffer((6, 6), "float32"), C: T.Buffer((6, 6), "float32"))",
                        fmt::format(R"(
for {}:
    with T.block("C"):
        vi = T.axis.spatial(6, {})
        vj = T.axis.spatial(6, {})
        C[vi, vj] = A[vi, vj]
)",
                                    loops, bindings, bindings == "i" ? "i" : "j")));
    return error_of([&] { pad_einsum(of, get_block(of, "C"), {4, 4}); });
  };
  EXPECT_EQ(refused("i, j in T.grid(5, 6)", "i + 1"),
            "block_is_einsum: pad_einsum: block C is no Einsum pattern, as not all values of its "
            "axes are run");
  EXPECT_EQ(
      refused("i in range(6)", "i"),
      "block_is_einsum: pad_einsum: block C is no Einsum pattern, as a loop is bound to two of its "
      "axes");
}

TEST(pad_einsum, refuses_a_loop_with_other_statements) {
  Schedule sch(program(R"(A: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32"))", R"(
B = T.alloc_buffer((6,))
for i in range(6):
    with T.block("B"):
        vi = T.axis.spatial(6, i)
        B[vi] = A[vi]
    C[i] = B[i]
)"));
  EXPECT_EQ(error_of([&] { pad_einsum(sch, get_block(sch, "B"), {4}); }),
            "nest_is_perfect: pad_einsum: block B is not alone in the loops around it");
}

TEST(pad_einsum, refuses_to_copy_what_is_unwritten) {
  Schedule sch(program(R"(A: T.Buffer((6, 6), "float32"), C: T.Buffer((6, 6), "float32"))", R"(
B = T.alloc_buffer((6, 6))
for i, j in T.grid(6, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.where(i >= 1)
        B[vi, vj] = A[vi - 1, vj]
for i, j in T.grid(6, 6):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = T.if_then_else(vi >= 1, B[vi, vj], T.float32(0))
)"));
  EXPECT_EQ(error_of([&] { pad_einsum(sch, get_block(sch, "C"), {1, 4}); }),
            "step_keeps_results: pad_einsum: results may change: whether all elements of buffer B "
            "that the "
            "copy for block C takes were written before is not known");
}

TEST(pad_einsum, copies_no_more_than_there_is) {
  const auto before = program(R"(A: T.Buffer((6,), "float32"), C: T.Buffer((7,), "float32"))", R"(
for i in range(7):
    with T.block("C"):
        vi = T.axis.spatial(7, i)
        T.reads(A[vi])
        T.writes(C[vi])
        C[vi] = T.if_then_else(vi < 6, A[vi], T.float32(0))
)");
  Schedule sch(before);
  pad_einsum(sch, get_block(sch, "C"), {4});
  expect_result(sch, before);
}

TEST(pad_einsum, refuses_extents_that_depend_on_a_loop) {
  Schedule sch(program(R"(A: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32"))", R"(
for i in range(6):
    for k in range(i + 1):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            vk = T.axis.reduce(i + 1, k)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vk]
)"));
  EXPECT_EQ(error_of([&] { pad_einsum(sch, get_block(sch, "C"), {1, 2}); }),
            "block_is_einsum: pad_einsum: block C is no Einsum pattern, as the extent of an axis "
            "depends on a loop");

  // Nor where the loop that would get more iterations is the one that others depend on.
  Schedule outer(program(R"(A: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32"))", R"(
for i in range(6):
    for k in range(i + 1):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            vk = T.axis.reduce(6, k)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vk]
)"));
  const std::string refusal = error_of([&] { pad_einsum(outer, get_block(outer, "C"), {4, 1}); });
  EXPECT_TRUE(refusal.starts_with("block_is_einsum")) << refusal;
  Schedule domain(program(R"(A: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32"))", R"(
for i in range(6):
    for k in range(i):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vk]
)"));
  EXPECT_EQ(error_of([&] { pad_einsum(domain, get_block(domain, "C"), {4, 1}); }),
            "block_is_einsum: pad_einsum: block C is no Einsum pattern, as the extent of an axis "
            "depends on a loop");
}

}  // namespace
}  // namespace loopsmith
