// SPDX-License-Identifier: Apache-2.0
// Transpositions, run as written, scheduled, and lowered.
#include "loopsmith/rules/schedule_transposes.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/rules/default_schedule.h"
#include "loopsmith/rules/testing/scheduled.h"
#include "loopsmith/te/te.h"

namespace loopsmith {
namespace schedule_transposes_test {

using te::compute;
using te::placeholder;
using te::Tensor;
using testing::numbers;
using testing::TestArgument;

constexpr CpuModel machine{.vector_bytes = 32, .vector_registers = 16, .cores = 2};

/// The schedule as script, checked.
std::string checked(const Ptr<PrimFunc>& func, const std::vector<TestArgument>& arguments) {
  return script(testing::checked_schedule(func, arguments, machine));
}

bool has_tile(const std::string& text) {
  const std::size_t outer = text.find("in T.vectorized(");
  return outer != std::string::npos && text.find("in T.vectorized(", outer + 1) != text.npos;
}

TEST(schedule_transposes, copies_tiles_of_constant_shapes) {
  for (const int rows : {16, 17, 30, 40}) {
    for (const int columns : {16, 29, 33}) {
      const Tensor a = placeholder({columns, rows}, f32, "a");
      const auto func = te::create_prim_func(
          {a, compute({rows, columns}, [&](Expr i, Expr j) { return a(j, i); }, "b")});
      EXPECT_TRUE(has_tile(checked(func, {numbers({columns, rows}), numbers({rows, columns})})));
    }
  }
}

TEST(schedule_transposes, asks_at_run_time_which_tiles_of_symbolic_shapes_are_whole) {
  const Ptr<Var> n = size_var("n"), m = size_var("m");
  const Tensor a = placeholder({m, n}, f32, "a");
  const auto func =
      te::create_prim_func({a, compute({n, m}, [&](Expr i, Expr j) { return a(j, i); }, "b")});
  for (const int rows : {1, 7, 8, 21}) {
    for (const int columns : {1, 3, 8, 19, 32}) {
      EXPECT_TRUE(has_tile(checked(func, {numbers({columns, rows}), numbers({rows, columns})})));
    }
  }
}

TEST(schedule_transposes, moves_channels_last) {
  const Tensor a = placeholder({2, 16, 3, 9}, f32, "a");
  const auto func = te::create_prim_func(
      {a,
       compute({2, 3, 9, 16}, [&](Expr n, Expr h, Expr w, Expr c) { return a(n, c, h, w); }, "b")});
  EXPECT_TRUE(has_tile(checked(func, {numbers({2, 16, 3, 9}), numbers({2, 3, 9, 16})})));
}

TEST(schedule_transposes, reads_the_rest_as_it_lies) {
  const Tensor a = placeholder({24, 20}, i32, "a"), b = placeholder({20, 24}, i32, "b"),
               c = placeholder({20}, i32, "c");
  const Tensor out = compute(
      {20, 24},
      [&](Expr i, Expr j) {
        return a(j, i) * a(j, i) + b(i, j) * c(i) + a(23 - j, i) - b(min(j, 19), min(j, 19)) + i -
               j;
      },
      "out");
  EXPECT_TRUE(has_tile(
      checked(te::create_prim_func({a, b, c, out}),
              {numbers({24, 20}), numbers({20, 24}, 5), numbers({20}, 9), numbers({20, 24})})));
}

TEST(schedule_transposes, fills_lanes_of_short_types) {
  for (const DataType type : {i8, i16, f64}) {
    const Tensor a = placeholder({37, 45}, type, "a");
    const auto func =
        te::create_prim_func({a, compute({45, 37}, [&](Expr i, Expr j) { return a(j, i); }, "b")});
    EXPECT_TRUE(has_tile(checked(func, {numbers({37, 45}), numbers({45, 37})})));
  }
}

TEST(schedule_transposes, leaves_axes_that_fill_no_vector) {
  const Tensor a = placeholder({40, 3}, f32, "a");
  const auto func =
      te::create_prim_func({a, compute({3, 40}, [&](Expr i, Expr j) { return a(j, i); }, "b")});
  EXPECT_FALSE(has_tile(checked(func, {numbers({40, 3}), numbers({3, 40})})));
}

TEST(schedule_transposes, interleaves_a_few_rows) {
  for (const DataType type : {i8, i16, f32}) {
    for (const int channels : {2, 3, 5, 7}) {
      const Tensor a = placeholder({channels, 9, 13}, type, "a");
      const auto func = te::create_prim_func(
          {a, compute({9, 13, channels}, [&](Expr h, Expr w, Expr c) { return a(c, h, w); }, "b")});
      EXPECT_TRUE(
          has_tile(checked(func, {numbers({channels, 9, 13}), numbers({9, 13, channels})})));
    }
  }
}

std::optional<std::int64_t> lanes(int rows, int columns, DataType type = f32,
                                  const CpuModel& on = machine) {
  const Ptr<Buffer> a = decl_buffer({columns, rows}, type, "a");
  const Ptr<Buffer> b = decl_buffer({rows, columns}, type, "b");
  const Ptr<Var> i = var("i"), j = var("j");
  const Axis loaded{i, 0, rows}, stored{j, 0, columns};
  const Nest nest{.name = "b",
                  .axes = {loaded, stored},
                  .init = nullptr,
                  .body = store(b, load(a, {j, i}), {i, j}),
                  .streamed = {}};
  return transposed_lanes(nest, stored, loaded, on);
}

TEST(schedule_transposes, takes_squares_of_vectors_that_registers_hold) {
  constexpr CpuModel wide{.vector_bytes = 64, .vector_registers = 32, .cores = 2};
  EXPECT_EQ(lanes(100, 100), 8);
  EXPECT_EQ(lanes(100, 100, f64), 4);
  EXPECT_EQ(lanes(100, 100, i8), 16);  // 32 lanes, but 16 registers
  EXPECT_EQ(lanes(100, 100, f32, wide), 16);
  EXPECT_EQ(lanes(100, 100, i8, wide), 32);
}

TEST(schedule_transposes, takes_none_where_squares_are_few_or_leave_out_much) {
  EXPECT_EQ(lanes(16, 16), 8);
  EXPECT_EQ(lanes(15, 16), std::nullopt);  // Two whole squares.
  EXPECT_EQ(lanes(7, 64), std::nullopt);   // Squares of 4 leave out 3 of 7 rows.
  EXPECT_EQ(lanes(6, 64), std::nullopt);
  EXPECT_EQ(lanes(5, 64), std::nullopt);
  EXPECT_EQ(lanes(29, 64), 8);
  EXPECT_EQ(lanes(4, 64), 4);
  EXPECT_EQ(lanes(3, 64), std::nullopt);
}

}  // namespace schedule_transposes_test
}  // namespace loopsmith
