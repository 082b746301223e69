// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/compact_buffers.h"

#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct CompactBuffers : ::testing::Test {
  Ptr<Var> n = size_var("n"), i = var("i"), j = var("j");
  Ptr<Buffer> a = decl_buffer({n, 8}, f32, "A");

  Stmt compact(Stmt body) { return compact_buffers(function({a}, body))->body; }
  /// `old` with another shape, over the same memory.
  static Ptr<Buffer> reshaped(const Ptr<Buffer>& old, std::vector<Expr> shape,
                              std::vector<Expr> strides = {}) {
    Buffer copy = *old;
    copy.shape = std::move(shape);
    copy.strides = std::move(strides);
    return make(std::move(copy));
  }
};

TEST_F(CompactBuffers, shrinks_to_what_is_used_at_a_time) {
  const Ptr<Buffer> t = decl_buffer({n, 8}, f32, "T");
  const Ptr<Buffer> u = reshaped(t, {4, 2});
  const Expr row = i * 4 + j;
  const Stmt body = for_loop(
      i, 0, n,
      allocated(t, for_loop(j, 0, 4, seq({store(t, f(1), {row, 5}), store(t, f(2), {row, 6})}))));
  const Stmt expected = for_loop(
      i, 0, n,
      allocated(
          u, for_loop(j, 0, 4,
                      seq({store(u, f(1), {row - i * 4, 0}), store(u, f(2), {row - i * 4, 1})}))));
  EXPECT_TRUE(same(compact(body), expected));
}

TEST_F(CompactBuffers, leaves_a_dimension_that_may_be_used_as_a_whole) {
  const Ptr<Buffer> t = decl_buffer({n, 8}, f32, "T");
  const Stmt body = allocated(t, for_loop(i, 0, n, for_loop(j, 0, 8, store(t, f(1), {i, j}))));
  EXPECT_TRUE(same(compact(body), body));
  const Stmt anywhere =
      allocated(t, for_loop(i, 0, n, store(t, f(1), {cast(i32, load(a, {i, 0})), 0})));
  const Stmt result = compact(anywhere);
  const auto* allocate = result.as<Allocate>();
  ASSERT_TRUE(allocate);
  EXPECT_TRUE(same(allocate->extents[0], n));
  EXPECT_TRUE(same(allocate->extents[1], Expr(1)));
}

TEST_F(CompactBuffers, shrinks_to_the_lanes_of_vectors) {
  const Ptr<Buffer> t = decl_buffer({n, 64}, f32, "T");
  const auto vector = [&](const Ptr<Buffer>& buffer, const Expr& row, const Expr& first) {
    const Expr lanes = make(Ramp{.base = first, .stride = 2, .lanes = 8});
    return store(buffer, make(Broadcast{.value = f(1), .lanes = 8}), {row, lanes});
  };
  const auto used = [](const Stmt& body) { return body.as<For>()->body.as<Allocate>()->extents; };
  // Every second element of 16 from 16 * j on: the last two are not used.
  const Stmt body = for_loop(i, 0, n, allocated(t, for_loop(j, 0, 4, vector(t, i, j * 16))));
  const auto extents = used(compact(body));
  EXPECT_TRUE(same(extents[0], Expr(1)));
  EXPECT_TRUE(same(extents[1], Expr(63)));
  const Stmt fixed = for_loop(i, 0, n, allocated(t, vector(t, i, i * 16)));
  EXPECT_TRUE(same(used(compact(fixed))[1], Expr(15)));
}

TEST_F(CompactBuffers, rounds_strides_up_as_asked) {
  const Ptr<Buffer> t = decl_buffer({4, 8}, f32, "T");
  const Ptr<Buffer> u = reshaped(t, {4, 8}, {33, 1});
  const auto row = make(List{.items = {Expr(0), Expr(0), Expr(32), Expr(1)}});
  const auto nest = [&](const Ptr<Buffer>& buffer) {
    return for_loop(i, 0, 4, for_loop(j, 0, 8, store(buffer, f(1), {i, j})));
  };
  Allocate allocate = *allocated(t, nest(t)).as<Allocate>();
  allocate.annotations = {{"buffer_dim_align", make(List{.items = {row}})}};
  EXPECT_TRUE(same(compact(make(std::move(allocate))), allocated(u, nest(u))));
}

TEST_F(CompactBuffers, keeps_what_iterations_leave_for_each_other_or_use_at_once) {
  const Ptr<Buffer> t = decl_buffer({4}, f32, "T", "shared");
  const auto room = [&](ForKind kind, const Stmt& write) {
    const Stmt use = seq({write, store(a, load(t, {j}), {i, j})});
    const Stmt nest = for_loop(i, 0, n, for_loop(j, 0, 4, use, kind));
    return compact(allocated(t, nest)).as<Allocate>()->extents[0];
  };
  const Stmt fill = store(t, f(1), {j});
  EXPECT_TRUE(same(room(ForKind::serial, fill), Expr(1)));
  EXPECT_TRUE(same(room(ForKind::parallel, fill), Expr(4)));
  const Stmt sum = store(t, load(t, {j}) + f(1), {j});
  EXPECT_TRUE(same(room(ForKind::serial, sum), Expr(4)));
}

}  // namespace
}  // namespace loopsmith
