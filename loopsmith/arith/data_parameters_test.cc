// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/data_parameters.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

/// The names of the parameters that are data, of a function with `body` and all of `params`.
std::string data_of(const Stmt& body, std::vector<Ptr<Var>> params,
                    std::vector<Ptr<Buffer>> buffers = {}) {
  std::vector<Ptr<Buffer>> map(params.size());
  for (const auto& buffer : buffers) {
    params.push_back(var(buffer->name + "_handle", handle_type));
    map.push_back(buffer);
  }
  const auto func = make(PrimFunc{.params = params, .buffer_map = map, .body = body});
  std::string names;
  for (const auto& param : arith::data_parameters(*func)) names += param->name + ' ';
  return names;
}

struct DataParameters : ::testing::Test {
  Ptr<Var> n = var("n"), m = var("m"), i = var("i");
  Ptr<Buffer> a = decl_buffer({64}, i32, "A");

  Stmt set(const Expr& value, const Expr& at = 0) { return store(a, value, {at}); }
};

TEST_F(DataParameters, are_scalars_that_are_only_computed_with) {
  const auto x = var("x", f32);
  const Stmt body = seq({set(select(n < 3, n, cast(i32, x))), set(m * 2)});
  EXPECT_EQ(data_of(body, {n, x, m}, {a}), "n x m ");
  EXPECT_EQ(data_of(for_loop(i, 0, 64, set(select(i < n, i, 0), i)), {n}, {a}), "n ");
}

TEST_F(DataParameters, are_no_sizes) {
  EXPECT_EQ(data_of(set(1), {size_var("n")}, {a}), "");
}

TEST_F(DataParameters, stand_in_no_shape) {
  const auto rows = decl_buffer({n, 4}, i32, "rows");
  EXPECT_EQ(data_of(set(m), {n, m}, {a, rows}), "m ");
  const auto block = make(Block{.name_hint = "b", .alloc_buffers = {rows}, .body = set(m)});
  EXPECT_EQ(data_of(make(BlockRealize{.block = block}), {n, m}, {a}), "m ");
}

TEST_F(DataParameters, bound_no_loop) {
  EXPECT_EQ(data_of(for_loop(i, 0, ceildiv(n, 4), set(m)), {n, m}, {a}), "m ");
  EXPECT_EQ(data_of(for_loop(i, n, 4, set(m)), {n, m}, {a}), "m ");
}

TEST_F(DataParameters, may_be_held_between_limits) {
  EXPECT_EQ(data_of(for_loop(i, 0, min(max(n, 0), 16), set(m)), {n, m}, {a}), "n m ");
  EXPECT_EQ(data_of(for_loop(i, max(min(n, 4), m), 16, set(0)), {n, m}, {a}), "n ");
  EXPECT_EQ(data_of(for_loop(i, 0, min(n, 16), set(m)), {n, m}, {a}), "m ");
}

TEST_F(DataParameters, stand_in_no_index) {
  EXPECT_EQ(data_of(set(m, n + 1), {n, m}, {a}), "m ");
  EXPECT_EQ(data_of(set(load(a, {n}) + m), {n, m}, {a}), "m ");
  const auto axis = make(IterVar{.dom = range(0, 64), .var = var("v")});
  const auto block = make(Block{.iter_vars = {axis}, .name_hint = "b", .body = set(m, axis->var)});
  EXPECT_EQ(data_of(make(BlockRealize{.iter_values = {n}, .block = block}), {n, m}, {a}), "m ");
}

TEST_F(DataParameters, are_in_nothing_that_becomes_an_index) {
  const auto k = var("k"), l = var("l");
  const auto let = [](const Ptr<Var>& name, const Expr& value, const Stmt& body) {
    return make(LetStmt{.value = value, .var = name, .body = body});
  };
  EXPECT_EQ(data_of(let(k, n + 1, let(l, k * 2, set(m, l))), {n, m}, {a}), "m ");
  EXPECT_EQ(data_of(let(k, n + 1, let(l, m, set(k, l))), {n, m}, {a}), "n ");
}

}  // namespace
}  // namespace loopsmith
