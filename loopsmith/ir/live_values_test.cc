// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/live_values.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

const Ptr<Buffer> scalar = decl_buffer({}, i32, "w");
const Ptr<Buffer> array = decl_buffer({8}, i32, "a");

Stmt write(const Expr& value) {
  return store(scalar, value, {});
}
Stmt read() {
  return store(array, load(scalar, {}), {Expr(0)});
}
Stmt loop_of(const Expr& extent, Stmt body) {
  return make(For{.loop_var = var("i"), .min = 0, .extent = extent, .body = std::move(body)});
}
Stmt branch(Stmt body) {
  return make(IfThenElse{.condition = load(array, {Expr(1)}) > 0, .then_case = std::move(body)});
}

/// Whether what a loop leaves is read in what `around` makes of it.
bool is_live(const std::function<Stmt(Stmt)>& around) {
  const Stmt loop = loop_of(4, write(1));
  return is_live_after(around(loop), *loop.as<For>(), scalar);
}

TEST(live_values, of_arrays_stay_behind_a_store_to_one_element) {
  const Stmt fill = store(array, Expr(1), {Expr(0)}), use = write(load(array, {Expr(0)}));
  const Stmt loop = loop_of(4, fill);
  const auto is_live_in = [&](const Stmt& root) {
    return is_live_after(root, *loop.as<For>(), array);
  };
  EXPECT_FALSE(is_live_in(seq({use, loop})));
  EXPECT_TRUE(is_live_in(seq({loop, use})));
  EXPECT_TRUE(is_live_in(seq({loop, fill, use})));
  // In the other branch, it is another run.
  const Expr condition = load(scalar, {}) > 0;
  EXPECT_FALSE(is_live_in(
      make(IfThenElse{.condition = condition, .then_case = loop, .else_case = seq({fill, use})})));
}

TEST(live_values, are_read_before_they_are_overwritten) {
  EXPECT_FALSE(is_live([](Stmt loop) { return loop; }));
  EXPECT_FALSE(is_live([](Stmt loop) { return seq({read(), loop}); }));
  EXPECT_TRUE(is_live([](Stmt loop) { return seq({loop, read()}); }));
  EXPECT_FALSE(is_live([](Stmt loop) { return seq({loop, write(2), read()}); }));
  EXPECT_TRUE(is_live([](Stmt loop) { return seq({loop, write(load(scalar, {}) + 1)}); }));
}

TEST(live_values, pass_what_may_not_run) {
  EXPECT_TRUE(is_live([](Stmt loop) { return seq({loop, branch(write(2)), read()}); }));
  EXPECT_TRUE(is_live([](Stmt loop) { return seq({loop, branch(read()), write(2)}); }));
  EXPECT_FALSE(is_live([](Stmt loop) { return seq({loop, loop_of(1, write(2)), read()}); }));
  const Expr unknown = var("n");
  EXPECT_TRUE(is_live([&](Stmt loop) { return seq({loop, loop_of(unknown, write(2)), read()}); }));
}

TEST(live_values, live_on_in_the_next_iteration) {
  EXPECT_TRUE(is_live([](Stmt loop) { return loop_of(2, seq({read(), loop})); }));
  EXPECT_FALSE(is_live([](Stmt loop) { return loop_of(2, seq({write(3), read(), loop})); }));
  EXPECT_TRUE(is_live(
      [](Stmt loop) { return loop_of(2, loop_of(2, seq({branch(read()), write(3), loop}))); }));
}

TEST(live_values, may_be_there_before) {
  EXPECT_TRUE(is_live_before(seq({read(), write(1)}), scalar));
  EXPECT_TRUE(is_live_before(seq({branch(write(1)), read()}), scalar));
  EXPECT_FALSE(is_live_before(seq({write(1), read()}), scalar));
}

TEST(live_values, have_one_name_and_no_jumps) {
  const Ptr<Buffer> view = decl_buffer({1}, i32, "view");
  Buffer other = *view;
  other.data = scalar->data;
  const Ptr<Buffer> alias = make(std::move(other));
  EXPECT_TRUE(is_live([&](Stmt loop) { return seq({store(alias, 0, {Expr(0)}), loop}); }));
  EXPECT_TRUE(is_live([](Stmt loop) { return loop_of(2, seq({loop, make(Break{})})); }));
}

}  // namespace
}  // namespace loopsmith
