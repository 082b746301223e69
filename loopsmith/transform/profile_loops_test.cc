// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/profile_loops.h"

#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct ProfileLoops : ::testing::Test {
  Ptr<Buffer> a = decl_buffer({1 << 20}, f32, "A");
  Ptr<Var> i = var("i"), j = var("j"), k = var("k"), n = size_var("n");

  Ptr<PrimFunc> func(Stmt body) { return function({a}, body, {n}); }
  Stmt profiled(Stmt body) { return profile_loops(func(body))->body; }
  Stmt set(Expr at) { return store(a, f(1), {at}); }
  Stmt timed(int number, Stmt body) {
    return make(AttrStmt{.node = string_imm("main"),
                         .attr_key = std::string(profile_key),
                         .value = number,
                         .body = body});
  }
};

TEST_F(ProfileLoops, times_the_body_and_loops_that_take_long) {
  const Stmt first = for_loop(j, 0, 8192, set(j)), second = for_loop(k, 0, 8192, set(k));
  EXPECT_TRUE(
      same(profiled(for_loop(i, 0, 64, seq({first, second}))),
           timed(0, timed(1, for_loop(i, 0, 64, seq({timed(2, first), timed(3, second)}))))));
}

TEST_F(ProfileLoops, leaves_out_short_loops) {
  const Stmt loop = for_loop(i, 0, 64, set(i));
  EXPECT_TRUE(same(profiled(loop), timed(0, loop)));
}

TEST_F(ProfileLoops, times_one_loop_of_a_perfect_nest) {
  const Stmt nest = for_loop(i, 0, 64, for_loop(j, 0, 8192, set(i + j)));
  EXPECT_TRUE(same(profiled(nest), timed(0, timed(1, nest))));
}

TEST_F(ProfileLoops, times_what_threads_do) {
  const Stmt inside = for_loop(j, 0, 8192, set(i + j));
  EXPECT_TRUE(same(profiled(for_loop(i, 0, 64, inside, ForKind::parallel)),
                   timed(0, timed(1, for_loop(i, 0, 64, timed(2, inside), ForKind::parallel)))));
}

TEST_F(ProfileLoops, takes_symbolic_loops_for_long_ones) {
  const Stmt loop = for_loop(i, 0, n, for_loop(j, 0, n, set(i * n + j)));
  EXPECT_TRUE(same(profiled(loop), timed(0, timed(1, loop))));
}

}  // namespace
}  // namespace loopsmith
