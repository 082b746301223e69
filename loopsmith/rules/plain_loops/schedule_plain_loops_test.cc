// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/schedule_plain_loops.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/rules/plain_loops/steps.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/random_program.h"
#include "loopsmith/schedule/testing/semantics.h"
#include "loopsmith/schedule/testing/trial.h"
#include "loopsmith/support/testing/fuzz_cases.h"

namespace loopsmith {
namespace {

using schedule_testing::body_of;
using schedule_testing::program;

using plain_loops::Machine;

/// Small, so that the loops of tests have enough to do for it.
constexpr Machine machine_with(int cores, double thread_start_cycles = 500) {
  return {{.vector_bytes = 16,
           .vector_registers = 16,
           .cores = cores,
           .thread_start_cycles = thread_start_cycles,
           .core_cache_bytes = 2048},
          256};
}
constexpr Machine small_machine = machine_with(2), one_core = machine_with(1);

/// Schedules all loops of a function. True when one was changed.
bool schedule_all(Schedule& schedule, const Machine& model) {
  bool any = false;
  for (const LoopRV nest : plain_loops::Steps(schedule).outermost()) {
    any = schedule_plain_nest(schedule, nest, model) || any;
  }
  return any;
}

/// The program after the default schedule, which keeps what it computes, and replays.
std::string scheduled(const Ptr<PrimFunc>& func, const Machine& model = one_core) {
  Schedule schedule(func, 1);
  schedule_all(schedule, model);
  schedule_testing::expect_result(schedule, func);
  return body_of(schedule);
}

bool has(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

TEST(schedule_plain_loops, runs_an_innermost_loop_in_vectors) {
  const auto func = program("A: T.Buffer((100,)), B: T.Buffer((100,))",
                            "for i in range(100):\n    B[i] = A[i] + T.float32(1)");
  EXPECT_TRUE(has(scheduled(func), "for i in T.vectorized(100)"));
}

TEST(schedule_plain_loops, sums_into_scalars_of_a_loop_in_its_lanes) {
  const auto columns = program("A: T.Buffer((16, 64)), B: T.Buffer((64,))",
                               "for j in range(64):\n"
                               "    sum: T.float32 = T.float32(0)\n"
                               "    for k in range(16):\n"
                               "        sum = sum + A[k, j]\n"
                               "    B[j] = sum");
  const std::string text = scheduled(columns);
  EXPECT_LT(text.find("for j_1 in T.vectorized(16)"), text.find("for k in range(16)")) << text;
  // Rows of B lie along the sum.
  const auto transposed =
      program("A: T.Buffer((8, 512)), B: T.Buffer((64, 512)), C: T.Buffer((8, 64))",
              "for i, j in T.grid(8, 64):\n"
              "    sum: T.float32 = T.float32(0)\n"
              "    for k in range(512):\n"
              "        sum = sum + A[i, k] * B[j, k]\n"
              "    C[i, j] = sum");
  EXPECT_TRUE(has(scheduled(transposed), "for k_1 in T.vectorized(16)")) << scheduled(transposed);
}

TEST(schedule_plain_loops, iterates_in_lanes_with_branches) {
  const auto func = program("A: T.Buffer((100,)), N: T.Buffer((100,), 'int32')",
                            "for i in range(100):\n"
                            "    x: T.float32 = A[i]\n"
                            "    n: T.int32 = 0\n"
                            "    for t in range(20):\n"
                            "        if x < T.float32(4):\n"
                            "            x = x * x + A[i]\n"
                            "            n = n + 1\n"
                            "    N[i] = n");
  const std::string text = scheduled(func);
  EXPECT_TRUE(has(text, "for i_1 in T.vectorized(16)")) << text;
  EXPECT_TRUE(has(text, "for t in range(20)")) << text;
}

TEST(schedule_plain_loops, leaves_loops_of_unlike_lengths_out_of_lanes) {
  const auto func = program("A: T.Buffer((64, 64)), Y: T.Buffer((64,))",
                            "for i in range(64):\n"
                            "    x: T.float32 = T.float32(1)\n"
                            "    for k in range(i):\n"
                            "        x = x * A[k, i] + T.float32(1)\n"
                            "    Y[i] = x");
  EXPECT_FALSE(has(scheduled(func), "T.vectorized")) << scheduled(func);
}

TEST(schedule_plain_loops, cuts_loops_at_the_row_that_others_read) {
  const auto paths = program("D: T.Buffer((96, 96), 'uint16')",
                             "for k, i, j in T.grid(96, 96, 96):\n"
                             "    D[i, j] = T.min(D[i, j], D[i, k] + D[k, j])");
  const std::string text = scheduled(paths, small_machine);
  EXPECT_TRUE(has(text, "for i_before in T.parallel(k)")) << text;
  EXPECT_TRUE(has(text, "for j_before in T.vectorized(k)")) << text;
  const auto middle = program("A: T.Buffer((200,)), B: T.Buffer((200,))",
                              "for i in range(200):\n    A[i] = A[100] + B[i]");
  EXPECT_TRUE(has(scheduled(middle), "for i_before in T.vectorized(100)")) << scheduled(middle);
  const auto first = program("A: T.Buffer((200,)), B: T.Buffer((200,))",
                             "for i in range(200):\n    A[i] = A[0] + B[i]");
  EXPECT_TRUE(has(scheduled(first), "for i in T.vectorized(1, 200)")) << scheduled(first);
}

TEST(schedule_plain_loops, runs_recurrences_at_a_distance_in_shorter_vectors) {
  const auto before = [](int distance) {
    return program(
        "A: T.Buffer((100,)), B: T.Buffer((100,))",
        fmt::format("for i in range({}, 100):\n    B[i] = B[i - {}] + A[i]", distance, distance));
  };
  EXPECT_TRUE(has(scheduled(before(2)), "for i_1 in T.vectorized(2)")) << scheduled(before(2));
  EXPECT_TRUE(has(scheduled(before(3)), "for i_1 in T.vectorized(2)")) << scheduled(before(3));
  EXPECT_TRUE(has(scheduled(before(6)), "for i_1 in T.vectorized(4)")) << scheduled(before(6));
}

TEST(schedule_plain_loops, leaves_a_recurrence_in_its_order) {
  const auto func = program("A: T.Buffer((100,)), B: T.Buffer((101,))",
                            "for i in range(100):\n    B[i + 1] = B[i] * A[i]");
  EXPECT_TRUE(has(scheduled(func), "for i in range(100)"));
}

TEST(schedule_plain_loops, scans_in_parts_what_is_long_and_not_rounded) {
  const auto sums = [](const char* type, int count) {
    return program(
        fmt::format("A: T.Buffer(({0},), '{1}'), B: T.Buffer(({0} + 1,), '{1}')", count, type)
            .c_str(),
        fmt::format("for i in range({}):\n    B[i + 1] = B[i] + A[i]", count).c_str());
  };
  EXPECT_TRUE(has(scheduled(sums("int32", 10000), small_machine), "in T.parallel(3)"));
  EXPECT_FALSE(has(scheduled(sums("int32", 100), small_machine), "parallel"));
  EXPECT_FALSE(has(scheduled(sums("float32", 10000), small_machine), "parallel"));
}

TEST(schedule_plain_loops, runs_in_threads_what_takes_longer_than_to_start_them) {
  const auto is_shared = [](int count, const Machine& machine) {
    const auto func =
        program(fmt::format("A: T.Buffer(({0},)), B: T.Buffer(({0},))", count).c_str(),
                fmt::format("for i in range({}):\n    B[i] = A[i] + T.float32(1)", count).c_str());
    return has(scheduled(func, machine), "in T.parallel(");
  };
  // The least number of iterations, as a multiple of 16.
  const auto crossover = [&](const Machine& machine) {
    int count = 16;
    while (!is_shared(count, machine)) count += 16;
    return count;
  };
  const int of_two = crossover(machine_with(2, 50)), slower = crossover(machine_with(2, 100));
  EXPECT_NEAR(slower, 2 * of_two, 16);
  // Of many cores, others do nearly all.
  EXPECT_NEAR(crossover(machine_with(1000, 100)), of_two, 16);
  EXPECT_FALSE(is_shared(100 * slower, machine_with(1, 100)));
}

TEST(schedule_plain_loops, sweeps_in_tiles_along_diagonals) {
  const auto sweep = [](int rows, int columns, const char* neighbours) {
    return program(
        fmt::format("A: T.Buffer(({} + 2, {} + 1), 'int32')", rows, columns).c_str(),
        fmt::format("for i, j in T.grid({}, {}):\n    A[i + 1, j + 1] = T.max({}, A[i + 1, j])",
                    rows, columns, neighbours)
            .c_str());
  };
  const std::string table = scheduled(sweep(260, 1030, "A[i, j + 1]"), small_machine);
  EXPECT_TRUE(has(table, "in T.parallel(")) << table;
  EXPECT_TRUE(has(table, "in T.vectorized(")) << table;
  // What is below comes from memory for each element.
  const std::string relaxed =
      scheduled(sweep(260, 1030, "A[i, j + 1] + A[i + 2, j + 1]"), small_machine);
  EXPECT_TRUE(has(relaxed, "in T.unroll(")) << relaxed;
  EXPECT_FALSE(has(scheduled(sweep(100, 1030, "A[i, j + 1]"), small_machine), "parallel"));
}

TEST(schedule_plain_loops, interleaves_rows_that_wait_for_divisions) {
  const auto sweep = program("A: T.Buffer((66, 200))",
                             "for t, i, j in T.grid(3, 64, 198):\n"
                             "    A[i + 1, j + 1] = (A[i, j + 1] + A[i + 1, j] + A[i + 1, j + 2]\n"
                             "        + A[i + 2, j + 1]) / T.float32(4)");
  const std::string text = scheduled(sweep);
  EXPECT_TRUE(has(text, "for i_1 in T.unroll(8)")) << text;
  // Rows that need no others start together.
  const auto rows = program("A: T.Buffer((64, 200))",
                            "for i, j in T.grid(64, 199):\n"
                            "    A[i, j + 1] = T.float32(1) / (A[i, j] + A[i, j + 1])");
  EXPECT_TRUE(has(scheduled(rows), "for i_1 in T.unroll(8)")) << scheduled(rows);
  const std::string at_once = scheduled(rows, small_machine);
  EXPECT_TRUE(has(at_once, "for i_0 in T.parallel(8)")) << at_once;
  // Numbers of a table are there as soon as there is work for them.
  const auto table = program("D: T.Buffer((65, 201), 'int32')",
                             "for i, j in T.grid(64, 200):\n"
                             "    D[i + 1, j + 1] = T.min(T.min(D[i, j + 1], D[i + 1, j]) + 1,\n"
                             "        D[i, j] + 1)");
  EXPECT_FALSE(has(scheduled(table), "T.unroll")) << scheduled(table);
}

TEST(schedule_plain_loops, gives_a_statement_beside_a_recurrence_a_loop_of_its_own) {
  const auto func = program("A: T.Buffer((100,)), B: T.Buffer((101,)), C: T.Buffer((100,))",
                            "for i in range(100):\n    B[i + 1] = B[i] * A[i]\n"
                            "    C[i] = B[i] + A[i]");
  const std::string text = scheduled(func);
  EXPECT_TRUE(has(text, "for i in range(100)")) << text;
  EXPECT_TRUE(has(text, "T.vectorized(100)")) << text;
}

TEST(schedule_plain_loops, brings_the_contiguous_loop_inside) {
  const auto func = program("A: T.Buffer((64, 48)), B: T.Buffer((64, 48))",
                            "for j in range(48):\n    for i in range(64):\n"
                            "        B[i, j] = A[i, j] * T.float32(2)");
  const std::string text = scheduled(func);
  EXPECT_LT(text.find("for i in range(64)"), text.find("for j in T.vectorized(48)")) << text;
}

TEST(schedule_plain_loops, distributes_what_keeps_the_contiguous_loop_outside) {
  const auto func = program("A: T.Buffer((64, 48)), B: T.Buffer((48,))",
                            "for j in range(48):\n    B[j] = T.float32(0)\n"
                            "    for i in range(64):\n        B[j] = B[j] + A[i, j]");
  const std::string text = scheduled(func);
  EXPECT_LT(text.find("for i_0 in range(16)"), text.find("for j_1 in T.vectorized(48)")) << text;
}

TEST(schedule_plain_loops, gives_each_iteration_its_scalar_where_that_frees_an_order) {
  const auto func = program(
      "A: T.Buffer((40, 40)), B: T.Buffer((40, 40)), C: T.Buffer((40, 40))",
      "for i in range(40):\n    for j in range(40):\n        s = T.float32(0)\n"
      "        for k in range(40):\n            s += A[i, k] * B[k, j]\n        C[i, j] = s");
  EXPECT_TRUE(has(scheduled(func), "T.vectorized")) << scheduled(func);
}

TEST(schedule_plain_loops, tiles_a_product) {
  const auto func = program("A: T.Buffer((40, 40)), B: T.Buffer((40, 40)), C: T.Buffer((40, 40))",
                            "for i in range(40):\n    for j in range(40):\n"
                            "        for k in range(40):\n"
                            "            C[i, j] = C[i, j] + A[i, k] * B[k, j]");
  const std::string text = scheduled(func);
  EXPECT_TRUE(has(text, "T.unroll(")) << text;
  EXPECT_TRUE(has(text, "T.vectorized(8)")) << text;
}

TEST(schedule_plain_loops, tiles_a_product_that_is_summed_up_in_a_variable) {
  const auto func = program(
      "A: T.Buffer((40, 40)), B: T.Buffer((40, 40)), C: T.Buffer((40, 40)), D: T.Buffer((40, 40))",
      "for i, j in T.grid(40, 40):\n"
      "    sum: T.float32 = D[i, j]\n"
      "    for k in range(40):\n"
      "        sum = sum + A[i, k] * B[k, j]\n"
      "    C[i, j] = T.max(sum, T.float32(0))");
  const std::string text = scheduled(func);
  EXPECT_TRUE(has(text, "T.unroll(")) << text;
  EXPECT_TRUE(has(text, "sum[i_1_0 * 5")) << text;
}

TEST(schedule_plain_loops, runs_the_outermost_loop_that_may_on_several_threads) {
  const auto func = program("A: T.Buffer((4, 64, 48))",
                            "for t in range(1, 4):\n    for i in range(64):\n"
                            "        for j in range(48):\n"
                            "            A[t, i, j] = A[t - 1, i, j] * T.float32(2)");
  const std::string text = scheduled(func, small_machine);
  EXPECT_TRUE(has(text, "for i in T.parallel(64)")) << text;
}

TEST(schedule_plain_loops, takes_loops_whose_sizes_are_variables) {
  const auto func = program("a: T.handle, b: T.handle",
                            "n = T.int32()\nm = T.int32()\nA = T.match_buffer(a, (n, m))\n"
                            "B = T.match_buffer(b, (n, m))\n"
                            "for j in range(m):\n    for i in range(n):\n"
                            "        B[i, j] = A[i, j] * T.float32(2)");
  EXPECT_TRUE(has(scheduled(func), "T.vectorized(m)")) << scheduled(func);
}

TEST(schedule_plain_loops, asks_for_sizes_before_threads_are_woken) {
  const auto of = [](const char* type, const char* update) {
    return program("a: T.handle, b: T.handle",
                   fmt::format("n = T.int32()\nA = T.match_buffer(a, (n,), '{0}')\n"
                               "B = T.match_buffer(b, (n + 1,), '{0}')\n"
                               "for i in range(n):\n    B[i + 1] = {1}",
                               type, update)
                       .c_str());
  };
  constexpr Machine slow_to_wake = machine_with(2, 4000);
  for (const auto& func : {of("int32", "B[i] + A[i]"), of("float32", "A[i] + T.float32(1)")}) {
    const std::string text = scheduled(func, slow_to_wake);
    EXPECT_TRUE(has(text, "if n >= ")) << text;
    EXPECT_TRUE(has(text, "in T.parallel(")) << text;
    EXPECT_LT(text.find("T.parallel("), text.find("else:")) << text;
  }
  EXPECT_FALSE(has(scheduled(of("float32", "B[i] + A[i]"), slow_to_wake), "if n >= "));
  EXPECT_FALSE(has(scheduled(of("int32", "B[i] + A[i]")), "if n >= "));
}

TEST(schedule_plain_loops, counts_into_a_copy_for_each_core_where_bins_are_many) {
  const auto counts = [](int bins, const char* size, const char* type = "int32") {
    return program(fmt::format("a: T.handle, H: T.Buffer(({},), '{}')", bins, type).c_str(),
                   fmt::format("n = T.int32()\nA = T.match_buffer(a, ({0},), 'int32')\n"
                               "for i in range({0}):\n"
                               "    H[A[i] % 8] = H[A[i] % 8] + T.{1}(1)",
                               size, type)
                       .c_str());
  };
  const auto has_copies = [&](const Ptr<PrimFunc>& func) {
    const std::string text = scheduled(func, small_machine);
    return has(text, "T.parallel(") && has(text, "H_copies");
  };
  EXPECT_TRUE(has(scheduled(counts(16, "n"), small_machine), "T.parallel("));
  EXPECT_FALSE(has_copies(counts(16, "n")));
  EXPECT_TRUE(has_copies(counts(4000, "n")));
  EXPECT_TRUE(has(scheduled(counts(4000, "n"), small_machine), "if n >= "));
  EXPECT_TRUE(has_copies(counts(4000, "20000")));
  EXPECT_FALSE(has(scheduled(counts(4000, "5000"), small_machine), "T.parallel("));
  // The order of sums is kept.
  EXPECT_FALSE(has(scheduled(counts(4000, "n", "float32"), small_machine), "T.parallel("));
}

TEST(schedule_plain_loops, moves_no_chain_into_memory_for_vectors_of_another_statement) {
  const auto func =
      program("A: T.Buffer((40, 64)), B: T.Buffer((40, 8))",
              "best = T.alloc_buffer((8,))\nx = T.alloc_buffer((1,))\nfor r in range(40):\n"
              "    for start in range(8):\n        best[start] = T.float32(-1)\n"
              "    for k in range(64):\n        x[0] = A[r, k]\n        for c in range(8):\n"
              "            larger = T.max(best[c], x[0])\n            x[0] = T.min(best[c], x[0])\n"
              "            best[c] = larger\n"
              "    for place in range(8):\n        B[r, place] = best[place]");
  const std::string text = scheduled(func);
  EXPECT_LT(text.find("for k in range(64)"), text.find("for c in range(8)")) << text;
}

TEST(schedule_plain_loops, leaves_loops_with_blocks_and_loops_that_say_how_they_run) {
  const auto func = program("A: T.Buffer((64,)), B: T.Buffer((64,))",
                            "for i in range(64):\n    with T.block(\"b\"):\n"
                            "        vi = T.axis.spatial(64, i)\n        B[vi] = A[vi]\n"
                            "for j in T.unroll(64):\n    A[j] = T.float32(0)");
  Schedule schedule(func, 1);
  EXPECT_FALSE(schedule_all(schedule, small_machine));
}

/// Programs of a grammar, compared by the interpreter; sizes are small, so the processor is, too.
TEST(schedule_plain_loops, keeps_what_random_programs_compute) {
  const auto first = static_cast<std::uint64_t>(testing::first_fuzz_seed()) + 1;
  const auto cases = static_cast<std::uint64_t>(testing::fuzz_cases(1000));
  constexpr Machine tiny{{.vector_bytes = 8,
                          .vector_registers = 8,
                          .cores = 2,
                          .thread_start_cycles = 10,
                          .core_cache_bytes = 256},
                         64};
  int changed = 0;
  for (std::uint64_t seed = first; seed < first + cases; ++seed) {
    Ptr<PrimFunc> func;
    try {
      func = schedule_testing::random_program(seed);
    } catch (const UserError&) {
      continue;  // A few draws are no programs.
    }
    if (!schedule_testing::is_valid(func)) continue;
    Schedule schedule(func, 1);
    if (!schedule_all(schedule, tiny)) continue;
    ++changed;
    schedule.check_tree();
    const interp::Verdict verdict = interp::compare(func, schedule.func());
    EXPECT_TRUE(verdict.answer != interp::Answer::different)
        << "seed " << seed << ": " << verdict.reason << "\n"
        << script(func) << "\n"
        << script(schedule.func());
    schedule_testing::expect_replays(schedule, func);
  }
  EXPECT_GT(changed, static_cast<int>(cases) / 25);
}

}  // namespace
}  // namespace loopsmith
