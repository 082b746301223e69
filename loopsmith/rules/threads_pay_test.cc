// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/threads_pay.h"

#include <gtest/gtest.h>

#include <cmath>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/program.h"
#include "loopsmith/rules/subject.h"
#include "loopsmith/te/te.h"

namespace loopsmith {
namespace {

using te::compute;
using te::Tensor;

constexpr CpuModel two_cores{.vector_bytes = 64, .vector_registers = 32, .cores = 2};

/// Where threads pay for all nests of a program together.
Expr pays(const std::vector<Ref>& tensors, const CpuModel& model = two_cores) {
  const auto func = te::create_prim_func(tensors);
  std::vector<Nest> nests;
  for (const Part& part : program_of(Schedule(func)).parts) nests.push_back(*part.nest);
  return threads_pay(nests, *func, model);
}

Expr doubled(const std::vector<Expr>& shape, const CpuModel& model = two_cores) {
  const Tensor a = te::placeholder(shape, f32, "A");
  return pays(
      {a, compute(shape, [&](const std::vector<Expr>& at) { return a(at) * 2; }, "B")}, model);
}

bool holds(const Expr& condition, const Substitution& sizes) {
  const Expr value = Analyzer().simplify(substitute(condition, sizes));
  EXPECT_TRUE(as_int(value)) << "not decided by the sizes";
  return is_const_int(value, 1);
}

/// The fewest points for which other threads do as much as it takes to wake them.
std::int64_t crossover(const std::vector<Expr>& shape, const CpuModel& model) {
  const Tensor a = te::placeholder(shape, f32, "A");
  const Tensor b = compute(shape, [&](const std::vector<Expr>& at) { return a(at) * 2; }, "B");
  const auto func = te::create_prim_func({a, b});
  const double work = cycles_of_point(*program_of(Schedule(func)).parts[0].nest, model);
  const double of_others = work * (model.cores - 1) / model.cores;
  return static_cast<std::int64_t>(std::ceil(model.thread_start_cycles / of_others));
}

TEST(threads_pay, where_others_do_more_than_it_takes_to_wake_them) {
  CpuModel many_cores = two_cores;
  many_cores.cores = 16;
  for (const CpuModel& model : {two_cores, many_cores}) {
    const std::int64_t points = crossover({1600}, model);
    EXPECT_TRUE(is_const_int(doubled({int_imm(i32, points + 16 - points % 16)}, model), 1));
    EXPECT_TRUE(is_const_int(doubled({int_imm(i32, points - 16 - points % 16)}, model), 0));
  }
  EXPECT_LT(crossover({1600}, many_cores), crossover({1600}, two_cores));
}

TEST(threads_pay, asks_sizes_for_the_same_number_of_points) {
  const auto n = size_var("n"), m = size_var("m");
  const std::int64_t points = crossover({n}, two_cores);
  const Expr of_one = doubled({n});
  EXPECT_FALSE(holds(of_one, {{n, int_imm(i32, points - 1)}}));
  EXPECT_TRUE(holds(of_one, {{n, int_imm(i32, points)}}));
  const Expr of_two = doubled({n, m});
  EXPECT_FALSE(holds(of_two, {{n, 1000}, {m, int_imm(i32, points / 1000 - 1)}}));
  EXPECT_TRUE(holds(of_two, {{n, 1000}, {m, int_imm(i32, points / 1000 + 1)}}));
  EXPECT_TRUE(holds(of_two, {{n, 1 << 20}, {m, 1 << 20}})) << "more points than 32 bits have";
  EXPECT_FALSE(holds(of_two, {{n, 1 << 20}, {m, 0}}));
  const Expr of_rest = doubled({n, 100});
  EXPECT_FALSE(holds(of_rest, {{n, int_imm(i32, points / 100 - 1)}}));
  EXPECT_TRUE(holds(of_rest, {{n, int_imm(i32, points / 100 + 1)}}));
}

TEST(threads_pay, adds_up_the_work_of_nests_that_share_rows) {
  const auto n = size_var("n"), m = size_var("m");
  const Tensor a = te::placeholder({n, m}, f32, "A");
  const auto k = te::reduce_axis(0, m, "k");
  const Tensor top = compute({n}, [&](Expr i) { return te::max(a(i, k), {k}); }, "top");
  const Tensor power = compute(
      {n, m}, [&](Expr i, Expr j) { return call(f32, op("exp"), {a(i, j) - top(i)}); }, "power");
  const Expr together = pays({a, power});
  const std::int64_t points = crossover({n, m}, two_cores);
  EXPECT_FALSE(holds(together, {{n, 100}, {m, 1}}));
  EXPECT_TRUE(holds(together, {{n, 1}, {m, int_imm(i32, points / 4)}})) << "exp takes long";
  EXPECT_TRUE(holds(together, {{n, 10000}, {m, 0}})) << "each result costs, too";
}

TEST(threads_pay, by_the_rows_of_which_columns_are_summed_up) {
  const auto n = size_var("n");
  const Tensor a = te::placeholder({n, 1024}, f32, "A");
  const auto k = te::reduce_axis(0, n, "k");
  const Expr sums = pays({a, compute({1024}, [&](Expr j) { return sum(a(k, j), k); }, "B")});
  EXPECT_FALSE(holds(sums, {{n, 1}})) << "results lie in lanes: few vectors are set and stored";
  EXPECT_FALSE(holds(sums, {{n, 32}}));
  EXPECT_TRUE(holds(sums, {{n, 512}}));
}

}  // namespace
}  // namespace loopsmith
