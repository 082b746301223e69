// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/hoist_invariants.h"

#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct HoistInvariants : ::testing::Test {
  Ptr<Buffer> a = decl_buffer({64}, f32, "A");
  Ptr<Var> i = var("i"), j = var("j"), n = size_var("n"), m = size_var("m"), x = var("x");

  Stmt hoisted(Stmt body) { return hoist_invariants(function({a}, body, {n, m}))->body; }
  Stmt set(Expr at) { return store(a, f(1), {at}); }
};

TEST_F(HoistInvariants, moves_the_invariant_part_of_a_condition_out) {
  EXPECT_TRUE(same(
      hoisted(for_loop(i, 0, 9, for_loop(j, 0, 9, if_then(n < m && i < n && j < n, set(i + j))))),
      if_then(n < m,
              for_loop(i, 0, 9, if_then(i < n, for_loop(j, 0, 9, if_then(j < n, set(i + j))))))));
}

TEST_F(HoistInvariants, makes_two_loops_of_a_branch_with_else) {
  EXPECT_TRUE(same(hoisted(for_loop(i, 0, 9, if_then(n < m, set(i), set(i + 1)))),
                   if_then(n < m, for_loop(i, 0, 9, set(i)), for_loop(j, 0, 9, set(j + 1)))));
  const Stmt mixed = for_loop(i, 0, 9, if_then(n < m && i < n, set(i), set(i + 1)));
  EXPECT_TRUE(same(hoisted(mixed), mixed));
}

TEST_F(HoistInvariants, moves_names_out) {
  const auto let = [&](Stmt body) {
    return make(LetStmt{.value = floordiv(n, m), .var = x, .body = body});
  };
  EXPECT_TRUE(
      same(hoisted(for_loop(i, 0, 9, let(set(x + i)))), let(for_loop(i, 0, 9, set(x + i)))));
}

TEST_F(HoistInvariants, leaves_what_reads_memory) {
  const Stmt loop = for_loop(i, 0, 9, if_then(load(a, {0}) > f(0), set(i)));
  EXPECT_TRUE(same(hoisted(loop), loop));
}

}  // namespace
}  // namespace loopsmith
