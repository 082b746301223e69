// SPDX-License-Identifier: Apache-2.0
// Products and convolutions, run as written, scheduled, and lowered.
#include "loopsmith/rules/schedule_products.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/default_schedule.h"
#include "loopsmith/rules/testing/scheduled.h"
#include "loopsmith/te/te.h"

namespace loopsmith {
namespace schedule_products_test {

using te::compute;
using te::placeholder;
using te::reduce_axis;
using te::Tensor;
using testing::numbers;
using testing::TestArgument;

constexpr CpuModel machine{
    .vector_bytes = 32, .vector_registers = 16, .cores = 2, .thread_start_cycles = 500};

/// Its second cache holds no long panels.
constexpr CpuModel small_cache{
    .vector_bytes = 32, .vector_registers = 16, .cores = 2, .core_cache_bytes = 1 << 13};

/// With instructions for sums of four products of bytes.
const CpuModel with_bytes = [] {
  CpuModel model{.vector_bytes = 64, .vector_registers = 32, .cores = 2};
  for (const DotIntrinsic& each : dot_intrinsics()) {
    if (each.a == u8 && each.result.lanes == 16) model.byte_product = &each;
  }
  return model;
}();

/// The steps of the default schedule, which is checked.
std::string steps_of(const Ptr<PrimFunc>& func, const std::vector<TestArgument>& arguments,
                     const CpuModel& on = machine) {
  testing::checked_schedule(func, arguments, on);
  return default_schedule(func, on, /*leaves_holes=*/false).trace().text();
}

int count(const std::string& text, std::string_view part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

struct Sizes {
  int rows, columns, depth;
};

/// The steps for C[i, j] = sum of A[i, k] * B[k, j], or of their transposes.
std::string steps_of_product(const Sizes& sizes, bool a_lies_across, bool b_lies_across,
                             const CpuModel& on = machine) {
  const auto [n, m, l] = sizes;
  using Shape = std::vector<std::int64_t>;
  const Shape a_shape = a_lies_across ? Shape{l, n} : Shape{n, l};
  const Shape b_shape = b_lies_across ? Shape{m, l} : Shape{l, m};
  const auto tensor = [](const Shape& shape, const char* name) {
    return placeholder({int_imm(i32, shape[0]), int_imm(i32, shape[1])}, f32, name);
  };
  const Tensor a = tensor(a_shape, "A"), b = tensor(b_shape, "B");
  const te::IterVar k = reduce_axis(0, l, "k");
  const Tensor c = compute(
      {n, m},
      [&](const Expr& i, const Expr& j) {
        return te::sum((a_lies_across ? a(k, i) : a(i, k)) * (b_lies_across ? b(j, k) : b(k, j)),
                       {k});
      },
      "C");
  return steps_of(te::create_prim_func({a, b, c}),
                  {numbers(a_shape), numbers(b_shape, 2), numbers({n, m})}, on);
}

TEST(schedule_products, packs_columns_for_tiles_in_registers) {
  for (const auto& sizes : {Sizes{48, 64, 24}, {61, 70, 9}, {13, 101, 33}, {29, 8, 5}}) {
    const std::string steps = steps_of_product(sizes, false, false);
    EXPECT_EQ(count(steps, "sch.cache_expression("), 1) << steps;
    EXPECT_EQ(count(steps, "sch.decompose_reduction("), 1) << steps;
  }
}

TEST(schedule_products, pads_axes_that_tiles_do_not_cover_alone) {
  EXPECT_EQ(count(steps_of_product({48, 64, 24}, false, false), "sch.pad_axes("), 0);
  EXPECT_EQ(count(steps_of_product({61, 67, 24}, false, false), "sch.pad_axes("), 1);
}

TEST(schedule_products, packs_rows_that_lie_across_memory) {
  for (const auto& sizes : {Sizes{64, 96, 8}, {67, 35, 9}}) {
    const std::string steps = steps_of_product(sizes, true, false);
    EXPECT_EQ(count(steps, "sch.cache_expression("), 2) << steps;
  }
}

TEST(schedule_products, packs_columns_that_lie_across_memory) {
  for (const auto& sizes : {Sizes{64, 96, 8}, {67, 35, 9}, {67, 35, 40}}) {
    EXPECT_EQ(count(steps_of_product(sizes, false, true), "sch.cache_expression("), 1);
    EXPECT_EQ(count(steps_of_product(sizes, true, true), "sch.cache_expression("), 2);
  }
}

TEST(schedule_products, adds_up_the_sums_of_blocks_of_a_long_reduction) {
  for (const auto& sizes : {Sizes{40, 48, 40}, {39, 50, 43}}) {
    EXPECT_EQ(count(steps_of_product(sizes, false, false, small_cache), "sch.rfactor("), 1);
    EXPECT_EQ(count(steps_of_product(sizes, true, true, small_cache), "sch.rfactor("), 1);
  }
}

TEST(schedule_products, makes_tasks_of_batches) {
  const Tensor a = placeholder({3, 25, 9}, f32, "A"), b = placeholder({3, 9, 40}, f32, "B");
  const te::IterVar k = reduce_axis(0, 9, "k");
  const Tensor c = compute(
      {3, 25, 40},
      [&](const Expr& n, const Expr& i, const Expr& j) {
        return te::sum(a(n, i, k) * b(n, k, j), {k});
      },
      "C");
  const std::string steps =
      steps_of(te::create_prim_func({a, b, c}),
               {numbers({3, 25, 9}), numbers({3, 9, 40}, 2), numbers({3, 25, 40})});
  EXPECT_EQ(count(steps, "sch.parallel("), 1) << steps;
}

TEST(schedule_products, shares_panels_among_batches_that_they_do_not_move_along) {
  const Tensor a = placeholder({3, 5, 9}, f32, "A"), b = placeholder({9, 40}, f32, "B");
  const te::IterVar k = reduce_axis(0, 9, "k");
  const Tensor c = compute(
      {3, 5, 40},
      [&](const Expr& n, const Expr& i, const Expr& j) {
        return te::sum(a(n, i, k) * b(k, j), {k});
      },
      "C");
  const std::string steps =
      steps_of(te::create_prim_func({a, b, c}),
               {numbers({3, 5, 9}), numbers({9, 40}, 2), numbers({3, 5, 40})});
  EXPECT_EQ(count(steps, "sch.fuse("), 1) << steps;
  EXPECT_EQ(count(steps, "sch.cache_expression("), 1) << steps;
}

TEST(schedule_products, takes_windows_as_columns_of_a_convolution) {
  const Tensor a = placeholder({2, 3, 9, 23}, f32, "A"), w = placeholder({22, 3, 3, 3}, f32, "W");
  const te::IterVar c = reduce_axis(0, 3, "c"), y = reduce_axis(0, 3, "y"),
                    x = reduce_axis(0, 3, "x");
  for (const int stride : {1, 2}) {
    const int rows = (9 - 3) / stride + 1, columns = (23 - 3) / stride + 1;
    const Tensor out = compute(
        {2, 22, rows, columns},
        [&](const Expr& n, const Expr& f, const Expr& i, const Expr& j) {
          return te::sum(a(n, c, i * stride + y, j * stride + x) * w(f, c, y, x), {c, y, x});
        },
        "out");
    const std::string steps = steps_of(
        te::create_prim_func({a, w, out}),
        {numbers({2, 3, 9, 23}), numbers({22, 3, 3, 3}, 2), numbers({2, 22, rows, columns})});
    EXPECT_EQ(count(steps, "sch.cache_expression("), 1) << steps;
  }
}

TEST(schedule_products, packs_both_ways_in_which_an_operand_is_read) {
  // By the parts of a long reduction, too.
  for (const int depth : {40, 8192}) {
    const Tensor a = placeholder({depth, 20}, f32, "A");
    const te::IterVar k = reduce_axis(0, depth, "k");
    const Tensor c = compute(
        {20, 20}, [&](const Expr& i, const Expr& j) { return te::sum(a(k, i) * a(k, j), {k}); },
        "C");
    const auto func = te::create_prim_func({a, c});
    const std::string steps =
        depth == 40 ? steps_of(func, {numbers({depth, 20}), numbers({20, 20})})
                    : default_schedule(func, machine, /*leaves_holes=*/false).trace().text();
    EXPECT_EQ(count(steps, "sch.cache_expression("), 2) << steps;
    EXPECT_EQ(count(steps, "sch.rfactor("), depth == 40 ? 0 : 2) << steps;
  }
}

TEST(schedule_products, computes_operands_once_for_all_rows) {
  for (const int columns : {40, 37}) {
    const Tensor a = placeholder({24, 9}, f32, "A"), b = placeholder({9, columns}, f32, "B");
    const te::IterVar k = reduce_axis(0, 9, "k");
    const Tensor c = compute(
        {24, columns},
        [&](const Expr& i, const Expr& j) { return te::sum(a(i, k) * (b(k, j) + 1), {k}); }, "C");
    const std::string steps =
        steps_of(te::create_prim_func({a, b, c}),
                 {numbers({24, 9}), numbers({9, columns}, 2), numbers({24, columns})});
    EXPECT_EQ(count(steps, "sch.cache_expression("), 1) << steps;
  }
}

TEST(schedule_products, pads_pictures_as_it_packs_them) {
  const Tensor x = placeholder({3, 9, 20}, f32, "X"), w = placeholder({22, 3, 3, 3}, f32, "W");
  const te::IterVar c = reduce_axis(0, 3, "c"), p = reduce_axis(0, 3, "p"),
                    q = reduce_axis(0, 3, "q");
  const Tensor padded = compute(
      {3, 11, 22},
      [&](const Expr& k, const Expr& i, const Expr& j) {
        const Expr is_inside = 1 <= i && i < 10 && 1 <= j && j < 21;
        return if_then_else(is_inside, x(k, i - 1, j - 1), float_imm(f32, 0));
      },
      "padded");
  const Tensor out = compute(
      {22, 9, 20},
      [&](const Expr& f, const Expr& i, const Expr& j) {
        return te::sum(padded(c, i + p, j + q) * w(f, c, p, q), {c, p, q});
      },
      "out");
  const std::string steps =
      steps_of(te::create_prim_func({x, w, out}),
               {numbers({3, 9, 20}), numbers({22, 3, 3, 3}, 2), numbers({22, 9, 20})});
  EXPECT_EQ(count(steps, "sch.cache_expression("), 1) << steps;
}

/// The steps for C[i, j] = sum of A[i, k] * B[k, j] of bytes.
std::string steps_of_bytes(const Sizes& sizes, CpuModel on = with_bytes) {
  const auto [n, m, l] = sizes;
  const Tensor a = placeholder({n, l}, i8, "A"), b = placeholder({l, m}, i8, "B");
  const te::IterVar k = reduce_axis(0, l, "k");
  const Tensor c = compute(
      {n, m},
      [&](const Expr& i, const Expr& j) {
        return te::sum(cast(i32, a(i, k)) * cast(i32, b(k, j)), {k});
      },
      "C");
  return steps_of(te::create_prim_func({a, b, c}),
                  {numbers({n, l}), numbers({l, m}, 2), numbers({n, m})}, on);
}

TEST(schedule_products, sums_bytes_by_an_instruction) {
  for (const auto& sizes : {Sizes{16, 64, 8}, {13, 70, 12}}) {
    const std::string steps = steps_of_bytes(sizes);
    const auto* name = sizes.depth % 8 == 0 ? "\"dot_16x8_i8i8_vnni\"" : "\"dot_16x4_i8i8_vnni\"";
    EXPECT_EQ(count(steps, name), 1) << steps;
    EXPECT_EQ(count(steps, "sch.pad_einsum("), 0) << steps;
  }
}

TEST(schedule_products, adds_zeros_where_groups_do_not_cover_the_steps) {
  const std::string steps = steps_of_bytes({13, 70, 11});
  EXPECT_EQ(count(steps, "padding=[1, 1, 16]"), 1) << steps;
  EXPECT_EQ(count(steps, "sch.tensorize("), 1) << steps;
}

TEST(schedule_products, makes_blocks_of_bytes_alike) {
  CpuModel on = with_bytes;
  on.core_cache_bytes = 1 << 13;  // Panels of 16 steps.
  const std::string steps = steps_of_bytes({8, 64, 40}, on);
  EXPECT_EQ(count(steps, "padding=[1, 1, 48]"), 1) << steps;
  EXPECT_EQ(count(steps, "sch.rfactor("), 1) << steps;
  EXPECT_EQ(count(steps, "sch.tensorize("), 1) << steps;
}

TEST(schedule_products, leaves_results_that_fill_no_vector) {
  EXPECT_EQ(count(steps_of_bytes({16, 15, 8}), "sch.tensorize("), 0);
}

}  // namespace schedule_products_test
}  // namespace loopsmith
