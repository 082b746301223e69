// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "loopsmith/arith/dependence/questions_test.h"

namespace loopsmith {
namespace {

using namespace dependence_testing;

Ptr<IterVar> axis(const Ptr<Var>& variable, const Expr& extent, IterType type) {
  return make(IterVar{.dom = range(0, extent), .var = variable, .iter_type = type});
}

TEST(reductions, a_block_declares_its_reduction) {
  Program p;
  const auto vi = var("vi"), vk = var("vk");
  const Expr combined = call(op("exp"), {load(p.x, {vi}) + load(p.a, {vi, vk})});
  const auto block = make(
      Block{.iter_vars = {axis(vi, 100, IterType::data_par), axis(vk, 100, IterType::comm_reduce)},
            .name_hint = "sum",
            .init = store(p.x, float_imm(f32, 0), {vi}),
            .body = store(p.x, combined, {vi})});
  const Stmt realize = make(BlockRealize{.iter_values = {p.i, p.k}, .block = block});
  Dependences d(p.loop(p.i, 100, p.loop(p.k, 100, realize)));
  EXPECT_EQ(text_of(d.parallelizable(p.i)), "proved");
  EXPECT_EQ(text_of(d.parallelizable(p.k)), "reduction");
}

/// for k in range(0): for i, j: block with init c[vi + 1, vj + 1] = c[vi, vj + shift]
Stmt sum_of_nothing(const Program& p, int shift) {
  const auto vk = var("vk"), vi = var("vi"), vj = var("vj");
  const std::vector<Expr> result{vi + 1, vj + 1};
  const auto block =
      make(Block{.iter_vars = {axis(vk, 0, IterType::comm_reduce), axis(vi, 9, IterType::data_par),
                               axis(vj, 9, IterType::data_par)},
                 .name_hint = "sum",
                 .init = store(p.c, load(p.c, {vi, vj + shift}), result),
                 .body = store(p.c, load(p.c, result) + float_imm(f32, 1), result)});
  const Stmt realize = make(BlockRealize{.iter_values = {p.k, p.i, p.j}, .block = block});
  return p.loop(p.k, 0, p.loop(p.i, 9, p.loop(p.j, 9, realize)));
}

TEST(reductions, the_init_of_nothing_runs_in_copies_of_loops) {
  Program p;
  Dependences d(sum_of_nothing(p, 2));
  EXPECT_EQ(text_of(d.parallelizable(p.i)),
            "iteration i=0, j=1 writes C[1, 2], iteration i=1, j=0 reads it");
  EXPECT_EQ(text_of(d.parallelizable(p.j)), "proved");
  EXPECT_EQ(text_of(d.vectorizable(p.i)),
            "iteration i=0, j=1 writes C[1, 2], iteration i=1, j=0 reads it");
  EXPECT_EQ(text_of(d.permutable(Loops{p.j, p.i})),
            "iteration i=0, j=1 writes C[1, 2], iteration i=1, j=0 reads it");
  EXPECT_EQ(text_of(d.permutable(Loops{p.i, p.k})), "proved");
  EXPECT_FALSE(d.distances().is_parallel(p.i, true));
  EXPECT_FALSE(d.distances().can_reorder(Loops{p.j, p.i}, true));
}

TEST(reductions, the_init_of_nothing_takes_another_order_where_it_may) {
  Program p;
  Dependences d(sum_of_nothing(p, 1));
  EXPECT_EQ(text_of(d.permutable(Loops{p.j, p.i})), "proved");
}

/// for i: for k in range(extent): x[i] = x[i] - y[k] * x[index]
Stmt solve(const Program& p, const Expr& extent, const Expr& index) {
  const Expr step = load(p.y, {p.k}) * load(p.x, {index});
  const Stmt update = store(p.x, load(p.x, {p.i}) - step, {p.i});
  return p.loop(p.i, p.n, p.loop(p.k, extent, update));
}

TEST(reductions, an_accumulation_may_read_other_elements) {
  Program p;
  Dependences d(solve(p, p.i, p.k));
  EXPECT_EQ(text_of(d.parallelizable(p.k)), "reduction");
  EXPECT_EQ(text_of(d.accumulator_is_private(p.k, p.x)), "proved");
  EXPECT_EQ(text_of(d.parallelizable(p.i)),
            "with n=3: iteration i=1, k=0 writes X[1], iteration i=2, k=1 reads it");
}

TEST(reductions, an_accumulation_that_reads_its_element_is_carried) {
  Program p;
  Dependences d(solve(p, p.i + 1, p.k));
  EXPECT_EQ(text_of(d.parallelizable(p.k)),
            "with n=2: iteration i=1, k=0 writes X[1], iteration i=1, k=1 reads it");
  const DependenceAnswer apart = d.accumulator_is_private(p.k, p.x);
  EXPECT_EQ(apart.reason, "it reads X[k]");
  EXPECT_EQ(text_of(apart),
            "with n=1: iteration i=0, k=0 writes X[0], iteration i=0, k=0 reads it");
}

TEST(reductions, an_accumulation_that_reads_by_memory_is_unknown) {
  Program p;
  const Ptr<Buffer> q = decl_buffer({1000}, i32, "Q");
  Dependences d(solve(p, p.i, load(q, {p.k})));
  EXPECT_EQ(d.accumulator_is_private(p.k, p.x).reason,
            "it reads X[Q[k]], and index 0 of X is not quasi-affine: Q[k]");
}

/// for i, k: a block that starts Y[i] and updates it by `value`, which axes i and k are put into.
Stmt reducing(const Program& p, const std::function<Expr(const Expr&, const Expr&)>& value) {
  const auto axis = [](const char* name, IterType type) {
    return make(IterVar{.dom = range(0, 20), .var = var(name), .iter_type = type});
  };
  const auto vi = axis("vi", IterType::data_par), vk = axis("vk", IterType::comm_reduce);
  Block block{.iter_vars = {vi, vk}, .name_hint = "sum"};
  block.init = store(p.y, float_imm(f32, 0), {vi->var});
  block.body = store(p.y, value(vi->var, vk->var), {vi->var});
  return p.loop(
      p.i, 20,
      p.loop(p.k, 20,
             make(BlockRealize{
                 .iter_values = {p.i, p.k}, .predicate = true, .block = make(std::move(block))})));
}

TEST(reductions, a_block_with_an_init_reduces_what_it_may_combine) {
  Program p;
  const auto question = [&](const std::function<Expr(const Expr&, const Expr&)>& value) {
    return text_of(Dependences(reducing(p, value)).parallelizable(p.k));
  };
  EXPECT_EQ(question([&](const Expr& i, const Expr& k) {
              return min(load(p.y, {i}), load(p.y, {k + 20}));
            }),
            "reduction");
  EXPECT_EQ(
      question([&](const Expr& i, const Expr& k) { return min(load(p.y, {i}), load(p.y, {k})); }),
      "iteration i=1, k=0 writes Y[1], iteration i=1, k=1 reads it");
  EXPECT_EQ(question([&](const Expr& i, const Expr& k) { return load(p.x, {k}) - load(p.y, {i}); }),
            "iteration i=0, k=0 writes Y[0], iteration i=0, k=1 reads it");
}

}  // namespace
}  // namespace loopsmith
