// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/effects.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace effects_test {

TEST(effects, tell_what_a_statement_may_change) {
  const Ptr<Buffer> a = decl_buffer({8}, i32, "A"), b = decl_buffer({8}, i32, "B");
  const Ptr<Buffer> alias = make(Buffer{.data = a->data, .dtype = i32, .shape = {8}, .name = "a"});
  const auto at = [](const Ptr<Buffer>& buffer) {
    return Expr(make(BufferLoad{.buffer = buffer, .indices = {0}}));
  };
  const auto write = [](const Ptr<Buffer>& buffer) { return store(buffer, 1, {0}); };
  EXPECT_TRUE(may_change(at(a) + 1, write(a)));
  EXPECT_TRUE(may_change(at(a), write(alias)));
  EXPECT_FALSE(may_change(at(a), write(b)));
  EXPECT_FALSE(may_change(var("x") + 1, write(a)));
  EXPECT_FALSE(may_change(Expr(), write(a)));
  const Stmt extern_call = make(Evaluate{.value = call(i32, op("call_extern"), {string_imm("f")})});
  EXPECT_TRUE(may_change(at(a), extern_call));
  EXPECT_FALSE(may_change(var("x"), extern_call));
}

}  // namespace effects_test
}  // namespace loopsmith
