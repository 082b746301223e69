// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/remove_no_op.h"

#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct RemoveNoOp : ::testing::Test {
  Ptr<Buffer> a = decl_buffer({64}, f32, "A"), t = decl_buffer({64}, f32, "T");
  Ptr<Var> i = var("i"), n = size_var("n"), x = var("x"), y = var("y");

  Stmt removed(Stmt body) { return remove_no_op(function({a}, body, {n}))->body; }
  Stmt set(Expr at) { return store(a, f(1), {at}); }
  static Stmt let(const Ptr<Var>& v, Expr value, Stmt body) {
    return make(LetStmt{.value = value, .var = v, .body = body});
  }
};

TEST_F(RemoveNoOp, drops_unused_names) {
  EXPECT_TRUE(same(removed(let(x, n + 1, let(y, x + 1, set(0)))), set(0)));
  const Stmt used = let(x, n + 1, let(y, x + 1, set(y)));
  EXPECT_TRUE(same(removed(used), used));
}

TEST_F(RemoveNoOp, drops_dead_stores) {
  const Stmt fill = for_loop(i, 0, 9, store(t, load(t, {i}) + f(1), {i}));
  EXPECT_TRUE(same(removed(seq({allocated(t, fill), set(0)})), set(0)));
  const Stmt used = allocated(t, seq({fill, store(a, load(t, {0}), {0})}));
  EXPECT_TRUE(same(removed(used), used));
}

TEST_F(RemoveNoOp, keeps_the_names_of_pointers_that_are_stored_through) {
  const Ptr<Var> p = var("p", handle_type);
  Buffer view = *a;
  view.data = p;
  const Ptr<Buffer> b = make(std::move(view));
  const Expr address = call(handle_type, op("address_of"), {load(a, {1})});
  const Stmt used = let(p, address, make(DeclBuffer{.buffer = b, .body = store(b, f(1), {0})}));
  EXPECT_TRUE(same(removed(used), used));
}

TEST_F(RemoveNoOp, drops_stores_of_an_element_to_its_own_place) {
  EXPECT_TRUE(same(removed(for_loop(i, 0, 9, store(a, load(a, {i}), {i}))), no_op()));
  const Stmt moved = for_loop(i, 0, 9, store(a, load(a, {i + 1}), {i}));
  EXPECT_TRUE(same(removed(moved), moved));
}

TEST_F(RemoveNoOp, drops_stores_of_which_no_lane_is_done) {
  const auto masked = [&](Expr mask) {
    return make(BufferStore{.buffer = a,
                            .value = broadcast(f(1), 4),
                            .indices = {ramp(0, 1, 4)},
                            .predicate = broadcast(std::move(mask), 4)});
  };
  EXPECT_TRUE(same(removed(masked(false)), no_op()));
  EXPECT_TRUE(same(removed(masked(n < 3)), masked(n < 3)));
}

TEST_F(RemoveNoOp, drops_empty_branches_but_keeps_effects) {
  const Stmt pure = make(Evaluate{.value = n + 1});
  EXPECT_TRUE(same(removed(if_then(n < 3, pure, set(0))), if_then(!(n < 3), set(0))));
  EXPECT_TRUE(same(removed(if_then(n < 3, pure, pure)), no_op()));
  const Expr effect = call(boolean, op("call_extern"), {string_imm("f")});
  const Stmt branch = if_then(effect, no_op());
  EXPECT_TRUE(same(removed(branch), branch));
}

}  // namespace
}  // namespace loopsmith
