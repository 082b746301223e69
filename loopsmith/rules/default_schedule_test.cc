// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/default_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/rules/testing/scheduled.h"
#include "loopsmith/te/te.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/testing/functions.h"
#include "loopsmith/transform/testing/programs.h"

namespace loopsmith {
namespace {

using te::compute;
using te::placeholder;
using te::reduce_axis;
using te::Tensor;
using testing::numbers;
using testing::TestArgument;

constexpr CpuModel machine{
    .vector_bytes = 64, .vector_registers = 32, .cores = 2, .thread_start_cycles = 500};

/// The schedule, checked.
Ptr<PrimFunc> checked(const Ptr<PrimFunc>& func, const std::vector<TestArgument>& arguments,
                      const CpuModel& on = machine) {
  return testing::checked_schedule(func, arguments, on);
}

int count_loops(const Ptr<PrimFunc>& func, ForKind kind) {
  int count = 0;
  pre_order_visit(func->body, [&](const Ref& ref) {
    const auto* loop = ref.as<For>();
    count += loop && loop->kind == kind;
    return true;
  });
  return count;
}

Ptr<PrimFunc> matmul(const Expr& n, const Expr& m, const Expr& l) {
  const Tensor a = placeholder({n, l}, f32, "A");
  const Tensor b = placeholder({l, m}, f32, "B");
  const te::IterVar k = reduce_axis(0, l, "k");
  const Tensor c =
      compute({n, m}, [&](Expr i, Expr j) { return te::sum(a(i, k) * b(k, j), {k}); }, "C");
  return te::create_prim_func({a, b, c});
}

TEST(default_schedule, tiles_a_matmul_that_divides) {
  const auto func =
      checked(matmul(32, 64, 24), {numbers({32, 24}), numbers({24, 64}, 2), numbers({32, 64})});
  EXPECT_GT(count_loops(func, ForKind::vectorized), 0);
  EXPECT_GT(count_loops(func, ForKind::unrolled), 0);
}

TEST(default_schedule, tiles_a_matmul_with_remainders_in_each_axis) {
  for (const auto& [n, m, l] :
       {std::tuple{13, 35, 7}, {1, 50, 3}, {29, 1, 4}, {7, 100, 1}, {6, 17, 33}}) {
    checked(matmul(n, m, l), {numbers({n, l}), numbers({l, m}, 2), numbers({n, m})});
  }
}

TEST(default_schedule, tiles_a_matmul_of_symbolic_sizes) {
  const Ptr<Var> n = size_var("n"), m = size_var("m"), l = size_var("l");
  const auto func = matmul(n, m, l);
  for (const auto& [rows, columns, depth] :
       {std::tuple{13, 35, 7}, {24, 128, 8}, {1, 1, 1}, {9, 70, 5}}) {
    checked(func, {numbers({rows, depth}), numbers({depth, columns}, 2), numbers({rows, columns})});
  }
}

/// C = A @ B where the operands are stored as given, each index a place of (i, j, k).
Ptr<PrimFunc> product(const std::vector<int>& a_axes, const std::vector<int>& b_axes, const Expr& n,
                      const Expr& m, const Expr& l) {
  const Expr extents[] = {n, m, l};
  const te::IterVar k = reduce_axis(0, l, "k");
  const auto operand = [&](const std::vector<int>& axes, const std::string& name) {
    return placeholder({extents[axes[0]], extents[axes[1]]}, f32, name);
  };
  const Tensor a = operand(a_axes, "A"), b = operand(b_axes, "B");
  const Tensor c = compute(
      {n, m},
      [&](Expr i, Expr j) {
        const Expr all[] = {i, j, k};
        return te::sum(a(all[a_axes[0]], all[a_axes[1]]) * b(all[b_axes[0]], all[b_axes[1]]), {k});
      },
      "C");
  return te::create_prim_func({a, b, c});
}

/// How many buffers there are whose name ends so.
int count_buffers(const Ptr<PrimFunc>& func, std::string_view end) {
  int count = 0;
  pre_order_visit(func->body, [&](const Ref& ref) {
    const auto* block = ref.as<Block>();
    if (!block) return true;
    for (const Ptr<Buffer>& buffer : block->alloc_buffers) count += buffer->name.ends_with(end);
    return true;
  });
  return count;
}

/// How many buffers have packed operands, by steps or by loops.
int count_panels(const Ptr<PrimFunc>& func) {
  return count_buffers(func, "_panel") + count_buffers(func, "_global");
}

/// How many statements add a product to a result.
int count_kernels(const Ptr<PrimFunc>& func) {
  int count = 0;
  pre_order_visit(func->body, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    const auto* sum = store ? store->value.as<Add>() : nullptr;
    count += sum && sum->b.is<Mul>();
    return true;
  });
  return count;
}

TEST(default_schedule, copies_the_columns_of_a_matmul_of_any_size_for_one_kernel) {
  const Ptr<Var> n = size_var("n"), m = size_var("m"), l = size_var("l");
  for (const auto& func : {matmul(64, 96, 32), matmul(67, 101, 33), matmul(n, m, l)}) {
    const auto scheduled = with_default_schedule(func, machine);
    EXPECT_EQ(count_kernels(scheduled), 1) << script(scheduled);
    EXPECT_EQ(count_panels(scheduled), 1);
    EXPECT_EQ(count_loops(scheduled, ForKind::parallel), 1);
  }
}

TEST(default_schedule, copies_rows_that_would_be_read_across_memory) {
  for (const auto& [n, m, l] : {std::tuple{64, 96, 8}, {67, 35, 9}}) {
    const auto func = checked(product({2, 0}, {2, 1}, n, m, l),
                              {numbers({l, n}), numbers({l, m}, 2), numbers({n, m})});
    EXPECT_EQ(count_panels(func), 2) << script(func);
  }
}

TEST(default_schedule, copies_rows_as_half_vectors_where_registers_are_few) {
  CpuModel few = machine;
  few.vector_bytes = 32;
  few.vector_registers = 16;
  const std::string text = script(with_default_schedule(product({2, 0}, {2, 1}, 64, 96, 8), few));
  // Twelve sums, of 4 rows by 3 vectors; of 8 rows, two vectors would be too many.
  EXPECT_NE(text.find("A_global = T.alloc_buffer((16, 8, 4))"), std::string::npos) << text;
}

TEST(default_schedule, copies_columns_that_lie_across_memory) {
  for (const auto& [n, m, l] : {std::tuple{64, 96, 8}, {67, 35, 9}}) {
    const auto func = checked(product({0, 2}, {1, 2}, n, m, l),
                              {numbers({n, l}), numbers({m, l}, 2), numbers({n, m})});
    EXPECT_EQ(count_panels(func), 1) << script(func);
  }
}

TEST(default_schedule, reads_operands_in_place_for_few_rows) {
  const auto rows =
      checked(matmul(4, 64, 24), {numbers({4, 24}), numbers({24, 64}, 2), numbers({4, 64})});
  EXPECT_EQ(count_panels(rows), 0);
  // A variable number of rows of results, which are sums along rows of both operands: both ways.
  const Ptr<Var> n = size_var("n");
  const auto func = product({0, 2}, {1, 2}, n, 35, 20);
  EXPECT_EQ(count_buffers(with_default_schedule(func, machine), "_panel"), 1);
  EXPECT_EQ(count_buffers(with_default_schedule(func, machine), "_partial"), 1);
  for (const int count : {1, 40}) {
    checked(func, {numbers({count, 20}), numbers({35, 20}, 2), numbers({count, 35})});
  }
}

TEST(default_schedule, lets_sums_wait_between_blocks_of_a_long_reduction) {
  CpuModel small = machine;
  small.core_cache_bytes = 1 << 13;
  const Ptr<Var> n = size_var("n"), m = size_var("m"), l = size_var("l");
  for (const auto& [rows, columns, depth] : {std::tuple{24, 48, 20}, {19, 50, 23}}) {
    const std::vector<TestArgument> arguments{numbers({rows, depth}), numbers({depth, columns}, 2),
                                              numbers({rows, columns})};
    const auto func = checked(matmul(rows, columns, depth), arguments, small);
    EXPECT_EQ(count_buffers(func, "_rf_local"), 1) << script(func);
    checked(matmul(n, m, l), arguments, small);
    EXPECT_EQ(count_buffers(with_default_schedule(matmul(n, m, l), small), "_aside"), 1);
  }
}

TEST(default_schedule, shares_copies_among_axes_that_they_do_not_move_along) {
  const Tensor a = placeholder({3, 5, 9}, f32, "A"), b = placeholder({9, 40}, f32, "B");
  const te::IterVar k = reduce_axis(0, 9, "k");
  const Tensor c = compute(
      {3, 5, 40}, [&](Expr n, Expr i, Expr j) { return te::sum(a(n, i, k) * b(k, j), {k}); }, "C");
  const auto func = checked(te::create_prim_func({a, b, c}),
                            {numbers({3, 5, 9}), numbers({9, 40}, 2), numbers({3, 5, 40})});
  EXPECT_EQ(count_panels(func), 1) << script(func);
}

TEST(default_schedule, copies_a_part_of_an_expression_whole_or_not_at_all) {
  const Tensor a = placeholder({30, 9}, f32, "A"), b = placeholder({7, 40}, f32, "B");
  const te::IterVar k = reduce_axis(0, 9, "k");
  const std::vector<TestArgument> arguments{numbers({30, 9}), numbers({7, 40}, 2),
                                            numbers({30, 40})};
  const auto product_with = [&](const std::function<Expr(Expr, Expr)>& element) {
    const Tensor c = compute({30, 40}, [&](Expr i, Expr j) { return te::sum(element(i, j), {k}); });
    return checked(te::create_prim_func({a, b, c}), arguments);
  };
  // The condition is the panel's own: what is copied is zero where there is nothing.
  const auto whole = product_with([&](const Expr& i, const Expr& j) {
    return a(i, k) * if_then_else(Expr(k) < 7, b(k, j), zero_of(f32));
  });
  EXPECT_EQ(count_panels(whole), 1) << script(whole);
  // The condition is that of a row: nothing may be read before it is known.
  const auto none = product_with([&](const Expr& i, const Expr& j) {
    return a(i, k) * if_then_else(Expr(k) < 7 && Expr(k) <= i, b(k, j), zero_of(f32));
  });
  EXPECT_EQ(count_panels(none), 0) << script(none);
}

TEST(default_schedule, inlines_a_chain_and_vectorises_it_flat) {
  const Tensor a = placeholder({60, 33}, f32, "A");
  const Tensor b = compute({60, 33}, [&](Expr i, Expr j) { return a(i, j) + 1; }, "B");
  const Tensor c = compute({60, 33}, [&](Expr i, Expr j) { return b(i, j) * 2; }, "C");
  const auto func = checked(te::create_prim_func({a, c}), {numbers({60, 33}), numbers({60, 33})});
  EXPECT_TRUE(func->body.as<BlockRealize>()->block->alloc_buffers.empty());
}

TEST(default_schedule, fuses_a_softmax_like_chain_row_by_row) {
  const int rows = 40, columns = 70;
  const Tensor a = placeholder({rows, columns}, f32, "A");
  const te::IterVar k = reduce_axis(0, columns, "k"), k2 = reduce_axis(0, columns, "k2");
  const Tensor top = compute({rows}, [&](Expr i) { return te::max(a(i, k), {k}); }, "top");
  const Tensor shifted = compute(
      {rows, columns},
      [&](Expr i, Expr j) { return (a(i, j) - top(i)) * (a(i, j) + top(i)) * a(i, j) + a(i, j); },
      "e");
  const Tensor total =
      compute({rows}, [&](Expr i) { return te::sum(shifted(i, k2), {k2}); }, "total");
  const Tensor out =
      compute({rows, columns}, [&](Expr i, Expr j) { return shifted(i, j) + total(i); }, "out");
  CpuModel sleepy = machine;
  sleepy.thread_start_cycles = 1e6;
  const auto func = checked(te::create_prim_func({a, out}),
                            {numbers({rows, columns}), numbers({rows, columns})}, sleepy);
  // Rows of `top`, `e` and `total` live inside the loop over rows.
  pre_order_visit(lower_function(func, {})->body, [&](const Ref& ref) {
    const auto* memory = ref.as<Allocate>();
    if (memory) {
      EXPECT_LE(*as_int(memory->extents[0]), columns) << script(func);
    }
    return true;
  });
  EXPECT_EQ(count_loops(func, ForKind::parallel), 0) << "too little work for threads";
}

TEST(default_schedule, keeps_the_dimension_of_a_row_that_is_read_on_its_diagonal) {
  const Tensor a = placeholder({9, 9}, i32, "A");
  const Tensor b = compute({9, 9}, [&](Expr i, Expr j) { return a(j, i) + i; }, "B");
  const Tensor c = compute({9, 4}, [&](Expr i, Expr j) { return b(i, i) * j; }, "C");
  checked(te::create_prim_func({a, c}), {numbers({9, 9}), numbers({9, 4})});
}

TEST(default_schedule, reduces_rows_in_lanes) {
  for (const int columns : {1, 15, 16, 17, 64, 129, 300}) {
    const Tensor a = placeholder({5, columns}, f32, "A");
    const te::IterVar k = reduce_axis(0, columns, "k");
    const Tensor b = compute({5}, [&](Expr i) { return te::sum(a(i, k), {k}); }, "B");
    checked(te::create_prim_func({a, b}), {numbers({5, columns}), numbers({5})});
    const Tensor c = compute({5}, [&](Expr i) { return te::max(a(i, k), {k}); }, "C");
    checked(te::create_prim_func({a, c}), {numbers({5, columns}), numbers({5})});
  }
}

TEST(default_schedule, reduces_everything_in_a_fixed_number_of_parts) {
  for (const int count : {1, 100, 5000, 70000}) {
    const Tensor a = placeholder({count}, i32, "A");
    const te::IterVar k = reduce_axis(0, count, "k");
    const Tensor b = compute({1}, [&](Expr) { return te::sum(a(k), {k}); }, "B");
    checked(te::create_prim_func({a, b}), {numbers({count}), numbers({1})});
  }
  const Tensor a = placeholder({130, 40}, i32, "A");
  const te::IterVar k = reduce_axis(0, 130, "k"), l = reduce_axis(0, 40, "l");
  const Tensor b = compute({1}, [&](Expr) { return te::min(a(k, l), {k, l}); }, "B");
  checked(te::create_prim_func({a, b}), {numbers({130, 40}), numbers({1})});
}

TEST(default_schedule, reduces_columns_with_the_columns_in_lanes) {
  for (const int columns : {5, 16, 100, 200}) {
    const Tensor a = placeholder({19, columns}, f32, "A");
    const te::IterVar k = reduce_axis(0, 19, "k");
    const Tensor b = compute({columns}, [&](Expr j) { return te::sum(a(k, j), {k}); }, "B");
    checked(te::create_prim_func({a, b}), {numbers({19, columns}), numbers({columns})});
  }
}

TEST(default_schedule, keeps_columns_in_lanes_where_a_window_would_not_fill_them) {
  const Tensor a = placeholder({2, 3, 8, 70}, f32, "A");
  const te::IterVar i = reduce_axis(0, 2, "i"), j = reduce_axis(0, 2, "j");
  const Tensor pooled = compute(
      {2, 3, 4, 35},
      [&](Expr n, Expr c, Expr h, Expr w) {
        return te::max(a(n, c, 2 * h + i, 2 * w + j), {i, j});
      },
      "pooled");
  const auto func =
      checked(te::create_prim_func({a, pooled}), {numbers({2, 3, 8, 70}), numbers({2, 3, 4, 35})});
  EXPECT_EQ(script(func).find("vector_reduce"), std::string::npos);
}

TEST(default_schedule, keeps_a_convolution_with_padding) {
  const Tensor a = placeholder({1, 9, 11, 5}, f32, "A");
  const Tensor w = placeholder({3, 3, 5, 20}, f32, "W");
  const Tensor padded = compute(
      {1, 11, 13, 5},
      [&](Expr n, Expr y, Expr x, Expr c) {
        return if_then_else(y >= 1 && y < 10 && x >= 1 && x < 12, a(n, y - 1, x - 1, c),
                            zero_of(f32));
      },
      "padded");
  const te::IterVar ry = reduce_axis(0, 3, "ry"), rx = reduce_axis(0, 3, "rx"),
                    rc = reduce_axis(0, 5, "rc");
  const Tensor out = compute(
      {1, 9, 11, 20},
      [&](Expr n, Expr y, Expr x, Expr c) {
        return te::sum(padded(n, y + ry, x + rx, rc) * w(ry, rx, rc, c), {ry, rx, rc});
      },
      "out");
  checked(te::create_prim_func({a, w, out}),
          {numbers({1, 9, 11, 5}), numbers({3, 3, 5, 20}, 3), numbers({1, 9, 11, 20})});
}

TEST(default_schedule, keeps_a_stencil_with_clamped_borders_of_symbolic_size) {
  const Ptr<Var> rows = size_var("rows"), columns = size_var("columns"),
                 channels = size_var("channels");
  const Tensor image = placeholder({rows, columns, channels}, i32, "image");
  const auto clamp = [](const Expr& v, const Expr& low, const Expr& high) {
    return max(min(v, high), low);
  };
  const Tensor padded = compute(
      {rows + 2, columns + 2, channels},
      [&](Expr y, Expr x, Expr c) {
        return image(clamp(y - 1, 0, rows - 1), clamp(x - 1, 0, columns - 1), c);
      },
      "padded");
  const Tensor across = compute(
      {rows + 2, columns, channels},
      [&](Expr y, Expr x, Expr c) {
        return floordiv(padded(y, x, c) + padded(y, x + 1, c) + padded(y, x + 2, c), 3);
      },
      "across");
  const Tensor blurred = compute(
      {rows, columns, channels},
      [&](Expr y, Expr x, Expr c) {
        return floordiv(across(y, x, c) + across(y + 1, x, c) + across(y + 2, x, c), 3);
      },
      "blurred");
  checked(te::create_prim_func({image, blurred}), {numbers({7, 20, 3}), numbers({7, 20, 3})});
}

TEST(default_schedule, keeps_what_random_programs_compute) {
  for (std::uint64_t seed = 1000; seed < 1150; ++seed) {
    const testing::Program program = testing::random_program(seed);
    SCOPED_TRACE(seed);
    checked(program.func, program.arguments);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(default_schedule, computes_a_row_just_before_it_is_summed) {
  for (const int columns : {64, 50, 7}) {
    const Tensor a = placeholder({20, columns}, f32, "A");
    const te::IterVar k = reduce_axis(0, columns, "k"), l = reduce_axis(0, columns, "l");
    const Tensor most = compute({20}, [&](Expr i) { return te::max(a(i, k), {k}); }, "most");
    const Tensor powers = compute(
        {20, columns}, [&](Expr i, Expr j) { return call(op("exp"), {a(i, j) - most(i)}); },
        "powers");
    const Tensor total = compute({20}, [&](Expr i) { return te::sum(powers(i, l), {l}); }, "total");
    const Tensor out =
        compute({20, columns}, [&](Expr i, Expr j) { return powers(i, j) + total(i); }, "out");
    const auto func = with_default_schedule(te::create_prim_func({a, out}), machine);
    int shared = 0;  // Loops over vectors, for what is computed and for its sum.
    pre_order_visit(func->body, [&](const Ref& ref) {
      const auto* loop = ref.as<For>();
      const auto* both = loop && loop->kind == ForKind::serial ? loop->body.as<SeqStmt>() : nullptr;
      shared += both && std::ranges::all_of(both->seq, [](const Stmt& each) {
                  const auto* inner = each.as<For>();
                  return inner && inner->kind == ForKind::vectorized;
                });
      return true;
    });
    EXPECT_EQ(shared, 1) << script(func);
  }
}

TEST(default_schedule, leaves_a_scheduled_function_alone) {
  const auto func = with_attr(matmul(32, 64, 24), "tir.is_scheduled", int_imm(i32, 1));
  EXPECT_TRUE(with_default_schedule(func, machine).same_as(func));
}

/// Products in 32 bits that these may not hold: of sizes, and of large numbers.
std::string narrow_products(const Ptr<PrimFunc>& func) {
  std::string found;
  pre_order_visit(func->body, [&](const Ref& ref) {
    const auto* product = ref.as<Mul>();
    if (!product || product->dtype != i32) return true;
    const auto* a = as_int(product->a);
    const auto* b = as_int(product->b);
    const bool is_large = a && b && *a * *b > INT32_MAX;
    const bool has_sizes = product->a.is<Var>() && product->b.is<Var>() &&
                           product->a.as<Var>()->is_size && product->b.as<Var>()->is_size;
    if (is_large || has_sizes) found += fmt::format("{}", Expr::from(ref)) + "\n";
    return true;
  });
  return found;
}

TEST(default_schedule, counts_more_points_than_32_bits_hold_in_64) {
  const Ptr<Var> n = size_var("n"), m = size_var("m");
  const std::vector<std::vector<Expr>> shapes = {
      {46341, 46341}, {n, m}, {3, n, m}, {1 << 30, 4}, {n, 3}, {2, 1 << 30, 3}, {n, m, n}};
  for (const auto& shape : shapes) {
    const auto func = [&](const std::function<Expr(const Tensor&, const std::vector<Expr>&)>& f) {
      const Tensor a = placeholder(shape, i8, "A");
      return te::create_prim_func(
          {a, compute(shape, [&](const std::vector<Expr>& at) -> Expr { return f(a, at); }, "B")});
    };
    const auto copied = func([](const Tensor& a, const auto& at) { return a(at) + 1; });
    const auto numbered =
        func([](const Tensor& a, const auto& at) { return a(at) + cast(i8, at[0]); });
    for (const auto& each : {copied, numbered}) {
      EXPECT_EQ(narrow_products(with_default_schedule(each, machine)), "");
    }
  }
}

TEST(default_schedule, keeps_results_of_sizes_in_64_bits) {
  const Ptr<Var> n = size_var("n"), m = size_var("m");
  for (const std::vector<Expr>& shape : {std::vector<Expr>{n, m}, {m, n, 3}, {n, m, 2, 1}}) {
    const Tensor a = placeholder(shape, f32, "A");
    const auto func = te::create_prim_func({a, compute(
                                                   shape,
                                                   [&](const std::vector<Expr>& at) -> Expr {
                                                     return Expr(a(at)) * 2 + cast(f32, at[0]);
                                                   },
                                                   "B")});
    const std::vector<std::int64_t> sizes = shape.size() == 2 ? std::vector<std::int64_t>{37, 129}
                                            : shape.size() == 3
                                                ? std::vector<std::int64_t>{17, 33, 3}
                                                : std::vector<std::int64_t>{31, 65, 2, 1};
    checked(func, {numbers(sizes), numbers(sizes)});
  }
}

}  // namespace
}  // namespace loopsmith
