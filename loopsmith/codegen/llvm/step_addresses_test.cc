// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/llvm/step_addresses.h"

#include <gtest/gtest.h>

#include <numeric>

#include "loopsmith/codegen/llvm/testing/kernel.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

using testing::function_of;
using testing::Kernel;

/// Copies in[f(i, k)] to out[i * 7 + k] for i < 5, k < 7, and compares; gives the code.
std::string copied(const std::function<Expr(const Expr& i, const Expr& k)>& index,
                   const std::function<int(int i, int k)>& expected) {
  const auto in = decl_buffer({100}, f32, "in"), out = decl_buffer({35}, f32, "out");
  const auto i = var("i"), k = var("k");
  const Stmt copy = store(out, load(in, {index(i, k)}), {i * 7 + k});
  const auto func = function_of({in, out}, for_loop(i, 0, 5, for_loop(k, 0, 7, copy)));
  std::vector<float> from(100), to(35);
  std::iota(from.begin(), from.end(), 0.F);
  Kernel(func).tensor(from).tensor(to).run();
  for (int row = 0; row < 5; ++row) {
    for (int column = 0; column < 7; ++column) {
      EXPECT_EQ(to[static_cast<std::size_t>(row * 7 + column)],
                static_cast<float>(expected(row, column)));
    }
  }
  return llvm_text({{func}, Target("llvm -mcpu=x86-64-v3"), {}});
}

bool has_pointer_variable(const std::string& text) {
  return text.find("phi ptr") != std::string::npos;
}

TEST(step_addresses, steps_a_pointer_by_what_an_address_cannot_scale) {
  const std::string code = copied([](const Expr& i, const Expr& k) { return k * 12 + i; },
                                  [](int i, int k) { return k * 12 + i; });
  EXPECT_TRUE(has_pointer_variable(code)) << code;
}

TEST(step_addresses, leaves_the_counter_where_an_address_can_scale_it) {
  const std::string code = copied([](const Expr& i, const Expr& k) { return i * 9 + k + 3; },
                                  [](int i, int k) { return i * 9 + k + 3; });
  EXPECT_FALSE(has_pointer_variable(code)) << code;
}

TEST(step_addresses, takes_steps_back_and_several_at_once) {
  copied([](const Expr& i, const Expr& k) { return 90 - k * 10 - i; },
         [](int i, int k) { return 90 - k * 10 - i; });
  copied([](const Expr& i, const Expr& k) { return (k + i) * 2 + k * 3 + (k * 4 - i); },
         [](int i, int k) { return k * 9 + i; });
}

TEST(step_addresses, leaves_what_does_not_grow_evenly) {
  copied([](const Expr& i, const Expr& k) { return k * k + i; },
         [](int i, int k) { return k * k + i; });
  copied([](const Expr& i, const Expr& k) { return floormod(k * 5, 3) + k * 2 + i; },
         [](int i, int k) { return k * 5 % 3 + k * 2 + i; });
}

TEST(step_addresses, keeps_addresses_apart_that_branches_use) {
  const auto in = decl_buffer({64}, f32, "in"), out = decl_buffer({8}, f32, "out");
  const auto k = var("k");
  const Expr even = floormod(k, 2) == 0;
  const Stmt body =
      make(IfThenElse{.condition = even,
                      .then_case = store(out, load(in, {k * 5 + 1}), {k}),
                      .else_case = store(out, load(in, {k * 5}) + load(in, {k * 7}), {k})});
  std::vector<float> from(64), to(8);
  std::iota(from.begin(), from.end(), 0.F);
  Kernel(function_of({in, out}, for_loop(k, 0, 8, body))).tensor(from).tensor(to).run();
  for (int n = 0; n < 8; ++n) {
    const int wanted = n % 2 == 0 ? n * 5 + 1 : n * 12;
    EXPECT_EQ(to[static_cast<std::size_t>(n)], static_cast<float>(wanted));
  }
}

}  // namespace
}  // namespace loopsmith
