// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/lower_init.h"

#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

/// A sum over rows: C[vi] += A[vi, vk].
struct RowSum {
  Ptr<Buffer> a = decl_buffer({8, 16}, f32, "A"), c = decl_buffer({8}, f32, "C");
  Ptr<Var> vi = var("vi"), vk = var("vk"), i = var("i"), k = var("k");
  std::vector<Ptr<IterVar>> axes{axis(vi, 8), axis(vk, 16, IterType::comm_reduce)};
  Stmt init = store(c, f(0), {vi});
  Stmt update = store(c, load(c, {vi}) + load(a, {vi, vk}), {vi});

  Stmt sum(std::vector<Expr> values, Expr predicate = true) const {
    return block(axes, values, update, init, predicate);
  }
  Stmt without_init(std::vector<Expr> values, Expr predicate = true) const {
    return block(axes, values, update, nullptr, predicate);
  }
  /// The init at `value`, with an axis of its own.
  Stmt init_at(Expr value, Expr predicate = true) const {
    const Ptr<Var> v = var("vi");
    return block({axis(v, 8)}, {value}, store(c, f(0), {v}), nullptr, predicate);
  }
  Ptr<PrimFunc> lowered(Stmt body) const { return lower_init(function({a, c}, body)); }
};

TEST(lower_init, puts_the_init_before_the_reduction_loop) {
  const RowSum t;
  const auto actual = t.lowered(for_loop(t.i, 0, 8, for_loop(t.k, 0, 16, t.sum({t.i, t.k}))));
  // Regions of the block move to the init block, too; here there are none.
  EXPECT_TRUE(
      same(actual->body,
           for_loop(t.i, 0, 8,
                    seq({t.init_at(t.i), for_loop(t.k, 0, 16, t.without_init({t.i, t.k}))}))));
}

TEST(lower_init, copies_spatial_loops_inside_the_reduction) {
  const RowSum t;
  const Ptr<Var> j = var("j");
  const auto actual =
      t.lowered(for_loop(t.k, 0, 16, for_loop(t.i, 0, 8, t.sum({t.i, t.k}), ForKind::vectorized)));
  EXPECT_TRUE(
      same(actual->body,
           seq({for_loop(j, 0, 8, t.init_at(j), ForKind::vectorized),
                for_loop(t.k, 0, 16,
                         for_loop(t.i, 0, 8, t.without_init({t.i, t.k}), ForKind::vectorized))})));
}

TEST(lower_init, keeps_conditions_on_spatial_loops_only) {
  const RowSum t;
  const Expr both = t.i < 7 && t.k < 15;
  const auto actual = t.lowered(for_loop(t.i, 0, 8, for_loop(t.k, 0, 16, t.sum({t.i, t.k}, both))));
  EXPECT_TRUE(
      same(actual->body, for_loop(t.i, 0, 8,
                                  seq({t.init_at(t.i, t.i < 7),
                                       for_loop(t.k, 0, 16, t.without_init({t.i, t.k}, both))}))));
}

TEST(lower_init, guards_the_init_where_one_loop_drives_both_kinds_of_axes) {
  const RowSum t;
  const Ptr<Var> fused = var("fused");
  const std::vector<Expr> values{floordiv(fused, 16), floormod(fused, 16)};
  const auto actual = t.lowered(for_loop(fused, 0, 128, t.sum(values)));
  EXPECT_TRUE(same(
      actual->body,
      for_loop(fused, 0, 128, block(t.axes, values, seq({if_then(t.vk == 0, t.init), t.update})))));
}

TEST(lower_init, starts_a_reduction_at_each_value_of_an_opaque_axis) {
  RowSum t;
  t.axes[0] = axis(t.vi, 8, IterType::opaque);
  const auto actual = t.lowered(for_loop(t.i, 0, 8, for_loop(t.k, 0, 16, t.sum({t.i, t.k}))));
  const Ptr<Var> v = var("vi");
  const Stmt init = block({axis(v, 8, IterType::opaque)}, {t.i}, store(t.c, f(0), {v}));
  EXPECT_TRUE(
      same(actual->body,
           for_loop(t.i, 0, 8, seq({init, for_loop(t.k, 0, 16, t.without_init({t.i, t.k}))}))));
}

TEST(lower_init, guards_the_init_where_more_than_the_block_is_in_the_loop) {
  const RowSum t;
  const Stmt other = store(t.a, f(1), {0, t.k});
  const auto actual =
      t.lowered(for_loop(t.k, 0, 16, seq({other, for_loop(t.i, 0, 8, t.sum({t.i, t.k}))})));
  EXPECT_TRUE(
      same(actual->body,
           for_loop(t.k, 0, 16,
                    seq({other, for_loop(t.i, 0, 8,
                                         block(t.axes, {t.i, t.k},
                                               seq({if_then(t.vk == 0, t.init), t.update})))}))));
}

TEST(lower_init, starts_reductions_over_nothing_beside_others) {
  RowSum t;
  const Ptr<Buffer> seen = decl_buffer({1}, f32, "seen");
  const Expr n = var("n");
  t.axes[1] = axis(t.vk, n, IterType::comm_reduce);
  const Stmt other = store(seen, f(2), {0});
  const Ptr<Var> i = t.i, k = t.k;
  const auto actual = t.lowered(for_loop(i, 0, 8, for_loop(k, 0, n, seq({other, t.sum({i, k})}))));
  const Stmt guarded = block(t.axes, {i, k}, seq({if_then(t.vk == 0, t.init), t.update}));
  EXPECT_TRUE(same(
      actual->body,
      for_loop(i, 0, 8, seq({t.init_at(i, n <= 0), for_loop(k, 0, n, seq({other, guarded}))}))));
}

TEST(lower_init, guards_an_init_that_runs_in_several_iterations) {
  const RowSum t;
  const Ptr<Var> i = t.i, k = t.k;
  const Expr twice = floormod(k, 16);
  const auto actual = t.lowered(for_loop(i, 0, 8, for_loop(k, 0, 32, t.sum({i, twice}))));
  const Stmt guarded = block(t.axes, {i, twice}, seq({if_then(t.vk == 0, t.init), t.update}));
  EXPECT_TRUE(same(actual->body, for_loop(i, 0, 8, for_loop(k, 0, 32, guarded))));
}

TEST(lower_init, guards_an_init_that_conflicts_with_updates_of_other_results) {
  RowSum t;
  t.init = store(t.c, f(0), {floordiv(t.vi, 2)});
  const Ptr<Var> i = t.i, k = t.k;
  const auto actual = t.lowered(for_loop(k, 0, 16, for_loop(i, 0, 8, t.sum({i, k}))));
  const Stmt guarded = block(t.axes, {i, k}, seq({if_then(t.vk == 0, t.init), t.update}));
  EXPECT_TRUE(same(actual->body, for_loop(k, 0, 16, for_loop(i, 0, 8, guarded))));
}

TEST(lower_init, initialises_where_the_start_passes_its_conditions) {
  const RowSum t;
  const Ptr<Var> i = t.i, k = t.k;
  const Expr late = k >= 2, both = i + k < 5;
  const auto never = t.lowered(for_loop(i, 0, 8, for_loop(k, 0, 16, t.sum({i, k}, late))));
  EXPECT_TRUE(same(never->body, for_loop(i, 0, 8,
                                         seq({t.init_at(i, false),
                                              for_loop(k, 0, 16, t.without_init({i, k}, late))}))));
  const auto some = t.lowered(for_loop(i, 0, 8, for_loop(k, 0, 16, t.sum({i, k}, both))));
  EXPECT_TRUE(same(some->body, for_loop(i, 0, 8,
                                        seq({t.init_at(i, i < 5),
                                             for_loop(k, 0, 16, t.without_init({i, k}, both))}))));
}

TEST(lower_init, leaves_the_init_to_the_part_of_a_loop_that_is_first) {
  const RowSum t;
  const Stmt late = t.lowered(for_loop(t.i, 0, 8, for_loop(t.k, 4, 12, t.sum({t.i, t.k}))))->body;
  const Stmt guarded = t.without_init({t.i, t.k});
  BlockRealize expected = *guarded.as<BlockRealize>();
  Block block = *expected.block;
  block.body = seq({if_then(t.vk == 0, t.init), t.update});
  expected.block = make(std::move(block));
  EXPECT_TRUE(same(late, for_loop(t.i, 0, 8, for_loop(t.k, 4, 12, make(std::move(expected))))));
}

}  // namespace
}  // namespace loopsmith
