// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/privatize_buffers.h"

#include <sstream>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using testing::error_of;

/// A program over rows of A, with memory S for eight numbers.
Ptr<PrimFunc> with_memory(const std::string& body) {
  return parse_function(R"(@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32"),
         D: T.Buffer((8, 8), "float32")):
    S = T.alloc_buffer((8,))
)" + body);
}

/// Lowers a program, and compares both. Gives how many pieces of memory are in its loops.
int own_memory_of(const std::string& body) {
  const auto func = with_memory(body);
  const auto lowered = lower_function(func, {.verify = true});
  interp::assert_same(func, lowered);
  std::istringstream lines(script(lowered));
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool is_memory =
        line.find("T.decl_buffer(") != line.npos && line.find("data=") == line.npos;
    count += is_memory && line.starts_with("        ");
  }
  return count;
}

TEST(privatize_buffers, gives_iterations_memory_of_their_own) {
  // Tiles share a border, and the last one is short.
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((10,), "float32"), D: T.Buffer((10,), "float32")):
    B = T.alloc_buffer((10,))
    for i in T.parallel(4):
        for k in range(T.min(4, 10 - i * 3)):
            with T.block("B"):
                v = T.axis.spatial(10, i * 3 + k)
                B[v] = A[v] * T.float32(2)
        for k in range(T.min(3, 9 - i * 3)):
            with T.block("D"):
                v = T.axis.spatial(10, i * 3 + k)
                D[v] = B[v] + B[v + 1])");
  const auto lowered = lower_function(func, {.verify = true});
  const std::string text = script(lowered);
  EXPECT_LT(text.find("T.parallel"), text.find("T.allocate")) << text;
  interp::assert_same(func, lowered);
}

TEST(privatize_buffers, gives_each_of_several_loops_its_own) {
  EXPECT_EQ(own_memory_of(R"(
    for j in T.parallel(8):
        S[0] = A[j, 0]
        C[j, 0] = S[0] + S[0]
    for j in range(8):
        S[0] = A[j, 1]
        C[j, 1] = S[0] + S[0]
    for t in range(3):
        for j in T.parallel(8):
            S[t] = A[j, 2]
            S[t + 1] = A[j, 3]
            C[j, t + 2] = S[t] + S[t + 1])"),
            3);
}

TEST(privatize_buffers, gives_loops_in_a_parallel_loop_their_own) {
  EXPECT_EQ(own_memory_of(R"(
    for i in T.parallel(8):
        for j in T.parallel(8):
            S[0] = A[i, j]
            C[i, j] = S[0] + S[0]
        for j in T.vectorized(8):
            for k in range(j + 1):
                S[0] = A[i, k]
                D[i, j] = S[0] * S[0])"),
            2);
}

TEST(privatize_buffers, knows_what_loops_around_run_through) {
  EXPECT_EQ(own_memory_of(R"(
    for i in range(3):
        for j in T.parallel(8):
            for k in range(2):
                S[k] = A[i, j]
            S[i] = A[i, j] + T.float32(1)
            C[i, j] = S[i % 3])"),
            1);
}

TEST(privatize_buffers, lets_others_use_the_memory_before_and_after) {
  EXPECT_EQ(own_memory_of(R"(
    S[3] = A[0, 0]
    for j in T.parallel(8):
        S[0] = A[j, 1]
        C[j, 1] = S[0] + S[0]
    S[0] = A[0, 2]
    D[0, 0] = S[0] + S[3])"),
            1);
}

TEST(privatize_buffers, refuses_iterations_that_are_certain_to_race) {
  const auto refusal = [](const std::string& body) {
    return error_of([&] { lower_function(with_memory(body)); });
  };
  EXPECT_EQ(
      refusal(R"(
    for j in T.parallel(8):
        S[0] = A[j, 1]
        C[j, 1] = S[0] + S[0]
    D[0, 0] = S[0])"),
      R"(lower: iterations of loop j, which is parallel, race on S: iteration j=0 writes S[0], iteration j=1 writes it
  hint: make the loop serial, or give each iteration elements of its own
  at <script>:6
        for j in T.parallel(8):
        ^^^^^^^^^^^^^^^^^^^^^^)");
  // The next round reads it.
  const std::string later = refusal(R"(
    S[0] = A[0, 0]
    for t in range(3):
        D[t, 0] = S[0]
        for j in T.vectorized(8):
            for k in range(j + 1):
                S[0] = A[k, t]
                C[j, t] = S[0] + S[0])");
  EXPECT_NE(later.find("loop j, which is vectorized, race on S: iteration t=0, j="), later.npos)
      << later;
}

TEST(privatize_buffers, leaves_what_may_be_right_to_the_caller) {
  // Whether they conflict is up to s, or to memory.
  EXPECT_EQ(error_of([] {
              lower_function(parse_function(R"(@T.prim_func
def main(A: T.Buffer((8,), "float32"), P: T.Buffer((8,), "int32"), s: T.int32,
         C: T.Buffer((8,), "float32")):
    S = T.alloc_buffer((8,))
    for j in T.parallel(8):
        if P[j] > 0:
            S[j * s] = A[j]
            S[P[j]] = A[j]
            C[j] = S[j * s]
    C[0] = S[0])"));
            }),
            "");
}

TEST(privatize_buffers, knows_of_memory_what_it_does_not_know_of_other_memory) {
  // Whether iterations conflict in C is the caller's affair; S is of each.
  const std::string text = script(lower_function(parse_function(R"(@T.prim_func
def main(A: T.Buffer((8,), "float32"), P: T.Buffer((8,), "int32"), C: T.Buffer((8,), "float32"),
         D: T.Buffer((8,), "float32")):
    S = T.alloc_buffer((8,))
    S[3] = A[0]
    for j in T.parallel(8):
        S[0] = A[j]
        C[P[j]] = S[0] + S[0]
    S[0] = A[2]
    D[0] = S[0] + S[3])")));
  EXPECT_NE(text.find("decl_buffer", text.find("T.parallel")), text.npos) << text;
}

TEST(privatize_buffers, looks_at_what_calls_read) {
  const auto refusal = [](const std::string& place) {
    return error_of([&] {
      lower_function(parse_function(R"(@T.prim_func
def main(A: T.Buffer((16,), "int32"), H: T.Buffer((8,), "int32"), C: T.Buffer((16,), "int32")):
    S = T.alloc_buffer((17,), "int32")
    S[16] = 1
    for i in T.parallel(16):
        S[i] = A[i] % 8
        H[S[)" + place + R"(]] += S[i]
        T.evaluate(T.call_extern("int32", "sink", H.data, S[i]))
    for i in range(16):
        C[i] = S[15 - i])"));
    });
  };
  EXPECT_EQ(refusal("i"), "");
  EXPECT_NE(refusal("i + 1").find("race on S: iteration i=0 reads S[1], iteration i=1 writes it"),
            std::string::npos);
}

TEST(privatize_buffers, lets_lanes_that_may_conflict_go_one_by_one) {
  const auto func = parse_function(R"(@T.prim_func
def main(a: T.int32, c: T.int32, A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    S = T.alloc_buffer((64,), "int32")
    for z in range(64):
        S[z] = z
    for i in T.vectorized(16):
        S[a % 64] = A[i]
        C[i] = S[c % 64]
    C[0] += S[c % 64])");
  EXPECT_EQ(script(lower_function(func)).find("T.Ramp"), std::string::npos);
}

TEST(privatize_buffers, leaves_reductions_of_pairs_to_lanes_one_by_one) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((6, 4), "int16"), C: T.Buffer((6,), "int16")):
    B = T.alloc_buffer((6,), "int32")
    for i in range(6):
        for j in T.vectorized(4):
            with T.block("C"):
                v0, v1 = T.axis.remap("SR", [i, j])
                with T.init():
                    B[v0] = -1
                    C[v0] = T.min_value("int16")
                p: T.int32 = T.Select(C[v0] >= A[v0, v1], B[v0], v1)
                q: T.int16 = T.Select(C[v0] >= A[v0, v1], C[v0], A[v0, v1])
                B[v0] = p
                C[v0] = q)");
  interp::assert_same(func, lower_function(func, {.verify = true}));
}

}  // namespace
}  // namespace loopsmith
