// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/build.h"

#include <gtest/gtest.h>

#include "loopsmith/runtime/ndarray.h"
#include "loopsmith/runtime/testing/error_of.h"
#include "loopsmith/te/te.h"

namespace loopsmith {
namespace {

NDArray counting(std::vector<std::int64_t> shape, float scale) {
  NDArray array = NDArray::empty(std::move(shape));
  for (std::int64_t i = 0; i < array.size(); ++i) {
    array.data<float>()[i] = scale * static_cast<float>(i % 17 - 8);
  }
  return array;
}

TEST(build, takes_a_schedule_of_tensor_expressions) {
  const te::Tensor a = te::placeholder({10}, f32, "A");
  const te::Tensor b = te::compute({10}, [&](const Expr& i) { return a(i) * 2; }, "B");
  const te::Schedule s = te::create_schedule({b});
  const auto [outer, inner] = s[b].split(b.axis(0), 4);
  s[b].vectorize(inner);
  NDArray x = counting({10}, 0.5F), y = NDArray::zeros({10});
  build(s, {a, b}).entry()(x, y);
  for (std::int64_t i = 0; i < 10; ++i) EXPECT_EQ(y.data<float>()[i], 2 * x.data<float>()[i]);
}

TEST(build, runs_a_matmul_of_symbolic_sizes) {
  const Expr n = te::size_var("n"), m = te::size_var("m"), l = te::size_var("l");
  const te::Tensor a = te::placeholder({n, l}, f32, "A"), b = te::placeholder({l, m}, f32, "B");
  const te::IterVar k = te::reduce_axis(0, l, "k");
  const te::Tensor c = te::compute(
      {n, m}, [&](const Expr& i, const Expr& j) { return te::sum(a(i, k) * b(k, j), {k}); }, "C");
  const Module module = build(te::create_prim_func({a, b, c}));

  NDArray x = counting({9, 21}, 0.5F), y = counting({21, 35}, 0.25F), z = NDArray::zeros({9, 35});
  module.entry()(x, y, z);
  for (std::int64_t i = 0; i < 9; ++i) {
    for (std::int64_t j = 0; j < 35; ++j) {
      float expected = 0;
      for (std::int64_t p = 0; p < 21; ++p) {
        expected += x.data<float>()[i * 21 + p] * y.data<float>()[p * 35 + j];
      }
      EXPECT_NEAR(z.data<float>()[i * 35 + j], expected, 1e-4);
    }
  }
  NDArray short_one = counting({20, 35}, 1);
  EXPECT_STREQ(error_of([&] { module.entry()(x, short_one, z); }).what(),
               "main: B.shape[0] is 20, not l = 21, which A.shape[1] gave\n"
               "  hint: pass arguments whose sizes agree");
}

TEST(build, checks_sizes_that_are_expressions) {
  const Expr n = te::size_var("n");
  const te::Tensor a = te::placeholder({n}, f32, "A");
  const te::Tensor b =
      te::compute({n * 2 + 1}, [&](const Expr& i) { return a(floordiv(i, 3)); }, "B");
  const Module module = build(te::create_prim_func({a, b}));
  NDArray x = counting({8}, 1), right = NDArray::zeros({17}), wrong = NDArray::zeros({16});
  module.entry()(x, right);
  EXPECT_EQ(right.data<float>()[16], x.data<float>()[5]);
  EXPECT_STREQ(error_of([&] { module.entry()(x, wrong); }).what(),
               "main: B.shape[0] is 16, not 17\n  hint: pass arguments whose sizes agree");
}

TEST(build, shows_the_code) {
  const te::Tensor a = te::placeholder({64}, f32, "A");
  const te::Tensor b = te::compute({64}, [&](const Expr& i) { return a(i); }, "B");
  const Module module = build(te::create_prim_func({a, b}));
  EXPECT_EQ(module.source_names(), (std::vector<std::string>{"tir", "llvm", "assembly", "json"}));
  EXPECT_NE(module.source("tir").find("def main("), std::string::npos);
  EXPECT_NE(module.source("llvm").find("define i32 @ls_call_main"), std::string::npos);
  EXPECT_NE(module.source("assembly").find("ls_call_main:"), std::string::npos);
}

}  // namespace
}  // namespace loopsmith
