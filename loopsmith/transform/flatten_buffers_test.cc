// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/flatten_buffers.h"

#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

/// `buffer` over the same memory, flat.
Ptr<Buffer> flat(const Ptr<Buffer>& buffer, std::vector<Expr> shape,
                 std::vector<std::int64_t> separators = {}) {
  Buffer copy = *buffer;
  copy.shape = std::move(shape);
  copy.strides.clear();
  copy.elem_offset = nullptr;
  copy.axis_separators = std::move(separators);
  return make(std::move(copy));
}

Stmt declared(const Ptr<Buffer>& buffer, Stmt body) {
  return make(DeclBuffer{.buffer = buffer, .body = std::move(body)});
}

TEST(flatten_buffers, multiplies_indices_by_strides) {
  const Ptr<Buffer> a = decl_buffer({8, 16}, f32, "A");
  const Ptr<Var> i = var("i"), j = var("j");
  const auto nest = [&](Stmt body) { return for_loop(i, 0, 8, for_loop(j, 0, 16, body)); };
  const Ptr<Buffer> b = flat(a, {128});
  EXPECT_TRUE(same(flatten_buffers(function({a}, nest(store(a, f(1), {i, j}))))->body,
                   declared(b, nest(store(b, f(1), {i * 16 + j})))));
}

TEST(flatten_buffers, leaves_a_flat_buffer_alone) {
  const Ptr<Buffer> a = decl_buffer({8}, f32, "A");
  const auto func = function({a}, store(a, f(1), {3}));
  EXPECT_TRUE(flatten_buffers(func).same_as(func));
}

TEST(flatten_buffers, works_strides_and_offset_in) {
  Buffer strided = *decl_buffer({8, 16}, f32, "A");
  strided.strides = {20, 2};
  strided.elem_offset = 5;
  const Ptr<Buffer> a = make(std::move(strided));
  const Ptr<Buffer> b = flat(a, {1 + 7 * 20 + 15 * 2 + 5});
  const Ptr<Var> i = var("i");
  EXPECT_TRUE(same(flatten_buffers(function({a}, for_loop(i, 0, 8, store(a, f(1), {i, 3}))))->body,
                   declared(b, for_loop(i, 0, 8, store(b, f(1), {i * 20 + 11})))));
}

TEST(flatten_buffers, gives_a_scalar_one_element) {
  const Ptr<Buffer> a = decl_buffer({}, f32, "A");
  const Ptr<Buffer> b = flat(a, {1});
  EXPECT_TRUE(same(flatten_buffers(function({a}, store(a, f(1), {})))->body,
                   declared(b, store(b, f(1), {0}))));
}

TEST(flatten_buffers, keeps_one_index_for_each_group_of_dimensions) {
  Buffer grouped = *decl_buffer({2, 3, 4, 5}, f32, "A");
  grouped.axis_separators = {2};
  const Ptr<Buffer> a = make(std::move(grouped));
  const Ptr<Buffer> b = flat(a, {6, 20}, {1});
  const Ptr<Var> i = var("i");
  EXPECT_TRUE(
      same(flatten_buffers(function({a}, for_loop(i, 0, 2, store(a, f(1), {i, 1, i, 2}))))->body,
           declared(b, for_loop(i, 0, 2, store(b, f(1), {i * 3 + 1, i * 5 + 2})))));
}

TEST(flatten_buffers, gives_empty_groups_of_dimensions_one_element) {
  const auto flattens = [](std::vector<Expr> shape, std::vector<std::int64_t> separators,
                           std::vector<Expr> indices, std::vector<Expr> flat_shape,
                           std::vector<Expr> flat_indices) {
    Buffer grouped = *decl_buffer(std::move(shape), f32, "A");
    grouped.axis_separators = std::move(separators);
    const Ptr<Buffer> a = make(std::move(grouped));
    const Ptr<Buffer> b = flat(a, std::move(flat_shape), {1});
    return same(flatten_buffers(function({a}, store(a, f(1), std::move(indices))))->body,
                declared(b, store(b, f(1), std::move(flat_indices))));
  };
  EXPECT_TRUE(flattens({6}, {0}, {3}, {1, 6}, {0, 3}));
  EXPECT_TRUE(flattens({6}, {1}, {3}, {6, 1}, {3, 0}));
  EXPECT_TRUE(flattens({2, 3}, {0}, {1, 2}, {1, 6}, {0, 5}));
}

TEST(flatten_buffers, computes_in_64_bits_what_may_be_large) {
  const Ptr<Var> n = size_var("n"), i = var("i");
  const Ptr<Buffer> a = decl_buffer({n, n}, f32, "A"), big = decl_buffer({65536, 65536}, f32, "B");
  const auto index_of = [&](const Ptr<Buffer>& buffer) {
    const Stmt body = store(buffer, f(1), {i, i});
    const auto actual = flatten_buffers(function({buffer}, for_loop(i, 0, 8, body)));
    const auto* loop = actual->body.as<DeclBuffer>()->body.as<For>();
    return loop->body.as<BufferStore>()->indices[0];
  };
  EXPECT_TRUE(same(index_of(a), cast(i64, i) * (cast(i64, n) + int_imm(i64, 1))));
  EXPECT_EQ(index_of(big).dtype(), i64);
}

TEST(flatten_buffers, flattens_allocations) {
  const Ptr<Buffer> t = decl_buffer({4, 5}, f32, "T");
  const Ptr<Buffer> u = decl_buffer({20}, f32, "T");
  EXPECT_TRUE(same(flatten_buffers(function({}, allocated(t, store(t, f(1), {2, 3}))))->body,
                   allocated(u, store(u, f(1), {13}))));
}

}  // namespace
}  // namespace loopsmith
