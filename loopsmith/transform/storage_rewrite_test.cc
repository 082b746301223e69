// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/storage_rewrite.h"

#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct StorageRewrite : ::testing::Test {
  Ptr<Buffer> a = decl_buffer({1000}, f32, "A");

  static Stmt copy(const Ptr<Buffer>& to, const Ptr<Buffer>& from) {
    const Ptr<Var> i = var("i");
    return for_loop(i, 0, 1000, store(to, load(from, {i}), {i}));
  }
  /// How many allocations are left of t and u around `body`.
  int left(const Ptr<Buffer>& t, const Ptr<Buffer>& u, Stmt body) {
    Stmt stmt = storage_rewrite(function({a}, allocated(t, allocated(u, body))))->body;
    int count = 0;
    while (!stmt.is<SeqStmt>()) {
      count += stmt.is<Allocate>();
      stmt = stmt.is<Allocate>() ? stmt.as<Allocate>()->body : stmt.as<DeclBuffer>()->body;
    }
    return count;
  }
};

TEST_F(StorageRewrite, uses_memory_again_that_is_not_needed_any_more) {
  const Ptr<Buffer> t = decl_buffer({1000}, f32, "T"), u = decl_buffer({1200}, f32, "U");
  Buffer moved = *u;
  moved.data = t->data;
  const Ptr<Buffer> v = make(std::move(moved));
  const Stmt expected_body = seq({copy(t, a), copy(a, t), copy(v, a), copy(a, v)});
  Allocate grown =
      *allocated(t, make(DeclBuffer{.buffer = v, .body = expected_body})).as<Allocate>();
  grown.extents = {1200};
  EXPECT_TRUE(
      same(storage_rewrite(function({a}, allocated(t, allocated(u, seq({copy(t, a), copy(a, t),
                                                                        copy(u, a), copy(a, u)})))))
               ->body,
           make(std::move(grown))));
}

TEST_F(StorageRewrite, keeps_memory_apart_that_is_needed_at_the_same_time) {
  const Ptr<Buffer> t = decl_buffer({1000}, f32, "T"), u = decl_buffer({1000}, f32, "U");
  EXPECT_EQ(left(t, u, seq({copy(t, a), copy(u, t), copy(a, u)})), 2);
}

TEST_F(StorageRewrite, lets_nothing_take_over_memory_that_is_allocated_inside_it) {
  const Ptr<Buffer> t = decl_buffer({1000}, f32, "T"), u = decl_buffer({1000}, f32, "U");
  const Stmt stmt =
      allocated(t, allocated(u, seq({copy(u, a), copy(a, u), copy(t, a), copy(a, t)})));
  EXPECT_TRUE(same(storage_rewrite(function({a}, stmt))->body, stmt));
}

TEST_F(StorageRewrite, keeps_other_types_scopes_and_sizes_apart) {
  const auto alone = [&](const Ptr<Buffer>& t, const Ptr<Buffer>& u) {
    const auto touch = [](const Ptr<Buffer>& buffer) {
      return store(buffer, const_of(buffer->dtype, 1), {0});
    };
    return left(t, u, seq({touch(t), touch(u)}));
  };
  const Ptr<Buffer> t = decl_buffer({1000}, f32, "T");
  EXPECT_EQ(alone(t, decl_buffer({1000}, f32, "U")), 1);
  EXPECT_EQ(alone(t, decl_buffer({1000}, i32, "U")), 2);
  EXPECT_EQ(alone(t, decl_buffer({1000}, f32, "U", "shared")), 2);
  EXPECT_EQ(alone(t, decl_buffer({100000}, f32, "U")), 2);
  EXPECT_EQ(alone(decl_buffer({8}, f32, "T"), decl_buffer({8}, f32, "U")), 2);
}

TEST_F(StorageRewrite, keeps_memory_whose_pointer_is_used) {
  const Ptr<Buffer> t = decl_buffer({1000}, f32, "T"), u = decl_buffer({1000}, f32, "U");
  const Stmt call_it =
      make(Evaluate{.value = call(i32, op("call_extern"), {string_imm("f"), t->data})});
  EXPECT_EQ(left(t, u, seq({call_it, copy(u, a), copy(a, u)})), 2);
}

}  // namespace
}  // namespace loopsmith
