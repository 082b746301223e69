// SPDX-License-Identifier: Apache-2.0
// Steps on programs in which several buffers share memory.
#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

struct Views {
  std::string_view parameters;
  std::string_view body;
};

/// In each, an iteration of loop `i` reads or overwrites what another one writes, by another name.
constexpr Views recurrences[] = {
    {R"(A: T.Buffer((64,), "float32"))", R"(
B = T.decl_buffer((63,), data=A.data, elem_offset=1)
for i in range(63):
    B[i] = A[i] * T.float32(0.5) + T.float32(1)
)"},
    {R"(A: T.Buffer((64,), "float32"))", R"(
for i in range(63):
    B = T.decl_buffer((63,), data=A.data, elem_offset=1)
    B[i] = A[i] * T.float32(0.5) + T.float32(1)
)"},
    {R"(A: T.Buffer((64,), "float32"))", R"(
B = T.decl_buffer((63,), data=A.data, elem_offset=1)
for i in range(63):
    with T.block("B"):
        vi = T.axis.spatial(63, i)
        B[vi] = A[vi] * T.float32(0.5) + T.float32(1)
)"},
    {R"(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"))", R"(
B = T.decl_buffer((1,), data=A.data, elem_offset=3)
for i in range(8):
    A[i] = C[i] + B[0]
)"},
    {R"(A: T.Buffer((64,), "float32"))", R"(
B = T.decl_buffer((64,), "int32", data=A.data)
for i in range(63):
    B[i + 1] = B[i + 1] + T.Cast("int32", A[i])
)"},
    {R"(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32"))", R"(
B = T.decl_buffer((1,), data=A.data)
for i in range(64):
    A[0] = A[0] + C[i] * B[0]
)"},
    {R"(A: T.Buffer((64,), "float32"))", R"(
p = T.address_of(A[1])
B = T.decl_buffer((63,), data=p)
for i in range(63):
    B[i] = A[i] * T.float32(0.5) + T.float32(1)
)"},
    {R"(A: T.Buffer((64,), "float32"))", R"(
for i in range(63):
    p = T.address_of(A[i + 1])
    B = T.decl_buffer((1,), data=p)
    B[0] = A[i] * T.float32(0.5) + T.float32(1)
)"},
};

TEST(views, share_the_elements_of_their_memory) {
  for (const Views& each : recurrences) {
    const auto func = program(each.parameters, each.body);
    for (const bool in_lanes : {false, true}) {
      Schedule sch(func);
      const LoopRV i = get_loop(sch, "i");
      EXPECT_NE(error_of([&] { in_lanes ? vectorize(sch, i) : parallel(sch, i); }), "")
          << each.body;
    }
  }
}

TEST(views, of_other_memory_are_apart) {
  const auto func = program(R"(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32"))", R"(
p = T.address_of(A[1])
B = T.decl_buffer((63,), data=p)
D = T.decl_buffer((8, 8), data=C.data)
for i in range(63):
    B[i] = D[i // 8, i % 8]
)");
  for (const bool in_lanes : {false, true}) {
    Schedule sch(func);
    const LoopRV i = get_loop(sch, "i");
    EXPECT_EQ(error_of([&] { in_lanes ? vectorize(sch, i) : parallel(sch, i); }), "");
  }
}

TEST(views, hold_nests_in_their_order) {
  for (const std::string_view stores : {"    A[i, j] = B[i, j] + T.float32(1)\n",
                                        "    with T.block(\"A\"):\n"
                                        "        vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                                        "        A[vi, vj] = B[vi, vj] + T.float32(1)\n"}) {
    const auto func = program(R"(A: T.Buffer((8, 8), "float32"))",
                              "\nB = T.decl_buffer((8, 8), data=A.data, strides=(1, 8))\n"
                              "for i, j in T.grid(8, 8):\n" +
                                  std::string(stores));
    Schedule sch(func);
    EXPECT_NE(error_of([&] { reorder(sch, {get_loop(sch, "j"), get_loop(sch, "i")}); }), "");
  }
}

/// A block `S` that writes the memory of `A`, and one that reads it by a view.
Ptr<PrimFunc> read_by_view() {
  return program(R"(X: T.Buffer((16,), "float32"), Y: T.Buffer((16,), "float32"))", R"(
with T.block("root"):
    A = T.alloc_buffer((16,), "float32")
    B = T.decl_buffer((4, 4), data=A.data)
    for i in range(16):
        with T.block("S"):
            vi = T.axis.spatial(16, i)
            A[vi] = X[vi] + T.float32(1)
    for k in range(16):
        with T.block("R"):
            vk = T.axis.spatial(16, k)
            Y[vk] = B[vk // 4, vk % 4] + A[vk]
)");
}

TEST(views, keep_what_they_read) {
  Schedule inlined(read_by_view());
  EXPECT_NE(error_of([&] { compute_inline(inlined, get_block(inlined, "S")); }), "");
  Schedule consumed(read_by_view());
  EXPECT_NE(error_of([&] { reverse_compute_inline(consumed, get_block(consumed, "R")); }), "");
}

}  // namespace
}  // namespace loopsmith
