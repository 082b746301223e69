// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/expand_scalar.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr auto three_vectors =
    R"(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32"), C: T.Buffer((10,), "float32"))";

TEST(expand_scalar, gives_each_iteration_a_place) {
  const auto before = program(three_vectors, R"(
t = T.alloc_buffer((1,))
for i in range(10):
    t[0] = A[i] * T.float32(2)
    B[i] = t[0] + C[i]
)");
  Schedule sch(before);
  EXPECT_EQ(error_of([&] { distribute(sch, get_loop(sch, "i")); }).substr(0, 18),
            "step_keeps_results");
  expand_scalar(sch, "t", get_loop(sch, "i"));
  distribute(sch, get_loop(sch, "i"));
  expect_result(sch, before, program(three_vectors, R"(
t = T.alloc_buffer((10, 1))
for i in range(10):
    t[i, 0] = A[i] * T.float32(2)
for i_1 in range(10):
    B[i_1] = t[i_1, 0] + C[i_1]
)"));
}

TEST(expand_scalar, takes_variables_that_loops_declare) {
  const auto before = program(three_vectors, R"(
for i in range(10):
    t: T.float32 = A[i]
    t = t * T.float32(2)
    B[i] = t + C[i]
for j in range(10):
    t: T.float32 = A[j]
    t = t * T.float32(3)
    C[j] = t
)");
  Schedule sch(before);
  expand_scalar(sch, "t", get_loop(sch, "i"));
  distribute(sch, get_loop(sch, "i"));
  expand_scalar(sch, "t", get_loop(sch, "j"));
  expect_result(sch, before, program(three_vectors, R"(
t = T.alloc_buffer((10,), scope="local")
t_1 = T.alloc_buffer((10,), scope="local")
for i in range(10):
    t[i] = A[i]
for i_0 in range(10):
    t[i_0] = t[i_0] * T.float32(2)
for i_1 in range(10):
    B[i_1] = t[i_1] + C[i_1]
for j in range(10):
    t_1[j] = A[j]
    t_1[j] = t_1[j] * T.float32(3)
    C[j] = t_1[j]
)"));
}

TEST(expand_scalar, gives_blocks_an_axis) {
  const auto before = program(R"(A: T.Buffer((4, 3)), B: T.Buffer((4,)))", R"(
t = T.alloc_buffer((1,))
for i in range(4):
    for k in range(3):
        with T.block("t"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                t[0] = T.float32(0)
            t[0] = t[0] + A[vi, vk]
    for u in range(1):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = t[0]
)");
  Schedule sch(before);
  expand_scalar(sch, "t", get_loops(sch, get_block(sch, "B"))[0]);
  parallel(sch, distribute(sch, get_loops(sch, get_block(sch, "B"))[0])[0]);
  expect_result(sch, before);
}

TEST(expand_scalar, refuses_values_that_go_on) {
  const auto func = program(three_vectors, R"(
t = T.alloc_buffer((1,))
u = T.alloc_buffer((1,))
t[0] = T.float32(0)
for i in range(10):
    t[0] = t[0] + A[i]
    u[0] = A[i]
for j in range(10):
    B[j] = t[0]
for k in range(10):
    if A[k] > T.float32(0):
        u[0] = A[k]
    C[k] = u[0]
)");
  const auto of = [&](const char* buffer, const char* loop) {
    Schedule sch(func);
    return error_of([&] { expand_scalar(sch, buffer, get_loop(sch, loop)); });
  };
  EXPECT_EQ(
      of("v", "i"),
      "buffer_is_allocated_around: expand_scalar: no buffer v is allocated around loop i, or in "
      "it");
  EXPECT_EQ(of("t", "i"),
            "uses_are_in_the_loop: expand_scalar: buffer t is used outside loop i, or in a "
            "condition of a block there");
  const auto sometimes = program(three_vectors, R"(
u = T.alloc_buffer((1,))
for k in range(10):
    if A[k] > T.float32(0):
        u[0] = A[k]
    C[k] = u[0]
)");
  Schedule sch(sometimes);
  EXPECT_EQ(error_of([&] { expand_scalar(sch, "u", get_loop(sch, "k")); }),
            "step_keeps_results: expand_scalar: results may change: it is not known that each "
            "iteration of loop k "
            "writes what it reads of buffer u");
}

}  // namespace
}  // namespace loopsmith
