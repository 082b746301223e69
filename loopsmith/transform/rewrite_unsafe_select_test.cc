// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/rewrite_unsafe_select.h"

#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

TEST(rewrite_unsafe_select, loads_only_what_is_chosen_unless_that_is_safe) {
  const Ptr<Buffer> a = decl_buffer({64}, f32, "A"), b = decl_buffer({64}, f32, "B");
  const Ptr<Var> i = var("i");
  const auto rewritten = [&](Expr value) {
    return rewrite_unsafe_select(function({a, b}, for_loop(i, 0, 64, store(b, value, {i}))))->body;
  };
  const auto stored = [&](Expr value) { return for_loop(i, 0, 64, store(b, value, {i})); };
  const Expr condition = 0 < i;
  const auto choose = [&](Expr value) {
    return make(Select{.condition = condition, .true_value = value, .false_value = f(0)});
  };
  const Expr before = load(a, {i - 1}), here = load(a, {i});
  EXPECT_TRUE(same(rewritten(choose(before)), stored(if_then_else(condition, before, f(0)))));
  EXPECT_TRUE(same(rewritten(choose(here)), stored(choose(here))));
  const Expr effect = call(f32, op("call_extern"), {string_imm("f")});
  EXPECT_TRUE(same(rewritten(choose(effect)), stored(if_then_else(condition, effect, f(0)))));
}

TEST(rewrite_unsafe_select, takes_loads_in_a_guarded_iteration_for_safe) {
  const Ptr<Buffer> a = decl_buffer({60}, f32, "A"), b = decl_buffer({60}, f32, "B");
  const Ptr<Var> i = var("i");
  const Expr chosen =
      make(Select{.condition = 9 < i, .true_value = load(a, {i}), .false_value = f(0)});
  const auto in_loop = [&](const Expr& guard) {
    return for_loop(i, 0, 64,
                    make(IfThenElse{.condition = guard, .then_case = store(b, chosen, {i})}));
  };
  const auto rewritten = [&](const Stmt& body) {
    return rewrite_unsafe_select(function({a, b}, body))->body;
  };
  EXPECT_TRUE(same(rewritten(in_loop(i < 60)), in_loop(i < 60)));
  EXPECT_FALSE(same(rewritten(in_loop(i < 61)), in_loop(i < 61)));
}

}  // namespace
}  // namespace loopsmith
