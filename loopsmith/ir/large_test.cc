// SPDX-License-Identifier: Apache-2.0
// Trees of 100,000 levels, of 100,000 branches, and graphs of 2^60 paths: what is linear stays so.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/ir/well_formed.h"

namespace loopsmith {
namespace {

constexpr int many = 100'000;

/// ((x + c) * 3 + c) ..., `levels` deep; `c` tells copies apart.
Expr deep_expr(const Expr& x, int levels, int c = 7) {
  Expr e = x;
  for (int i = 0; i < levels; ++i) e = i % 2 ? e * 3 : e + c;
  return e;
}

Expr shared_expr(const Expr& x, int levels) {
  Expr e = x;
  for (int i = 0; i < levels; ++i) e = e * e;
  return e;
}

Ptr<PrimFunc> function_of(const Stmt& body, std::vector<Ptr<Var>> params = {}) {
  return make(PrimFunc{.params = std::move(params), .body = body});
}

/// Everything that walks, on `make_one()`, of which each call gives an equal but separate tree.
void walk_all(const std::function<Ref()>& make_one, bool print = true) {
  const Ref a = make_one(), b = make_one();
  EXPECT_TRUE(structural_equal(a, b, true));
  EXPECT_EQ(structural_hash(a), structural_hash(b));
  EXPECT_FALSE(first_difference(a, b, true));
  int nodes = 0;
  post_order_visit(a, [&](const Ref&) { ++nodes; });
  EXPECT_GT(nodes, 1);
  EXPECT_LE(free_variables(a).size(), 1U);
  if (print) {
    EXPECT_GT(script(a).size(), 100U);
  }
  EXPECT_FALSE(brief(a).empty());
}

TEST(large, deep_expressions) {
  const auto x = var("x");
  walk_all([&]() -> Ref { return deep_expr(x, many); });
  const Expr e = deep_expr(x, many);
  const auto y = var("y");
  EXPECT_TRUE(structural_equal(substitute(e, {{x, y}}), deep_expr(y, many)));
  EXPECT_TRUE(substitute(e, {{y, x}}).same_as(e));
  verify_well_formed(function_of(make(Evaluate{.value = e}), {x}));
  EXPECT_TRUE(uses_variable(e, x));
  const auto difference = first_difference(e, deep_expr(x, many, 8));
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->what, "IntImm 7 != IntImm 8");
}

TEST(large, deep_lets_and_their_clones) {
  const auto build = [] {
    std::vector<Ptr<Var>> variables{var("x")};
    for (int i = 0; i < many; ++i) variables.push_back(var("x"));
    Stmt body = make(Evaluate{.value = variables.back() + 1});
    for (int i = many; i > 0; --i) {
      body = make(LetStmt{.value = variables[static_cast<std::size_t>(i) - 1] + 1,
                          .var = variables[static_cast<std::size_t>(i)],
                          .body = body});
    }
    return function_of(body, {variables[0]});
  };
  walk_all([&]() -> Ref { return build(); });
  const auto func = build();
  verify_well_formed(func);
  const auto copy = clone(func);
  verify_well_formed(copy);
  EXPECT_TRUE(structural_equal(func, copy));
  EXPECT_FALSE(copy->body.same_as(func->body));
}

TEST(large, deep_grids) {
  const auto build = [] {
    Stmt body = make(Evaluate{.value = 1});
    for (int i = 0; i < many; ++i) body = for_loop(var("i"), 0, 4, body);
    return function_of(body);
  };
  walk_all([&]() -> Ref { return build(); });
  verify_well_formed(build());
}

TEST(large, deep_branches) {
  const Expr c = var("c", boolean);
  const auto build = [&] {
    Stmt body = make(Evaluate{.value = 1});
    for (int i = 0; i < many; ++i) {
      body = make(
          IfThenElse{.condition = c, .then_case = make(Evaluate{.value = 2}), .else_case = body});
    }
    return body;
  };
  walk_all([&]() -> Ref { return build(); });
}

TEST(large, wide_sequences_and_calls) {
  const auto A = decl_buffer({many}, i32, "A");
  const auto build = [&] {
    std::vector<Stmt> stores;
    for (int i = 0; i < many; ++i) stores.push_back(store(A, i, {i}));
    return seq(std::move(stores));
  };
  walk_all([&]() -> Ref { return build(); });
  const Expr x = var("x");
  walk_all([&]() -> Ref { return call(i32, op("tvm_call_packed"), std::vector<Expr>(many, x)); },
           true);
}

TEST(large, wide_functions_with_many_loops_of_one_name) {
  const auto A = decl_buffer({8}, i32, "A");
  const auto build = [&] {
    std::vector<Stmt> loops;
    for (int i = 0; i < many / 4; ++i) {
      const auto k = var("k");
      loops.push_back(for_loop(k, 0, 8, store(A, k, {k})));
    }
    return function_of(make(LetStmt{.value = 1, .var = var("k"), .body = seq(std::move(loops))}));
  };
  const auto func = build();
  walk_all([&]() -> Ref { return build()->body; });
  EXPECT_NE(script(func).find("for k_1 in range(8)"), std::string::npos);
  EXPECT_EQ(script(func).find("for k_2 in range(8)"), std::string::npos);
}

TEST(large, graphs_of_shared_nodes_cost_their_nodes) {
  const auto x = var("x");
  walk_all([&]() -> Ref { return shared_expr(x, 60); }, false);
  const Expr e = shared_expr(x, 60);
  const auto y = var("y");
  EXPECT_TRUE(structural_equal(substitute(e, {{x, y}}), shared_expr(y, 60)));
  verify_well_formed(function_of(make(Evaluate{.value = e}), {x}));
  const Stmt body = make(LetStmt{.value = 1, .var = x, .body = make(Evaluate{.value = e})});
  const Stmt copy = clone_with(body, {});
  EXPECT_TRUE(structural_equal(copy, body));
  EXPECT_FALSE(structural_equal(e, shared_expr(x, 59)));
}

TEST(large, trees_go_in_any_thread_and_by_several_at_once) {
  const auto x = var("x");
  Expr e = deep_expr(x, many);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([copy = e, x] {
      for (int round = 0; round < 3; ++round) {
        const auto y = var("y");
        EXPECT_FALSE(substitute(copy, {{x, y}}).same_as(copy));
        EXPECT_TRUE(uses_variable(copy, x));
      }
    });
  }
  e = nullptr;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace loopsmith
