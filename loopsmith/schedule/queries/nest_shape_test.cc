// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/nest_shape.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr std::string_view matrices =
    R"(A: T.Buffer((12, 14), "float32"), B: T.Buffer((12, 14), "float32"))";

TEST(nest_shape, lets_tiles_have_guards) {
  const auto before = program(matrices, R"(
for i, j in T.grid(12, 14):
    B[i, j] = A[i, j] + T.float32(1)
)");
  Schedule sch(before);
  const auto [io, ii] = split(sch, get_loop(sch, "i"), {infer, 5}).take<2>();
  const auto [jo, ji] = split(sch, get_loop(sch, "j"), {infer, 4}).take<2>();
  reorder(sch, {io, jo, ii, ji});
  parallel(sch, io);
  vectorize(sch, ji);
  expect_result(sch, before, program(matrices, R"(
for i_0 in T.parallel(3):
    for j_0, i_1 in T.grid(4, 5):
        for j_1 in T.vectorized(4):
            if i_0 * 5 + i_1 < 12:
                if j_0 * 4 + j_1 < 14:
                    B[i_0 * 5 + i_1, j_0 * 4 + j_1] = A[i_0 * 5 + i_1, j_0 * 4 + j_1] + T.float32(1)
)"));
}

TEST(nest_shape, solves_bounds_for_the_loop_that_comes_inside) {
  const auto before = program(matrices, R"(
for i in range(12):
    for j in range(i, 14):
        B[i, j] = A[i, j] + T.float32(1)
)");
  Schedule sch(before);
  reorder(sch, {get_loop(sch, "j"), get_loop(sch, "i")});
  expect_result(sch, before, program(matrices, R"(
for j in range(14):
    for i in range(T.min(j, 11) + 1):
        B[i, j] = A[i, j] + T.float32(1)
)"));
}

TEST(nest_shape, keeps_what_bounds_do_not_say_as_a_guard) {
  const auto before = program(matrices, R"(
for i in range(12):
    for j in range(i // 3):
        B[i, j] = A[i, j] + T.float32(1)
)");
  Schedule sch(before);
  reorder(sch, {get_loop(sch, "j"), get_loop(sch, "i")});
  expect_result(sch, before, program(matrices, R"(
for j, i in T.grid(3, 12):
    if j < i // 3:
        B[i, j] = A[i, j] + T.float32(1)
)"));
}

TEST(nest_shape, is_found_for_bands_of_bands) {
  const auto before = program(matrices, R"(
for i in range(6):
    for j in range(i, i + 5):
        for k in range(j, 14):
            B[i + j - i, k] = A[i, k] + T.float32(1)
)");
  Schedule sch(before);
  reorder(sch, {get_loop(sch, "k"), get_loop(sch, "j"), get_loop(sch, "i")});
  expect_result(sch, before, program(matrices, R"(
for k in range(14):
    for j in range(T.min(k, 9) + 1):
        for i in range(T.max(j, 4) - 4, T.max(j, 4) - 4 + (T.min(j, 5) - T.max(j, 4) + 5)):
            B[i + j - i, k] = A[i, k] + T.float32(1)
)"));
}

std::string sums_of(const std::string& bounds) {
  return R"(
for i in range(12):
    for k in range()" +
         bounds + R"():
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi, 0] = T.float32(0)
            B[vi, 0] = B[vi, 0] + A[vi, vk]
)";
}

TEST(nest_shape, keeps_starts_of_reductions_that_are_never_empty) {
  for (const char* bounds : {"i + 1", "i, 14"}) {
    const auto before = program(matrices, sums_of(bounds));
    Schedule sch(before);
    reorder(sch, {get_loop(sch, "k"), get_loop(sch, "i")});
    expect_result(sch, before);
  }
}

/// A guard would hide the init of a result that is reduced over nothing, or starts elsewhere.
TEST(nest_shape, leaves_reductions_that_may_be_empty_alone) {
  for (const char* bounds : {"i", "i, 6", "A_size[i]"}) {
    Schedule sch(
        program(std::string(matrices) + R"(, A_size: T.Buffer((12,), "int32"))", sums_of(bounds)));
    EXPECT_EQ(error_of([&] { reorder(sch, {get_loop(sch, "k"), get_loop(sch, "i")}); }),
              "bounds_are_independent: reorder: the bounds of loop k depend on loop i, which would "
              "be inside it");
  }
}

/// A guard may keep the index of a bound that is read from memory within the memory.
TEST(nest_shape, does_not_read_bounds_without_their_guard) {
  Schedule sch(program(R"(N: T.Buffer((4,), "int32"), B: T.Buffer((12, 14), "float32"))", R"(
for i in range(12):
    if i < 4:
        for j in range(N[i]):
            B[i, j] = T.float32(1)
)"));
  EXPECT_EQ(error_of([&] { reorder(sch, {get_loop(sch, "j"), get_loop(sch, "i")}); }),
            "nest_is_perfect: reorder: loop i holds more than the next loop");
}

TEST(nest_shape, counts_sizes_of_parameters_as_not_negative) {
  Schedule sch(program(R"(a: T.handle, b: T.handle)", R"(
n, m = T.int32(), T.int32()
A = T.match_buffer(a, (n, m))
B = T.match_buffer(b, (n, m))
for i, j in T.grid(n, m):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] + T.float32(1)
)"));
  const LoopRV fused = fuse(sch, get_loops(sch, get_block(sch, "B")));
  EXPECT_EQ(fmt::format("{}", sch.get(fused).extent), "n * m");
  const auto [outer, inner] = split(sch, fused, {infer, 128}).take<2>();
  bind(sch, outer, "blockIdx.x");
  bind(sch, inner, "threadIdx.x");
}

}  // namespace
}  // namespace loopsmith
