// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/well_formed.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/support/testing/refusal.h"

namespace loopsmith {
namespace well_formed_test {

Ptr<PrimFunc> func_of(Stmt body, std::vector<Ptr<Var>> params = {}, DataType ret = void_type) {
  return make(PrimFunc{.params = std::move(params), .ret_type = ret, .body = std::move(body)});
}
Stmt evaluate(Expr value) {
  return make(Evaluate{.value = std::move(value)});
}
/// The first line of what a function is refused with.
std::string refusal(const Ptr<PrimFunc>& func) {
  const std::string text = testing::refusal([&] { verify_well_formed(func); });
  EXPECT_EQ(text.empty(), is_well_formed(func));
  return text.substr(0, text.find('\n'));
}
Ptr<Block> block_of(Stmt body, std::vector<Ptr<IterVar>> axes = {}) {
  return make(Block{.iter_vars = std::move(axes), .name_hint = "b", .body = std::move(body)});
}
Ptr<IterVar> axis() {
  return make(IterVar{.dom = range(0, 8), .var = var("v")});
}

TEST(well_formed, a_variable_is_used_where_it_is_defined) {
  const auto x = var("x"), i = var("i");
  EXPECT_EQ(refusal(func_of(evaluate(x + 1), {x})), "");
  EXPECT_EQ(refusal(func_of(evaluate(x + 1))), "use_of_undefined: undefined variable x");
  EXPECT_EQ(refusal(func_of(for_loop(i, 0, i, evaluate(1)))),
            "use_of_undefined: undefined variable i");
  const Stmt after = make(SeqStmt{.seq = {for_loop(i, 0, 8, evaluate(i * 2)), evaluate(i)}});
  EXPECT_EQ(refusal(func_of(after)),
            "use_outside_scope: variable i is used outside the scope of its definition");
  const Expr let = make(Let{.value = 1, .var = x, .body = x + 1});
  EXPECT_EQ(refusal(func_of(evaluate(let))), "");
  EXPECT_EQ(refusal(func_of(evaluate(let * let))), "");  // One expression in two places.
  const Expr again = make(Let{.value = 2, .var = x, .body = x + 1});
  EXPECT_EQ(refusal(func_of(evaluate(let * again))),
            "defined_once: multiple definitions of variable x");
  EXPECT_EQ(refusal(func_of(evaluate(let + x))),
            "use_outside_scope: variable x is used outside the scope of its definition");
}

TEST(well_formed, the_error_shows_the_place) {
  const auto A = decl_buffer({8}, f32, "A");
  const auto a = var("a", handle_type), i = var("i"), j = var("j");
  const Stmt body = for_loop(i, 0, 8, store(A, float_imm(f32, 0), {i + j}));
  const auto func = make(PrimFunc{.params = {a}, .buffer_map = {A}, .body = body});
  EXPECT_EQ(testing::refusal([&] { verify_well_formed(func); }),
            "use_of_undefined: undefined variable j\n"
            "...\n"
            "def main(A: T.Buffer((8,), \"float32\")):\n"
            "    for i in range(8):\n"
            "        A[i + j] = T.float32(0)\n"
            "              ^");
}

TEST(well_formed, a_variable_is_defined_once) {
  const auto x = var("x");
  const auto let = [&](Stmt body) -> Stmt {
    return make(LetStmt{.value = 1, .var = x, .body = std::move(body)});
  };
  EXPECT_EQ(refusal(func_of(let(let(evaluate(x))))),
            "defined_once: multiple nested definitions of variable x");
  EXPECT_EQ(refusal(func_of(make(SeqStmt{.seq = {let(evaluate(x)), let(evaluate(x))}}))),
            "defined_once: multiple definitions of variable x");
}

TEST(well_formed, a_thread_may_start_again) {
  const auto tx = var("tx");
  const auto launch = [&] {
    const auto thread = make(IterVar{.dom = range(0, 32),
                                     .var = tx,
                                     .iter_type = IterType::thread_index,
                                     .thread_tag = "threadIdx.x"});
    return Stmt(make(AttrStmt{
        .node = thread, .attr_key = "thread_extent", .value = 32, .body = evaluate(tx * 2)}));
  };
  EXPECT_EQ(refusal(func_of(make(SeqStmt{.seq = {launch(), launch()}}))), "");
}

TEST(well_formed, buffers_are_used_where_they_are_defined) {
  const auto A = decl_buffer({8}, f32, "A");
  const Stmt put = store(A, float_imm(f32, 0), {0});
  EXPECT_EQ(refusal(func_of(put)), "use_of_undefined: undefined buffer A = T.Buffer((8,))");
  const auto root = make(Block{.name_hint = "root", .alloc_buffers = {A}, .body = put});
  const Stmt inside = make(BlockRealize{.block = root});
  EXPECT_EQ(refusal(func_of(inside)), "");
  EXPECT_EQ(
      refusal(func_of(make(SeqStmt{.seq = {inside, put}}))),
      "use_outside_scope: buffer A = T.Buffer((8,)) is used outside the scope of its definition");

  const auto B =
      make(Buffer{.data = pointer_var("p", f32), .dtype = f32, .shape = {8}, .name = "B"});
  const Stmt view = make(DeclBuffer{.buffer = B, .body = store(B, float_imm(f32, 0), {0})});
  EXPECT_EQ(refusal(func_of(view)), "use_of_undefined: undefined variable p");
  EXPECT_EQ(
      refusal(func_of(make(Allocate{
          .dtype = f32, .extents = {8}, .condition = true, .buffer_var = B->data, .body = view}))),
      "");
}

TEST(well_formed, parameters_define_the_sizes_that_they_match) {
  const auto n = var("n"), a = var("a", handle_type);
  const auto A = decl_buffer({n}, f32, "A"), T = decl_buffer({n + 1}, f32, "T");
  const auto root = make(Block{.name_hint = "root", .alloc_buffers = {T}, .body = evaluate(n * 2)});
  const Stmt body = make(BlockRealize{.block = root});
  EXPECT_EQ(refusal(make(PrimFunc{.params = {a}, .buffer_map = {A}, .body = body})), "");
  EXPECT_EQ(refusal(func_of(body)), "use_of_undefined: undefined variable n");
}

TEST(well_formed, a_block_with_axes_reads_no_loop_variable_from_around_it) {
  const auto i = var("i"), j = var("j");
  const auto realize = [&](Stmt body, bool with_axis) -> Stmt {
    if (!with_axis) return make(BlockRealize{.block = block_of(std::move(body))});
    return make(BlockRealize{.iter_values = {i}, .block = block_of(std::move(body), {axis()})});
  };
  EXPECT_EQ(refusal(func_of(for_loop(i, 0, 8, realize(evaluate(i * 2), false)))), "");
  EXPECT_EQ(refusal(func_of(for_loop(i, 0, 8, realize(for_loop(j, 0, 8, evaluate(j)), true)))), "");
  EXPECT_EQ(refusal(func_of(for_loop(i, 0, 8, realize(evaluate(i * 2), true)))),
            "block_is_isolated: loop variable i is used inside a block with axes; its loop is "
            "outside");
  const Stmt nested = realize(realize(evaluate(i * 2), false), true);
  EXPECT_EQ(refusal(func_of(for_loop(i, 0, 8, nested))),
            "block_is_isolated: loop variable i is used inside a block with axes; its loop is "
            "outside");
}

TEST(well_formed, jumps_stand_in_loops_and_returns_fit_the_function) {
  const auto x = var("x"), i = var("i");
  EXPECT_EQ(refusal(func_of(make(Break{}))),
            "jump_is_in_loop: break: no loop is around it in the same block");
  EXPECT_EQ(refusal(func_of(make(Continue{}))),
            "jump_is_in_loop: continue: no loop is around it in the same block");
  EXPECT_EQ(refusal(func_of(for_loop(i, 0, 8, make(Break{})))), "");
  EXPECT_EQ(refusal(func_of(make(While{.condition = true, .body = make(Break{})}))), "");
  const Stmt blocked = make(BlockRealize{.block = block_of(make(Break{}))});
  EXPECT_EQ(refusal(func_of(for_loop(i, 0, 8, blocked))),
            "jump_is_in_loop: break: no loop is around it in the same block");
  EXPECT_EQ(refusal(func_of(make(Return{.value = x}), {x}, i32)), "");
  EXPECT_EQ(refusal(func_of(make(Return{}))), "");
  EXPECT_EQ(refusal(func_of(make(Return{.value = x}), {x})),
            "return_has_type_of_function: return: the value is int32, the function returns void");
}

TEST(well_formed, functions_of_a_module_share_no_variable) {
  const auto x = var("x");
  const auto f = func_of(evaluate(x), {x}), g = func_of(evaluate(x), {x});
  const auto module =
      make(IRModule{.names = {make(GlobalVar{.name_hint = "f"}), make(GlobalVar{.name_hint = "g"})},
                    .functions = {f, g}});
  EXPECT_FALSE(is_well_formed(module));
  const std::string text = testing::refusal([&] { verify_well_formed(module); });
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "functions_share_nothing: variable x is defined in two functions");
}

}  // namespace well_formed_test
}  // namespace loopsmith
