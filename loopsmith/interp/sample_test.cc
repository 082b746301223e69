// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/sample.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>

#include "loopsmith/interp/interp.h"
#include "loopsmith/interp/random_inputs.h"
#include "loopsmith/interp/slice.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/script/parse.h"

namespace loopsmith::interp {
namespace {

Ptr<PrimFunc> matmul(std::string_view value = "A[vi, vk] * B[vk, vj]") {
  return parse_function(fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((512, 512)), B: T.Buffer((512, 512)), C: T.Buffer((512, 512))):
    for i, j, k in T.grid(512, 512, 512):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + {}
)",
                                    value));
}

/// The same with tiles, a copy of a panel of B in each, and sums in memory of their own.
Ptr<PrimFunc> tiled_matmul(std::string_view last = "C[i * 64 + x, j * 32 + y] = S[x, y]",
                           int width = 32) {
  return parse_function(fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((512, 512)), B: T.Buffer((512, 512)), C: T.Buffer((512, 512))):
    P = T.alloc_buffer((512, {1}))
    S = T.alloc_buffer((64, 32))
    for i in T.parallel(8):
        for j in range(16):
            for k, y in T.grid(512, {1}):
                P[k, y] = B[k, j * 32 + y]
            for x, y in T.grid(64, 32):
                S[x, y] = T.float32(0)
            for ko, x, y, ki in T.grid(128, 64, 32, 4):
                S[x, y] = S[x, y] + A[i * 64 + x, ko * 4 + ki] * P[ko * 4 + ki, y]
            for xy in range(2048):
                x: T.int32 = xy // 32
                y: T.int32 = xy % 32
                {0}
)",
                                    last, width));
}

TEST(sample, a_large_program_gets_a_verdict_within_a_second) {
  const std::clock_t begin = std::clock();
  const Verdict verdict = compare(matmul(), tiled_matmul());
  EXPECT_EQ(verdict.answer, Answer::same) << verdict.reason;
  EXPECT_EQ(verdict.reason, "30 elements were sampled");
  // With what a sanitizer and a busy machine add.
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 20);
}

/// What lowering makes of the product: one dimension, vectors, a view whose size depends on loops.
Ptr<PrimFunc> flat_matmul(std::string_view last = "C_1[i * 512 + j * 8:i * 512 + j * 8 + 8]") {
  return parse_function(fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((512, 512)), B: T.Buffer((512, 512)), C: T.Buffer((512, 512))):
    A_1 = T.decl_buffer((262144,), data=A.data)
    C_1 = T.decl_buffer((262144,), data=C.data)
    for i in T.parallel(512):
        for j in range(64):
            s = T.decl_buffer((8,))
            s[0:8] = T.Broadcast(T.float32(0), 8)
            for k in range(512):
                B_1 = T.decl_buffer((k * 512 + 512,), data=B.data)
                at: T.int32 = k * 512 + j * 8
                s[0:8] = s[0:8] + T.Broadcast(A_1[i * 512 + k], 8) * B_1[at:at + 8]
            {} = s[0:8]
)",
                                    last));
}

TEST(sample, lowered_programs_are_sampled) {
  const Verdict verdict = compare(matmul(), flat_matmul());
  EXPECT_EQ(verdict.answer, Answer::same) << verdict.reason;
  EXPECT_EQ(verdict.reason, "30 elements were sampled");
  const Verdict wrong = compare(matmul(), flat_matmul("C_1[T.Ramp(i * 512 + 504 - j * 8, 1, 8)]"));
  EXPECT_EQ(wrong.answer, Answer::different);
  EXPECT_EQ(wrong.buffer, "C");
}

TEST(sample, finds_what_differs) {
  const Verdict verdict = compare(matmul(), matmul("A[vi, vk] * B[vj, vk]"));
  EXPECT_EQ(verdict.answer, Answer::different);
  EXPECT_EQ(verdict.buffer, "C");
  // The last column is left out: the corners are always among the samples.
  const Verdict at_end = compare(matmul(), tiled_matmul("if j * 32 + y < 511:\n                    "
                                                        "C[i * 64 + x, j * 32 + y] = S[x, y]"));
  EXPECT_EQ(at_end.answer, Answer::different) << at_end.reason;
  EXPECT_EQ(at_end.index, (std::vector<std::int64_t>{511, 511}));
}

TEST(sample, a_mistake_that_an_element_needs_is_found) {
  const Verdict verdict =
      compare(matmul(), tiled_matmul("C[i * 64 + x, j * 32 + y] = S[x, y]", 31));
  EXPECT_EQ(verdict.answer, Answer::different);
  EXPECT_EQ(verdict.reason, "after: load of P: index 31 of dimension 1 is outside [0, 31)");
}

TEST(sample, what_earlier_iterations_left_is_not_forgotten) {
  // s is read and written in each iteration, so it looks as if it belonged to one.
  const auto scan = [](std::string_view value) {
    return parse_function(fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((1000, 1000)), B: T.Buffer((1000, 1000))):
    s = T.alloc_buffer((1,))
    for i in range(1000):
        for j in range(1000):
            if j == 0:
                s[0] = A[i, 0]
            else:
                s[0] = {}
            B[i, j] = s[0]
)",
                                      value));
  };
  const CompareOptions few{.max_statements = 100'000};
  const Verdict same = compare(scan("s[0] + A[i, j]"), scan("A[i, j] + s[0]"), few);
  EXPECT_EQ(same.answer, Answer::same) << same.reason;
  EXPECT_EQ(compare(scan("s[0] + A[i, j]"), scan("s[0] - A[i, j]"), few).answer, Answer::different);
}

TEST(sample, takes_fewer_samples_where_each_takes_long) {
  const auto program = [](std::string_view value) {
    return parse_function(fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((1000, 1000)), B: T.Buffer((1000, 1000))):
    S = T.alloc_buffer((1000, 1000))
    for i, j in T.grid(1000, 1000):
        S[i, j] = A[j, i]
    for i, j in T.grid(1000, 1000):
        B[i, j] = {}
)",
                                      value));
  };
  const Verdict verdict = compare(program("S[i, j] + A[i, j]"), program("A[i, j] + S[i, j]"),
                                  {.max_statements = 100'000});
  EXPECT_EQ(verdict.answer, Answer::same) << verdict.reason;
  EXPECT_EQ(verdict.reason, "4 elements were sampled");
}

TEST(sample, says_why_nothing_can_be_found_out) {
  const auto program = [](std::string_view line) {
    return parse_function(fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((10000,), "int32")):
    for i in range(10000):
        {}
)",
                                      line));
  };
  const CompareOptions few{.max_statements = 100};
  const Verdict verdict = compare(program("A[i] = T.call_extern(\"int32\", \"f\", i)"),
                                  program("A[i] = T.call_extern(\"int32\", \"f\", 1)"), few);
  EXPECT_EQ(verdict.answer, Answer::undecided);
  EXPECT_EQ(verdict.reason, "too large to be run, and main calls call_extern");
  EXPECT_EQ(compare(program("if i == 3:\n            return\n        A[i] = i + 1"),
                    program("if i == 3:\n            return\n        A[i] = 1 + i"), few)
                .reason,
            "too large to be run, and main returns before its end");
  const auto without_result = [&](std::string_view value) {
    return program(fmt::format("S = T.decl_buffer((1,), \"int32\")\n        S[0] = {}", value));
  };
  EXPECT_EQ(compare(without_result("A[i]"), without_result("A[i] + 1"), few).reason,
            "too large to be run, and no element is written");
  const Verdict whole = compare(program("A[0] = A[0] + A[i]"), program("A[0] = A[i] + A[0]"), few);
  EXPECT_EQ(whole.reason, "before: main runs more than 100 statements");
}

TEST(sample, loops_that_values_end_are_sampled) {
  const auto program = [](std::string_view limit) {
    return parse_function(fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((1000, 1000)), B: T.Buffer((1000,))):
    for i in T.parallel(1000):
        B[i] = T.float32(0)
        for j in range(1000):
            if A[i, j] < A[{}, 0]:
                break
            B[i] = B[i] + A[i, j]
)",
                                      limit));
  };
  const CompareOptions few{.max_statements = 100'000};
  const Verdict same = compare(program("i"), program("T.max(i, 0)"), few);
  EXPECT_EQ(same.answer, Answer::same) << same.reason;
  EXPECT_EQ(same.reason, "30 elements were sampled");
  EXPECT_EQ(compare(program("i"), program("999 - i"), few).answer, Answer::different);
}

TEST(sample, the_cut_goes_by_the_time_that_a_run_takes) {
  const auto program = [](std::string_view value, std::string_view line = "pass") {
    return parse_function(fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((1000,)), B: T.Buffer((1000,))):
    for i in range(1000):
        {}
        B[i] = {}
)",
                                      line, value));
  };
  const CompareOptions few{.max_statements = 20'000};
  EXPECT_EQ(compare(program("A[i] + B[i]"), program("B[i] + A[i]"), few).reason, "");
  const Verdict slow = compare(program("A[i] / (A[i] / (A[i] / A[0]))"),
                               program("T.float32(0) + A[i] / (A[i] / (A[i] / A[0]))"), few);
  EXPECT_EQ(slow.answer, Answer::same) << slow.reason;
  EXPECT_EQ(slow.reason, "30 elements were sampled");
  // What cannot be sampled is run as long as it may.
  const auto with_return = [&](std::string_view value) {
    return program(value, "if i == 999:\n            return");
  };
  const Verdict whole = compare(with_return("A[i] / (A[i] + B[i] / A[0])"),
                                with_return("A[i] / (B[i] / A[0] + A[i])"), few);
  EXPECT_EQ(whole.answer, Answer::same) << whole.reason;
  EXPECT_EQ(whole.reason, "");
}

/// Each element of the results, computed by its slice, is what the whole program computes.
void expect_slices_agree(const std::string& text) {
  const Ptr<PrimFunc> func = parse_function(text);
  std::string reason;
  const std::optional<Inputs> inputs = InputDrawer(*func, 7, 1, 5).draw(reason);
  ASSERT_TRUE(inputs) << reason;
  const Inputs whole = inputs->copy();
  const Options options{.mode = Mode::ring};
  const Outcome all = run(func, whole.arguments, options);
  const Slicer slicer(func);
  ASSERT_EQ(slicer.obstacle(), "");
  std::int64_t fewest = all.statements;
  for (std::size_t p = 0; p < func->params.size(); ++p) {
    if (!slicer.writes(p)) continue;
    const DrawnTensor& expected = whole.tensors[p];
    for (std::int64_t e = 0; e < 3 * expected.shape[0]; ++e) {
      const std::int64_t round = e / expected.shape[0];
      const bool moves_memory = round < 2;
      const std::int64_t element = e % expected.shape[0];
      const Inputs part = inputs->copy();
      const Slice slice =
          slicer.slice(p, {element}, moves_memory ? static_cast<std::size_t>(round) : all_loops);
      try {
        fewest = std::min(fewest, run(slice.func, part.arguments, options).statements);
      } catch (const UserError& error) {
        // Moved memory may have lost what an earlier iteration wrote; that is seen.
        EXPECT_TRUE(moves_memory) << text << error.what();
        EXPECT_EQ(error.code(), "element_was_written");
        continue;
      }
      const auto bytes = static_cast<std::int64_t>(expected.bytes.size()) / expected.shape[0];
      EXPECT_TRUE(std::equal(part.tensors[p].bytes.begin() + element * bytes,
                             part.tensors[p].bytes.begin() + (element + 1) * bytes,
                             expected.bytes.begin() + element * bytes))
          << text << "element " << element;
    }
  }
  EXPECT_LE(fewest, all.statements);
}

TEST(sample, slices_compute_what_the_whole_computes) {
  // Indices of all kinds, by fused, split, reversed, stepped and triangular loops.
  const std::string_view bodies[] = {
      R"(for i in range(24):
        C[i] = A[23 - i] + B[i // 2])",
      R"(for i, j in T.grid(4, 6):
        C[i * 6 + j] = A[j * 4 + i])",
      R"(for i, j in T.grid(4, 6):
        C[i * 6 + j] = A[(i * 6 + j) % 7])",
      R"(for f in range(48):
        C[f // 2] = A[f % 24] * B[f // 4])",
      R"(for i in range(0, 24, 3):
        C[i] = A[i]
        C[i + 1] = C[i] + B[i])",
      R"(for i in range(23, -1, -1):
        C[i] = A[i])",
      R"(for i in range(1, 24):
        C[i] = C[i - 1] + A[i])",
      R"(for i in range(24):
        for j in range(i, 24):
            C[j] = C[j] + A[i])",
      R"(for i in range(23):
     C[i] = C[i + 1]
    for i in range(5, 9):
     A[i] = C[i])",
      R"(for i in T.vectorized(24):
        C[i] = A[i])",
      R"(for i in range(3):
        C[T.Ramp(i * 8, 1, 8)] = A[T.Ramp(i * 8 + 7, -1, 8)])",
      R"(for i in range(24):
        if A[i] < B[0]:
            C[i] = A[i]
        else:
            C[23 - i] = B[i])",
      R"(for i in range(24):
        x: T.float32 = A[i] + C[i]
        C[(i * 5) % 24] = x)",
      R"(for i in range(24):
        C[T.min(i, 20)] = A[T.max(i - 3, 0)])",
      R"(T_ = T.alloc_buffer((24,))
    for i in range(24):
        T_[i] = A[i] + B[i]
    for i in range(22):
        C[i] = T_[i] + T_[i + 1] + T_[i + 2])",
      R"(t = T.alloc_buffer((6,))
    for i in range(4):
        for j in range(6):
            t[j] = A[i * 6 + j]
        for j in range(6):
            C[i * 6 + 5 - j] = t[j])",
      R"(D = T.decl_buffer((4, 6), data=C.data)
    for i, j in T.grid(4, 6):
        D[i, j] = A[i * 6 + j])",
      R"(D = T.decl_buffer((4, 6), data=C.data)
    E = T.decl_buffer((2, 12), data=C.data)
    for i, j in T.grid(4, 6):
        D[i, j] = A[i * 6 + j]
    for i in range(12):
        E[1, 11 - i] = E[0, i] + C[23 - i])",
      R"(D = T.decl_buffer((4, 6), data=C.data)
    for i in range(4):
        D[i, 0:6] = A[i * 6:i * 6 + 6]
    for i in range(12):
        C[i * 2] = B[i])",
      R"(for i, k in T.grid(24, 5):
        with T.block("s"):
            v, r = T.axis.remap("SR", [i, k])
            T.where(i + k < 26)
            with T.init():
                C[v] = B[v]
            C[v] = C[v] + A[(v + r) % 24])",
      R"(for i in T.thread_binding(24, thread="threadIdx.x"):
        C[i] = A[i])",
      // Loops that values end.
      R"(for i in range(24):
        for j in range(24):
            if A[j] < B[i]:
                break
            C[i] = C[i] + A[j])",
      R"(for i in range(24):
        if A[i] < B[0]:
            continue
        C[23 - i] = A[i])",
      R"(s = T.alloc_buffer((1,), "int32")
    for i in range(24):
        s[0] = 0
        C[i] = B[i]
        while s[0] < i:
            C[i] = C[i] + A[s[0]]
            s[0] = s[0] + 1)",
      R"(s = T.alloc_buffer((1,), "int32")
    s[0] = 0
    while s[0] < 24:
        t = s[0]
        for j in range(t, 24):
            if A[j] < B[t]:
                continue
            C[j] = C[j] + A[t]
        s[0] = t + 1
    for i in range(20):
        C[i] = C[i + 4])",
      R"(S = T.alloc_buffer((24,))
    for i in range(24):
        S[i] = A[23 - i]
    for i in range(4):
        for j in range(6):
            if S[i * 6 + j] < B[j]:
                break
            for k in range(6):
                C[i * 6 + k] = C[i * 6 + k] + S[j])",
  };
  for (const std::string_view body : bodies) {
    expect_slices_agree(
        fmt::format("@T.prim_func\ndef main(A: T.Buffer((24,)), B: T.Buffer((24,)), "
                    "C: T.Buffer((24,))):\n    {}\n",
                    body));
  }
}

}  // namespace
}  // namespace loopsmith::interp
