// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/structural.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

bool same(const Ref& a, const Ref& b, bool map_free = false) {
  const bool equal = structural_equal(a, b, map_free);
  EXPECT_EQ(equal, structural_equal(b, a, map_free));
  if (equal) {
    EXPECT_EQ(structural_hash(a), structural_hash(b));
  }
  if (equal && !map_free) {
    EXPECT_EQ(StructuralHash()(a), StructuralHash()(b));
  }
  return equal;
}

/// for i in range(8): A[i] = A[i] + value
Stmt add_to(const Ptr<Buffer>& A, Expr value) {
  const auto i = var("i");
  return for_loop(i, 0, 8, store(A, load(A, {i}) + value, {i}));
}

Ptr<PrimFunc> function_of(Expr value, const char* name = "A") {
  const auto A = decl_buffer({8}, f32, name);
  return make(PrimFunc{
      .params = {var("p", handle_type)}, .buffer_map = {A}, .body = add_to(A, std::move(value))});
}

TEST(structural, free_variables_are_themselves_unless_mapped) {
  const Expr x = var("x"), y = var("x"), wide = var("x", i64);
  EXPECT_TRUE(same(x + 1, x + 1));
  EXPECT_FALSE(same(x + 1, y + 1));
  EXPECT_TRUE(same(x + 1, y + 1, true));
  EXPECT_FALSE(same(x * y, x * x, true));
  EXPECT_FALSE(same(x * x, x * y, true));
  EXPECT_TRUE(same(x * y, y * x, true));
  EXPECT_FALSE(same(x, wide, true));
  EXPECT_FALSE(same(x + y, x - y));
  EXPECT_EQ(structural_hash(x + y), structural_hash(y + x));
}

TEST(structural, names_do_not_count_but_types_and_values_do) {
  EXPECT_TRUE(same(function_of(float_imm(f32, 1)), function_of(float_imm(f32, 1), "B")));
  EXPECT_FALSE(same(function_of(float_imm(f32, 1)), function_of(float_imm(f32, 2))));
  EXPECT_FALSE(same(int_imm(i32, 1), int_imm(i64, 1)));
  EXPECT_FALSE(same(float_imm(f32, 0.0), float_imm(f32, -0.0)));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(same(float_imm(f32, nan), float_imm(f32, nan)));
  EXPECT_FALSE(same(pointer_var("p", f32), pointer_var("p", f32, "shared"), true));
  EXPECT_TRUE(same(pointer_var("p", f32), pointer_var("q", f32, "global"), true));
  EXPECT_TRUE(same(make(GlobalVar{.name_hint = "f"}), make(GlobalVar{.name_hint = "f"})));
  EXPECT_FALSE(same(make(GlobalVar{.name_hint = "f"}), make(GlobalVar{.name_hint = "g"})));
  EXPECT_FALSE(same(Expr(1), nullptr));
  EXPECT_TRUE(same(nullptr, nullptr));
}

TEST(structural, definitions_pair_what_they_define) {
  const auto A = decl_buffer({8}, f32, "A");
  EXPECT_TRUE(same(add_to(A, float_imm(f32, 1)), add_to(A, float_imm(f32, 1))));
  const auto i = var("i"), j = var("j");
  const Stmt inner = for_loop(i, 0, 8, store(A, float_imm(f32, 0), {i}));
  const Stmt outer = for_loop(j, 0, 8, store(A, float_imm(f32, 0), {i}));
  EXPECT_FALSE(same(inner, outer));
  EXPECT_FALSE(same(inner, outer, true));
}

/// A function of a buffer of shape (n,), and one that it allocates, of shape `extent`.
Ptr<PrimFunc> allocating(bool second) {
  const auto n = var("n"), m = var("m");
  const auto A = decl_buffer({n, m}, f32, "A");
  const auto T = decl_buffer({second ? m : n}, f32, "T");
  const auto root = make(
      Block{.name_hint = "root", .alloc_buffers = {T}, .body = store(T, load(A, {0, 0}), {0})});
  return make(PrimFunc{.params = {var("a", handle_type)},
                       .buffer_map = {A},
                       .body = make(BlockRealize{.block = root})});
}

TEST(structural, a_matched_buffer_defines_its_sizes_and_an_allocated_one_uses_them) {
  EXPECT_TRUE(same(allocating(false), allocating(false)));
  EXPECT_FALSE(same(allocating(false), allocating(true)));
  EXPECT_NE(structural_hash(allocating(false)), structural_hash(allocating(true)));
}

TEST(structural, a_view_uses_its_pointer_and_an_allocation_defines_one) {
  const auto view_of = [](const Ptr<Var>& pointer) -> Stmt {
    const auto B = make(Buffer{.data = pointer, .dtype = f32, .shape = {8}, .name = "B"});
    return make(DeclBuffer{.buffer = B, .body = make(Evaluate{.value = load(B, {0})})});
  };
  const auto p = pointer_var("p", f32), q = pointer_var("q", f32);
  EXPECT_TRUE(same(view_of(p), view_of(p)));
  EXPECT_FALSE(same(view_of(p), view_of(q)));
  const auto two = [&](const Ptr<Var>& used) {
    const auto allocate = [](const Ptr<Var>& pointer, const Stmt& body) -> Stmt {
      return make(Allocate{
          .dtype = f32, .extents = {8}, .condition = true, .buffer_var = pointer, .body = body});
    };
    return allocate(p, allocate(q, view_of(used)));
  };
  EXPECT_FALSE(same(two(p), two(q)));
  EXPECT_NE(structural_hash(two(p)), structural_hash(two(q)));
}

TEST(structural, attributes_count_by_key_not_by_order) {
  const auto func = function_of(float_imm(f32, 1));
  const auto a = with_attr(with_attr(func, "x", Expr(1)), "y", Expr(2));
  const auto b = with_attr(with_attr(func, "y", Expr(2)), "x", Expr(1));
  EXPECT_TRUE(same(a, b));
  EXPECT_FALSE(same(a, with_attr(func, "x", Expr(1))));
  EXPECT_FALSE(same(a, with_attr(a, "x", Expr(3))));
}

TEST(structural, hashes_are_the_same_in_each_release) {
  // Recorded. A change here makes every record of a tuner worthless.
  EXPECT_EQ(to_string(structural_hash(Expr(42))), "2d46175d7d1d22b17b8d0dc6816ba01e");
  EXPECT_EQ(to_string(structural_hash(allocating(false))), "ff5ea576aa89a1cee03d12c876062ba5");
}

TEST(structural, hashes_of_many_expressions_differ) {
  const Expr x = var("x"), y = var("y");
  std::unordered_map<std::string, Expr> seen;
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    Expr e = x;
    for (int i = 0; i < 4; ++i) {
      const int value = static_cast<int>(random() % 1000) + 2;
      switch (random() % 4) {
        case 0: e = e + value; break;
        case 1: e = y * e; break;
        case 2: e = floordiv(e, value); break;
        default: e = min(e, y + value); break;
      }
    }
    const auto [place, fresh] = seen.emplace(to_string(structural_hash(e)), e);
    EXPECT_TRUE(fresh || structural_equal(place->second, e, true));
  }
}

TEST(structural, the_first_difference_has_a_path_and_a_picture) {
  const auto difference =
      first_difference(function_of(float_imm(f32, 1)), function_of(float_imm(f32, 2), "B"));
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->path, "body.body.value.b");
  EXPECT_EQ(difference->what, "FloatImm T.float32(1) != FloatImm T.float32(2)");
  EXPECT_EQ(difference->text(),
            "body.body.value.b: FloatImm T.float32(1) != FloatImm T.float32(2)\n"
            "a:\n"
            "@T.prim_func(private=True)\n"
            "def main(A: T.Buffer((8,), \"float32\")):\n"
            "    for i in range(8):\n"
            "        A[i] = A[i] + T.float32(1)\n"
            "                      ^^^^^^^^^^^^\n"
            "b:\n"
            "@T.prim_func(private=True)\n"
            "def main(B: T.Buffer((8,), \"float32\")):\n"
            "    for i in range(8):\n"
            "        B[i] = B[i] + T.float32(2)\n"
            "                      ^^^^^^^^^^^^");
  EXPECT_FALSE(first_difference(Expr(1), Expr(1)));
}

TEST(structural, a_picture_underlines_a_shared_node_only_where_it_differs) {
  const Expr x = var("x");
  const auto difference = first_difference((x + 3) * (x - 3), (x + 3) * (x - 4));
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->path, "b.b");
  EXPECT_EQ(difference->picture_a,
            "x = T.int32()\n"
            "(x + 3) * (x - 3)\n"
            "               ^");
}

TEST(structural, differences_of_every_kind_are_named) {
  const auto told = [](const Ref& a, const Ref& b) {
    const auto difference = first_difference(a, b);
    return difference->path + "|" + difference->what;
  };
  const auto i = var("i"), j = var("j");
  const auto loop = [&](ForKind kind, Attrs attrs = {}) {
    return make(For{.loop_var = i,
                    .min = 0,
                    .extent = 8,
                    .kind = kind,
                    .annotations = attrs,
                    .body = make(Break{})});
  };
  EXPECT_EQ(told(Expr(i), Expr(i + 1)), "|Var i != Add i + 1");
  EXPECT_EQ(told(i + 1, j + 1), "a|Var i is not what Var j stands for");
  EXPECT_EQ(told(loop(ForKind::serial), loop(ForKind::parallel)), "|For.kind serial != parallel");
  EXPECT_EQ(told(loop(ForKind::serial, {{"x", Expr(1)}}), loop(ForKind::serial)),
            "|annotations[\"x\"] is missing in b");
  EXPECT_EQ(told(loop(ForKind::serial), loop(ForKind::serial, {{"x", Expr(1)}})),
            "|annotations[\"x\"] is missing in a");
  EXPECT_EQ(told(loop(ForKind::serial, {{"x", Expr(1)}}), loop(ForKind::serial, {{"x", Expr(2)}})),
            "annotations[\"x\"]|IntImm 1 != IntImm 2");
  EXPECT_EQ(told(call(op("exp"), {var("f", f32)}), call(op("log"), {var("f", f32)})),
            "|Call.op exp != log");
  EXPECT_EQ(told(make(Return{.value = 1}), make(Return{})), "value|one is missing");
  const auto list = [](std::vector<Ref> items) { return make(List{.items = std::move(items)}); };
  EXPECT_EQ(told(list({Expr(1)}), list({Expr(1), Expr(2)})), "|1 elements of items != 2");
  EXPECT_EQ(told(list({Expr(1), Expr(3)}), list({Expr(1), Expr(2)})),
            "items[1]|IntImm 3 != IntImm 2");
}

TEST(structural, require_throws_the_difference) {
  try {
    require_structural_equal(Expr(1), Expr(2));
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), "structure_is_equal");
    EXPECT_EQ(error.problem(), "the two differ at IntImm 1 != IntImm 2\na:\n1\n^\nb:\n2\n^");
  }
}

TEST(structural, a_clone_is_equal_and_shares_no_definition) {
  const auto func = allocating(true);
  const auto copy = clone(func);
  EXPECT_TRUE(same(func, copy));
  EXPECT_FALSE(func->params[0].same_as(copy->params[0]));
}

}  // namespace
}  // namespace loopsmith
