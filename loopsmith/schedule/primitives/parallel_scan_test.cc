// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/parallel_scan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr auto sums = R"(A: T.Buffer((100,), "int32"), B: T.Buffer((101,), "int32"))";
constexpr auto floats =
    R"(A: T.Buffer((50,), "float64"), F: T.Buffer((50,), "float64"), B: T.Buffer((51,), "float64"))";

void expect_scan(const char* parameters, const char* body) {
  const auto before = program(parameters, body);
  for (const std::int64_t length : {1, 32, 200}) {
    Schedule sch(before);
    const auto loops = parallel_scan(sch, get_loop(sch, "i"), length);
    ASSERT_EQ(loops.size(), 3u);
    EXPECT_EQ(sch.get(loops[0]).kind, ForKind::parallel);
    EXPECT_EQ(sch.get(loops[1]).kind, ForKind::serial);
    EXPECT_EQ(sch.get(loops[2]).kind, ForKind::parallel);
    expect_result(sch, before);
  }
}

/// The same by tiles: what threads share lies in shared memory.
void expect_tiles(const char* parameters, const char* body) {
  const auto before = program(parameters, body);
  for (const std::int64_t tile : {1, 3, 8}) {
    for (const std::int64_t length : {16, 32}) {
      Schedule sch(before);
      const auto loops = parallel_scan(sch, get_loop(sch, "i"), length, std::nullopt, tile);
      expect_result(sch, before);
      for (const LoopRV tiles : {loops[0], loops[2]}) {
        bind(sch, tiles, "blockIdx.x");
        for (const LoopRV inside : get_child_loops(sch, tiles)) bind(sch, inside, "threadIdx.x");
      }
      expect_result(sch, before);
    }
  }
}

TEST(parallel_scan, takes_tiles_through_shared_memory) {
  expect_tiles(sums, "B[0] = 0\nfor i in range(100):\n    B[i + 1] = B[i] + A[i]\n");
  expect_tiles(sums, "B[0] = 9\nfor i in range(77):\n    B[i + 1] = T.max(B[i], A[i] * A[i])\n");
  // Two numbers tell what iterations of a linear recurrence do.
  expect_tiles(floats,
               "B[0] = T.float64(1)\nfor i in range(50):\n    B[i + 1] = F[i] * B[i] + A[i]\n");
  // What stands after the recurrence, and values of one element.
  expect_tiles(sums, R"(
t = T.alloc_buffer((1,), "int32")
t[0] = 5
for i in range(100):
    t[0] = t[0] + A[i]
    B[i] = t[0] * 2
B[100] = t[0]
)");
}

TEST(parallel_scan, refuses_tiles_of_values_before) {
  Schedule sch(program(sums, R"(
t = T.alloc_buffer((1,), "int32")
t[0] = 5
for i in range(100):
    B[i] = t[0]
    t[0] = t[0] + A[i]
)"));
  EXPECT_EQ(
      error_of([&] { parallel_scan(sch, get_loop(sch, "i"), 16, std::nullopt, 2); }).substr(0, 139),
      "loop_is_a_scan: parallel_scan: something in loop i stands before the recurrence, "
      "and tiles have the values after it alone");
  EXPECT_EQ(
      error_of([&] { parallel_scan(sch, get_loop(sch, "i"), 16, std::nullopt, -1); }).substr(0, 76),
      "number_is_in_range: parallel_scan: tile is -1, not within 0 and 1024");
}

TEST(parallel_scan, takes_a_prefix_sum) {
  expect_scan(sums, "B[0] = 0\nfor i in range(100):\n    B[i + 1] = B[i] + A[i]\n");
}

TEST(parallel_scan, takes_blocks_and_sums_in_place) {
  expect_scan(sums, R"(
for i in range(99):
    with T.block("A"):
        vi = T.axis.reduce(99, i)
        A[vi + 1] = A[vi + 1] + A[vi]
)");
}

TEST(parallel_scan, takes_values_kept_in_one_element) {
  expect_scan(sums, R"(
t = T.alloc_buffer((1,), "int32")
t[0] = 5
for i in range(100):
    B[i] = t[0]
    t[0] = T.max(t[0], A[i])
B[100] = t[0]
)");
}

TEST(parallel_scan, takes_blocks_that_a_split_has_cut) {
  const auto before = program(sums, "B[0] = 0\nfor i in range(100):\n    B[i + 1] = B[i] + A[i]\n");
  Schedule sch(before);
  const LoopRV inner = split(sch, get_loop(sch, "i"), {infer, 48})[1];
  EXPECT_EQ(parallel_scan(sch, inner, 16).size(), 3u);
  expect_result(sch, before);
}

TEST(parallel_scan, forgets_a_first_state_that_nothing_has_set) {
  const auto before = program(R"(A: T.Buffer((50,), "float32"), S: T.Buffer((1,), "float32"))", R"(
t = T.alloc_buffer((), "float32")
for i in range(50):
    t[()] = T.if_then_else(i != 0, t[()] * A[i], T.float32(2))
S[0] = t[()]
)");
  Schedule sch(before);
  parallel_scan(sch, get_loop(sch, "i"), 16);
  expect_result(sch, before);
}

TEST(parallel_scan, chooses_nothing_between_integers) {
  // 0 * x is 0 of all integers; of floats, a factor may have grown beyond all bounds.
  const auto chooses = [](const char* type) {
    const auto before = program(
        fmt::format(
            "A: T.Buffer((50,), '{0}'), F: T.Buffer((50,), '{0}'), B: T.Buffer((51,), '{0}')",
            type),
        "for i in range(50):\n    B[i + 1] = F[i] * B[i] + A[i]\n");
    Schedule sch(before);
    parallel_scan(sch, get_loop(sch, "i"), 8);
    expect_result(sch, before);
    return body_of(sch).find("T.Select(B_total") != std::string::npos;
  };
  EXPECT_FALSE(chooses("int32"));
  EXPECT_TRUE(chooses("float32"));
}

TEST(parallel_scan, takes_linear_recurrences) {
  expect_scan(floats, "for i in range(50):\n    B[i + 1] = F[i] * B[i] + A[i]\n");
  expect_scan(floats, "for i in range(1, 48, 2):\n    B[i + 2] = (B[i] - A[i]) * T.float64(0.5)\n");
}

TEST(parallel_scan, takes_segments) {
  expect_scan(sums, R"(
for i in range(100):
    B[i + 1] = T.Select(A[i] % 7 == 0, A[i], B[i] + A[i])
)");
}

TEST(parallel_scan, takes_branches_that_store_one_element) {
  expect_scan(sums, R"(
for i in range(100):
    if A[i] % 7 == 0:
        B[i + 1] = A[i]
    elif A[i] % 3 == 0:
        B[i + 1] = B[i] - 1
    else:
        B[i + 1] = B[i] + A[i]
)");
  const char* counted = R"(
t = T.alloc_buffer((1,), "int32")
t[0] = 0
for i in range(100):
    if {}:
        t[0] = {}
    B[i] = t[0]
)";
  // What is not chosen may have no value.
  for (const auto& [condition, value] :
       {std::pair("A[i] % 2 == 0", "t[0] + 1"), std::pair("A[i] != 0", "t[0] + 100 // A[i]"),
        std::pair("i < 60", "A[i + 40] - t[0]"), std::pair("A[i] > t[0]", "A[i]")}) {
    expect_scan(sums, fmt::format(fmt::runtime(counted), condition, value).c_str());
  }
}

TEST(parallel_scan, refuses_to_keep_what_may_not_be_set) {
  const auto scan_of = [](const char* start) {
    Schedule sch(program(sums, fmt::format(R"(
t = T.alloc_buffer((1,), "int32")
{}
for i in range(100):
    if A[i] > 1000:
        t[0] = A[i]
    B[i] = A[i]
)",
                                           start)));
    return error_of([&] { parallel_scan(sch, get_loop(sch, "i"), 32); });
  };
  EXPECT_EQ(scan_of("if A[0] > 3:\n    t[0] = 0"),
            "step_keeps_results: parallel_scan: results may change: iterations of loop i may keep "
            "what t holds, which nothing is certain to set before");
  EXPECT_EQ(scan_of("t[0] = 0"), "");
  // Where nothing can have set it, what it holds is never used.
  EXPECT_EQ(scan_of("B[0] = 0"), "");
}

TEST(parallel_scan, takes_what_an_iteration_stores_to_a_variable_several_times) {
  expect_scan(sums, R"(
m = T.alloc_buffer((1,), "int32")
m[0] = 3
for i in range(100):
    if A[i] % 5 == 0:
        m[0] = 0
    m[0] = T.max(m[0], A[i])
    B[i] = m[0]
)");
}

TEST(parallel_scan, reads_the_first_state_where_the_loop_runs) {
  const auto lengths = program("a: T.handle, b: T.handle", R"(
n = T.int32()
A = T.match_buffer(a, (n + 1,), "int32")
B = T.match_buffer(b, (n + 1,), "int32")
for i in range(n):
    if A[i + 1] == A[i]:
        B[i + 1] = B[i] + 1
    else:
        B[i + 1] = 1
)");
  Schedule sch(lengths);
  parallel_scan(sch, get_loop(sch, "i"), 8);
  expect_result(sch, lengths);
}

TEST(parallel_scan, takes_what_is_linear_in_another_ring) {
  expect_scan(sums, "for i in range(100):\n    B[i + 1] = T.max(T.min(B[i], A[i]), A[i] - 7)\n");
  expect_scan(sums, "for i in range(100):\n    B[i + 1] = (B[i] & A[i]) ^ (A[i] | 5)\n");
  expect_scan(floats, "for i in range(50):\n    B[i + 1] = T.min(F[i], T.max(A[i], B[i]))\n");
  Schedule exact(
      program(floats, "for i in range(50):\n    B[i + 1] = T.min(F[i], T.max(A[i], B[i]))\n"));
  exact.allow_reassociation(false);
  EXPECT_EQ(parallel_scan(exact, get_loop(exact, "i")).size(), 3u);
}

constexpr auto pairs =
    R"(A: T.Buffer((100,), "int32"), D: T.Buffer((100,), "int32"), B: T.Buffer((101,), "int32"), C: T.Buffer((101,), "int32"))";

/// The largest so far, and the sum of what belongs to all that are as large.
constexpr auto largest_and_sum = R"(
for i in range(100):
    with T.block("B"):
        vi = T.axis.opaque(100, i)
        T.block_attr({{"reducer": T.comm_reducer(lambda x_0, x_1, y_0, y_1: (T.max(x_0, y_0), T.Select(x_0 == y_0, x_1 + y_1, T.Select(x_0 > y_0, x_1, y_1))), [T.min_value("int32"), 0])}})
        B[vi + 1] = T.max(B[vi], A[vi])
        C[vi + 1] = T.Select(B[vi] == A[vi], C[vi] + D[vi], T.Select(B[vi] {} A[vi], C[vi], D[vi]))
)";

TEST(parallel_scan, takes_tuples_that_a_declared_reducer_combines) {
  expect_scan(pairs, fmt::format(largest_and_sum, ">").c_str());
}

/// A maximum in a form that does not tell it.
Ptr<CommReducer> own_reducer() {
  const Ptr<Var> x = var("x"), y = var("y");
  return make(CommReducer{.lhs = {x},
                          .rhs = {y},
                          .result = {select(x > y, x, max(x, y))},
                          .identity_element = {min_value(x->dtype)}});
}

TEST(parallel_scan, takes_a_reducer_that_is_given) {
  const auto before = program(sums,
                              "for i in range(100):\n"
                              "    B[i + 1] = T.Select(B[i] > A[i], B[i], T.max(B[i], A[i]))\n");
  Schedule sch(before);
  EXPECT_FALSE(parallel_scan.attempt(sch, get_loop(sch, "i"), 16));
  EXPECT_EQ(parallel_scan(sch, get_loop(sch, "i"), 16, Annotation(Ref(own_reducer()))).size(), 3u);
  expect_replays(sch, before);
}

TEST(parallel_scan, takes_rows_of_different_lengths) {
  expect_scan(R"(A: T.Buffer((20, 80), "int32"), B: T.Buffer((20, 81), "int32"))", R"(
for r in range(20):
    for i in range(r * 4):
        B[r, i + 1] = B[r, i] + A[r, i]
)");
  expect_scan(
      R"(S: T.Buffer((4,), "int32"), A: T.Buffer((100,), "int32"), B: T.Buffer((101,), "int32"))",
      R"(
for r in range(4):
    for i in range(T.min(T.max(S[r], 0), 60), T.min(T.max(S[r], 40), 100)):
        B[i + 1] = B[i] + A[i]
)");
}

TEST(parallel_scan, leaves_alone_what_has_no_iteration) {
  const auto before = program(R"(a: T.handle, b: T.handle)", R"(
n = T.int32()
A = T.match_buffer(a, (n,), "int32")
B = T.match_buffer(b, (n,), "int32")
for i in range(n - 1):
    B[i + 1] = B[i] + A[i]
)");
  Schedule sch(before);
  parallel_scan(sch, get_loop(sch, "i"), 16);
  expect_result(sch, before);
}

TEST(parallel_scan, refuses_what_is_no_scan) {
  const auto of = [](const char* parameters, const char* body) {
    Schedule sch(program(parameters, body));
    return error_of([&] { parallel_scan(sch, get_loop(sch, "i"), 16); });
  };
  EXPECT_EQ(of(sums, "for i in range(100):\n    B[i] = A[i]\n"),
            "loop_is_a_scan: parallel_scan: no store in loop i takes over the value that "
            "the iteration before has stored");
  EXPECT_EQ(of(sums, "for i in range(100):\n    B[i + 1] = B[i] * B[i] + A[i]\n"),
            "loop_is_a_scan: parallel_scan: B is made of the value before by no "
            "operation that is known to be associative");
  EXPECT_EQ(of(sums, "for i in range(99):\n    B[i + 1] = B[i] + A[i]\n    A[i + 1] = B[i]\n"),
            "step_keeps_results: parallel_scan: results may change: the recurrence of loop i reads "
            "A, which the "
            "loop writes elsewhere");
  EXPECT_EQ(of(sums, R"(
for i in range(100):
    for j in range(2):
        B[i + 1] = B[i] + A[i]
)"),
            "loop_is_a_scan: parallel_scan: the body of loop i is not a sequence of stores");
  EXPECT_EQ(of(sums, R"(
for i in range(100):
    if i % 3 < 2:
        B[i + 1] = B[i] + A[i]
)"),
            "loop_is_a_scan: parallel_scan: the body of loop i is not a sequence of stores");
  EXPECT_EQ(of(sums, R"(
for i in range(98):
    B[i + 1] = B[i] + 1
    A[i + 2] = A[i + 1] * 3 + 1
)")
                .substr(0, 33),
            "step_keeps_results: parallel_scan");
  EXPECT_EQ(of(pairs, fmt::format(largest_and_sum, ">=").c_str()),
            "loop_is_a_scan: parallel_scan: B is not what the declared reducer combines "
            "of the values before and of others");
  Schedule sch(program(sums, "for i in range(100):\n    B[i + 1] = B[i] + A[i]\n"));
  EXPECT_EQ(error_of([&] { parallel_scan(sch, get_loop(sch, "i"), 16, Annotation(3)); }),
            "argument_has_type: parallel_scan: the argument reducer is no CommReducer");
  EXPECT_EQ(error_of([&] { parallel_scan(sch, get_loop(sch, "i"), 0); }),
            "number_is_in_range: parallel_scan: length is 0, not within 1 and 16777216");
  Schedule exact(program(floats, "for i in range(50):\n    B[i + 1] = B[i] + A[i]\n"));
  exact.allow_reassociation(false);
  EXPECT_EQ(error_of([&] { parallel_scan(exact, get_loop(exact, "i")); }),
            "reductions_keep_their_order: parallel_scan: reduction B would combine its elements in "
            "another order, and allow_reassociation is False");
}

}  // namespace
}  // namespace loopsmith
