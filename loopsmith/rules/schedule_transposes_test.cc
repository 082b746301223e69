// SPDX-License-Identifier: Apache-2.0
// Transpositions, run as written, scheduled, and lowered.
#include <gtest/gtest.h>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/rules/default_schedule.h"
#include "loopsmith/rules/testing/scheduled.h"
#include "loopsmith/te/te.h"

namespace loopsmith {
namespace transposed_test {

using te::compute;
using te::placeholder;
using te::Tensor;
using testing::Argument;
using testing::numbers;

constexpr CpuModel machine{.vector_bytes = 32, .vector_registers = 16, .cores = 2};

/// The schedule as script, checked.
std::string checked(const Ptr<PrimFunc>& func, const std::vector<Argument>& arguments) {
  return script(testing::checked_schedule(func, arguments, machine));
}

bool has_tile(const std::string& text) {
  return text.find("a_tile = T.alloc_buffer") != std::string::npos;
}

TEST(transposed, copies_tiles_of_constant_shapes) {
  for (const int rows : {8, 9, 16, 17, 31, 40}) {
    for (const int columns : {8, 13, 16, 33}) {
      const Tensor a = placeholder({columns, rows}, f32, "a");
      const auto func = te::create_prim_func(
          {a, compute({rows, columns}, [&](Expr i, Expr j) { return a(j, i); }, "b")});
      EXPECT_TRUE(has_tile(checked(func, {numbers({columns, rows}), numbers({rows, columns})})));
    }
  }
}

TEST(transposed, chooses_at_run_time_for_symbolic_shapes) {
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

TEST(transposed, moves_channels_last) {
  const Tensor a = placeholder({2, 11, 3, 9}, f32, "a");
  const auto func = te::create_prim_func(
      {a,
       compute({2, 3, 9, 11}, [&](Expr n, Expr h, Expr w, Expr c) { return a(n, c, h, w); }, "b")});
  EXPECT_TRUE(has_tile(checked(func, {numbers({2, 11, 3, 9}), numbers({2, 3, 9, 11})})));
}

TEST(transposed, reads_the_rest_as_it_lies) {
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

TEST(transposed, fills_lanes_of_short_types) {
  for (const DataType type : {i8, i16, f64}) {
    const Tensor a = placeholder({37, 45}, type, "a");
    const auto func =
        te::create_prim_func({a, compute({45, 37}, [&](Expr i, Expr j) { return a(j, i); }, "b")});
    EXPECT_TRUE(has_tile(checked(func, {numbers({37, 45}), numbers({45, 37})})));
  }
}

TEST(transposed, leaves_axes_that_fill_no_vector) {
  const Tensor a = placeholder({40, 3}, f32, "a");
  const auto func =
      te::create_prim_func({a, compute({3, 40}, [&](Expr i, Expr j) { return a(j, i); }, "b")});
  EXPECT_FALSE(has_tile(checked(func, {numbers({40, 3}), numbers({3, 40})})));
}

}  // namespace transposed_test
}  // namespace loopsmith
