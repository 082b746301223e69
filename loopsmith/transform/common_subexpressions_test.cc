// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/common_subexpressions.h"

#include "loopsmith/ir/well_formed.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct CommonSubexpressions : ::testing::Test {
  Ptr<Buffer> a = decl_buffer({64}, f32, "A"), b = decl_buffer({64}, f32, "B");
  Ptr<Var> i = var("i"), j = var("j"), m = var("m"), x = var("x", f32);

  Stmt named(Stmt body) {
    return common_subexpressions(function({a, b}, body, {i, j, m, x}))->body;
  }
  static Stmt let(const Ptr<Var>& v, Expr value, Stmt body) {
    return make(LetStmt{.value = value, .var = v, .body = body});
  }
};

TEST_F(CommonSubexpressions, names_an_index_that_is_computed_twice) {
  const Ptr<Var> at = var("at");
  EXPECT_TRUE(same(named(store(b, load(a, {i * m + j}), {i * m + j})),
                   let(at, i * m + j, store(b, load(a, {at}), {at}))));
}

TEST_F(CommonSubexpressions, shares_names_between_neighbouring_stores) {
  const Ptr<Var> row = var("row"), at = var("at");
  const Expr index = i * m + j;
  EXPECT_TRUE(
      same(named(seq({store(a, f(1), {index + 1}), store(b, f(2), {index + 1}),
                      store(b, f(3), {index + 2})})),
           let(row, i * m + j,
               let(at, row + 1,
                   seq({store(a, f(1), {at}), store(b, f(2), {at}), store(b, f(3), {row + 2})})))));
}

TEST_F(CommonSubexpressions, shares_what_an_index_is_beside_its_constant) {
  const Ptr<Var> at = var("at");
  const Stmt stores = seq({store(a, f(1), {i * 8 - m}), store(a, f(2), {i * 8 + 2 - m})});
  EXPECT_TRUE(same(named(stores),
                   let(at, i * 8 - m, seq({store(a, f(1), {at}), store(a, f(2), {at + 2})}))));
  const Stmt sums = seq({store(a, load(b, {(i * 8 + 1) + (j * 3 + 1)}), {i * 8 + j * 3}),
                         store(a, f(2), {i * 8 + j * 3 + 4})});
  EXPECT_TRUE(same(
      named(sums),
      let(at, i * 8 + j * 3, seq({store(a, load(b, {at + 2}), {at}), store(a, f(2), {at + 4})}))));
}

TEST_F(CommonSubexpressions, names_costly_floats_only) {
  const Ptr<Var> e = var("e", f32);
  const Expr exp = call(op("exp"), {x + f(1)});
  EXPECT_TRUE(same(named(store(a, exp * exp, {i})), let(e, exp, store(a, e * e, {i}))));
  const Stmt cheap = store(a, (x * x + x) * (x * x + x), {i});
  EXPECT_TRUE(same(named(cheap), cheap));
}

TEST_F(CommonSubexpressions, leaves_loads_and_branches_alone) {
  const Expr both = load(a, {i}) * load(a, {i});
  const Stmt loads = store(b, both + both, {j});
  EXPECT_TRUE(same(named(loads), loads));
  const Expr exp = call(op("exp"), {x + f(1)});
  const Stmt branches = store(b, if_then_else(i < j, exp, exp + exp), {j});
  EXPECT_TRUE(same(named(branches), branches));
}

TEST_F(CommonSubexpressions, defines_names_anew_where_a_statement_stands_twice) {
  const Stmt twice = make(
      IfThenElse{.condition = i < j, .then_case = store(b, load(a, {i * m + j}), {i * m + j})});
  const Stmt other = store(b, f(1), {i});
  verify_well_formed(
      common_subexpressions(function({a, b}, seq({twice, other, twice}), {i, j, m, x})));
  const Stmt both = make(IfThenElse{.condition = i < m, .then_case = twice, .else_case = twice});
  verify_well_formed(common_subexpressions(function({a, b}, both, {i, j, m, x})));
}

}  // namespace
}  // namespace loopsmith
