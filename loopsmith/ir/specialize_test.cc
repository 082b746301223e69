// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/specialize.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

struct Example {
  Ptr<Var> n = var("n"), x = var("x");
  Ptr<Var> a = var("a", handle_type);
  Ptr<Buffer> A = decl_buffer({n, n}, f32, "A");
  Ptr<PrimFunc> func = make(PrimFunc{
      .params = {a, x}, .buffer_map = {A, nullptr}, .body = store(A, cast(f32, n + x), {0, x})});

  std::string refusal(const std::vector<ParameterValue>& values) const {
    try {
      specialize(func, values);
    } catch (const UserError& error) {
      return error.problem();
    }
    return "";
  }
};

TEST(specialize, replaces_sizes_and_numbers) {
  const Example e;
  const Ptr<PrimFunc> made = specialize(e.func, {{e.a, decl_buffer({4, 4})}, {e.x, Expr(2)}});
  ASSERT_EQ(made->params.size(), 1U);
  EXPECT_EQ(*as_int(made->buffer_map[0]->shape[1]), 4);
  EXPECT_EQ(to_string(Ref(made->body)), "A[0, 2] = T.Cast(\"float32\", 6)");
}

TEST(specialize, refuses_what_does_not_fit) {
  const Example e;
  EXPECT_EQ(e.refusal({{e.a, decl_buffer({4, 5})}}), "specialize: n is 4 and 5");
  EXPECT_EQ(e.refusal({{e.a, Expr(3)}}), "specialize: parameter a is a tensor");
  EXPECT_EQ(e.refusal({{e.x, decl_buffer({4})}}), "specialize: parameter x is a number");
  EXPECT_EQ(e.refusal({{e.n, Expr(3)}}), "specialize: n is no parameter of main");
}

}  // namespace
}  // namespace loopsmith
