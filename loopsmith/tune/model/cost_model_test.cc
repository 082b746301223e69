// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/model/cost_model.h"

#include <gtest/gtest.h>

#include <string>

#include "loopsmith/ir/operators.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/tune/model/index_value.h"
#include "loopsmith/tune/model/locality.h"

namespace loopsmith::tune {
namespace {

constexpr CpuModel machine{.vector_bytes = 64, .vector_registers = 32, .cores = 4};

Ptr<PrimFunc> function(const std::string& parameters, const std::string& body) {
  return parse_function("@T.prim_func\ndef main(" + parameters + "):\n" +
                        "    T.func_attr({\"tir.noalias\": True})\n" + body);
}

/// A product of 512 x 512 matrices; `loops` are what is around the update, an indented line each.
double product(const std::string& loops, const std::string& i, const std::string& j,
               const std::string& k, const std::string& indent) {
  const std::string element = "C[" + i + ", " + j + "]";
  return estimate(
      function("A: T.Buffer((512, 512), \"float32\"), B: T.Buffer((512, 512), \"float32\"), "
               "C: T.Buffer((512, 512), \"float32\")",
               loops + indent + element + " = " + element + " + A[" + i + ", " + k + "] * B[" + k +
                   ", " + j + "]\n"),
      machine);
}

double row_by_row(const std::string& rows) {
  return product("    for i in " + rows +
                     "(512):\n      for k in range(512):\n"
                     "        for j in range(512):\n",
                 "i", "j", "k", "          ");
}

TEST(cost_model, prefers_neighbours_in_the_innermost_loop) {
  const double by_columns = product(
      "    for i in range(512):\n      for j in range(512):\n        for k in range(512):\n", "i",
      "j", "k", "          ");
  EXPECT_LT(3 * row_by_row("range"), by_columns);
}

TEST(cost_model, divides_work_among_threads) {
  const double alone = row_by_row("range");
  const double shared = row_by_row("T.parallel");
  EXPECT_LT(3 * shared, alone);
  EXPECT_LT(alone, 4.5 * shared);
}

TEST(cost_model, starts_no_threads_for_little) {
  const auto copy = [](const std::string& loop) {
    return estimate(function("A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")",
                             "    for i in " + loop + "(64):\n      B[i] = A[i]\n"),
                    machine);
  };
  EXPECT_LT(10 * copy("T.vectorized"), copy("T.parallel"));
}

TEST(cost_model, reads_under_which_condition_threads_run) {
  const auto copy = [](const std::string& kind) {
    return estimate(
        function("A: T.Buffer((4096,), \"float32\"), B: T.Buffer((4096,), \"float32\"), n: T.int32",
                 "    for i in " + kind + ":\n      B[i] = A[i]\n"),
        machine);
  };
  const std::string always = "T.parallel(4096)", never = "range(4096)";
  const auto from = [](int least) {
    return "T.parallel(4096, annotations={\"parallel_if\": n < 9 or n >= " + std::to_string(least) +
           "})";
  };
  EXPECT_EQ(copy(from(100)), copy(always));
  EXPECT_EQ(copy(from(1000)), copy(never));
  EXPECT_NE(copy(always), copy(never));
}

/// A loop of a million iterations, each of which stores one element.
double over_a_million(const std::string& store) {
  return estimate(function("A: T.Buffer((1000001,), \"float32\")",
                           "    for i in range(1000000):\n      " + store + "\n"),
                  machine);
}

TEST(cost_model, lets_an_iteration_wait_for_what_the_last_one_stored) {
  const double recurrence = over_a_million("A[i + 1] = A[i] * T.float32(2)");
  EXPECT_LT(3 * over_a_million("A[i] = A[i] * T.float32(2)"), recurrence);
  EXPECT_LT(3 * over_a_million("A[i] = A[i + 1] * T.float32(2)"), recurrence);
}

TEST(cost_model, runs_recurrences_in_turns) {
  const auto rows = [](const std::string& row, const std::string& column) {
    return estimate(function("A: T.Buffer((8, 1001), \"float32\")",
                             "    for " + row + ":\n      for " + column +
                                 ":\n        A[r, i + 1] = A[r, i] + T.float32(1)\n"),
                    machine);
  };
  EXPECT_LT(2 * rows("i in range(1000)", "r in T.unroll(8)"),
            rows("r in range(8)", "i in range(1000)"));
}

TEST(cost_model, prefers_tiles_that_are_whole) {
  const auto tiled = [](const std::string& rows, const std::string& guard) {
    return product("    for i0 in range(" + rows +
                       "):\n      for j0 in range(16):\n        for k in range(512):\n"
                       "          for i1 in T.unroll(8):\n            for j1 in "
                       "T.vectorized(32):\n" +
                       guard,
                   "i0 * 8 + i1", "j0 * 32 + j1", "k", "                ");
  };
  const double whole = tiled("64", "              if True:\n");
  // Conditions of the rows of a tile keep its results in memory; of lanes, which are masks, and of
  // whole tiles, they do not.
  EXPECT_LT(3 * whole, tiled("64", "              if i0 * 8 + i1 < 509:\n"));
  EXPECT_LT(whole, tiled("64", "              if j0 * 32 + j1 < 509:\n"));
  EXPECT_LT(tiled("64", "              if i0 < 63:\n"), 1.1 * whole);
}

TEST(cost_model, prefers_lanes_that_lie_side_by_side) {
  const auto copy = [](const std::string& index) {
    return estimate(function("A: T.Buffer((64, 9), \"float32\"), B: T.Buffer((576,), \"float32\")",
                             "    for i in range(9):\n      for j in T.vectorized(64):\n"
                             "        B[i * 64 + j] = A[" +
                                 index + "]\n"),
                    machine);
  };
  EXPECT_LT(5 * copy("(i * 64 + j) // 9, (i * 64 + j) % 9"),
            copy("(i * 64 + j) // 9, (i * 64 + j) % 9 // 3 * 3 + (i * 64 + j) % 3 // 2"));
}

TEST(cost_model, keeps_a_tile_in_registers) {
  const auto tiled = [](int height, int width) {
    const std::string rows = std::to_string(height), columns = std::to_string(width);
    return product("    for i0 in range(" + std::to_string(512 / height) +
                       "):\n      for j0 in range(" + std::to_string(512 / width) +
                       "):\n        for k in range(512):\n          for i1 in T.unroll(" + rows +
                       "):\n            for j1 in T.vectorized(" + columns + "):\n",
                   "i0 * " + rows + " + i1", "j0 * " + columns + " + j1", "k", "              ");
  };
  // 16 accumulators hide the latency of a sum; 1 does not, and 128 are no registers.
  EXPECT_LT(2 * tiled(8, 32), tiled(1, 16));
  EXPECT_LT(1.3 * tiled(8, 32), tiled(32, 64));
}

TEST(cost_model, loads_elements_that_are_apart_one_by_one) {
  const auto copy = [](const std::string& from) {
    return estimate(
        function("A: T.Buffer((64, 64), \"float32\"), B: T.Buffer((64, 64), \"float32\")",
                 "    for i in range(64):\n      for j in T.vectorized(64):\n        B[i, j] = A[" +
                     from + "]\n"),
        machine);
  };
  EXPECT_LT(2 * copy("i, j"), copy("j, i"));
}

TEST(cost_model, takes_symbolic_sizes_for_middling) {
  const Ptr<PrimFunc> func = parse_function(
      "@T.prim_func\ndef main(a: T.handle, b: T.handle, n: T.int32):\n"
      "    A = T.match_buffer(a, (n,), \"float32\")\n    B = T.match_buffer(b, (n,), \"float32\")\n"
      "    for i in range(n):\n      B[i] = A[i]\n");
  EXPECT_GT(estimate(func, machine), 0);
}

TEST(statements, say_how_accesses_move) {
  const Ptr<PrimFunc> func = function(
      "A: T.Buffer((64, 32), \"float32\"), B: T.Buffer((64, 32), \"float32\")",
      "    for f in range(2048):\n      B[f // 32, f % 32] = A[63 - f // 32, 0] * T.float32(2)\n");
  const std::vector<Statement> found = statements_of(func);
  ASSERT_EQ(found.size(), 1U);
  const Statement& statement = found[0];
  EXPECT_EQ(statement.operations.simple, 1);
  ASSERT_EQ(statement.accesses.size(), 2U);
  const Access& store = statement.accesses[0];
  EXPECT_TRUE(store.is_store);
  EXPECT_EQ(store.motions[0].stride, 1);
  EXPECT_EQ(store.motions[0].distinct, 2048);
  const Access& load = statement.accesses[1];
  EXPECT_EQ(load.motions[0].stride, 0);
  EXPECT_NEAR(load.motions[0].distinct, 64, 1500);
  EXPECT_LT(load.motions[0].distinct, 2048);
}

TEST(statements, find_accumulators) {
  const Ptr<PrimFunc> func =
      function("A: T.Buffer((64,), \"float32\"), B: T.Buffer((1,), \"float32\")",
               "    for k in range(64):\n      B[0] = B[0] + A[k] * A[k]\n");
  const Statement statement = statements_of(func).at(0);
  EXPECT_TRUE(statement.accesses[0].is_accumulator);
  EXPECT_EQ(statement.operations.simple, 1);  // A product in a sum counts once.
}

/// The rows of a matrix of 1024 x 1024 floats, read in each of 16 rounds.
Statement rounds_of_rows() {
  Statement statement;
  statement.loops = {{nullptr, ForKind::serial, 16},
                     {nullptr, ForKind::serial, 1024},
                     {nullptr, ForKind::serial, 1024}};
  Access access;
  access.is_parameter = true;
  access.buffer_bytes = 1024 * 1024 * 4;
  access.motions = {{0, 1, true}, {1024, 1024, true}, {1, 1024, true}};
  statement.accesses = {access};
  return statement;
}

TEST(locality, counts_the_lines_of_a_row_and_of_a_column) {
  const Statement rows = rounds_of_rows();
  EXPECT_EQ(footprint(rows, rows.accesses[0], 2), 4096);
  EXPECT_EQ(footprint(rows, rows.accesses[0], 0), 4 << 20);
  Statement column = rows;
  column.loops.pop_back();
  column.accesses[0].motions.pop_back();
  EXPECT_EQ(footprint(column, column.accesses[0], 1), 1024 * line_bytes);
}

TEST(locality, brings_in_again_what_does_not_stay) {
  const Statement rows = rounds_of_rows();
  const double once = 4 << 20;
  EXPECT_EQ(traffic(rows, 32 << 10, once), 16 * once);
  EXPECT_EQ(traffic(rows, 64 << 20, once), 0);    // It is there from the last call.
  EXPECT_EQ(traffic(rows, 64 << 20, 1e9), once);  // Another part of the program took its place.
}

TEST(index_value, computes_what_indices_are) {
  const Ptr<Var> i = var("i");
  Assignment assignment;
  assignment.numbers.emplace_back(i.get(), -7);
  EXPECT_EQ(value_of(floordiv(Expr(i), 4), assignment), -2);
  EXPECT_EQ(value_of(floormod(Expr(i), 4) * 3 + min(Expr(i), 2), assignment), -4);
  EXPECT_EQ(value_of(floordiv(Expr(i), Expr(i) + 7), assignment), std::nullopt);
  EXPECT_EQ(value_of(select(Expr(i) < 0, Expr(1), Expr(2)), assignment), 1);
  EXPECT_EQ(value_of(var("n"), assignment), assignment.size);
}

}  // namespace
}  // namespace loopsmith::tune
