// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/walk.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/well_formed.h"

namespace loopsmith {
namespace walk_test {

const auto x = var("x"), y = var("y");

Stmt evaluate(Expr value) {
  return make(Evaluate{.value = std::move(value)});
}

TEST(rewriter, what_does_not_change_keeps_its_identity) {
  Rewriter nothing;
  const Stmt loop = for_loop(x, 0, 8, evaluate(x + y));
  EXPECT_TRUE(nothing(loop).same_as(loop));
  Rewriter rewrite;
  rewrite.on<Add>([&](const Add& add) -> Expr { return rewrite(add.b); });
  const Stmt two = make(SeqStmt{.seq = {evaluate(x * y), evaluate(x + y)}});
  const Stmt result = rewrite(two);
  const auto& seq = result.as<SeqStmt>()->seq;
  EXPECT_TRUE(seq[0].same_as(two.as<SeqStmt>()->seq[0]));
  EXPECT_EQ(to_string(seq[1]), "T.evaluate(y)");
}

TEST(rewriter, a_rule_is_called_once_for_a_shared_node) {
  int calls = 0;
  Rewriter rewrite;
  rewrite.on<Mul>([&](const Mul& mul) -> Expr {
    ++calls;
    return rewrite.children(mul);
  });
  const Expr shared = x * y;
  rewrite((shared + shared) + shared);
  EXPECT_EQ(calls, 1);
  rewrite.forget();
  rewrite(shared + 1);
  EXPECT_EQ(calls, 2);
}

TEST(rewriter, a_new_node_takes_the_span_of_the_one_it_replaces) {
  const Span place{source_id("walk_test.py"), 7};
  Expr sum;
  {
    const SpanScope scope(place);
    sum = x + 1;
  }
  Rewriter rewrite;
  rewrite.on<Add>([&](const Add& add) -> Expr { return add.a * y; });
  EXPECT_EQ(rewrite(sum).span(), place);
  EXPECT_EQ(substitute(sum, {{x, y}}).span(), place);
}

TEST(rewriter, a_result_that_breaks_a_rule_is_refused) {
  Rewriter rewrite;
  rewrite.on<Var>([](const Var&) -> Expr { return var("w", i64); });
  EXPECT_THROW(rewrite(x + 1), UserError);
}

TEST(rewriter, a_buffer_whose_size_changes_is_replaced_where_it_is_defined_and_used) {
  const auto n = var("n");
  const auto A = decl_buffer({n}, f32, "A");
  const auto block = make(
      Block{.name_hint = "root", .alloc_buffers = {A}, .body = store(A, float_imm(f32, 0), {n})});
  const Stmt result = substitute(make(BlockRealize{.block = block}), {{n, 16}});
  const auto& fresh = *result.as<BlockRealize>()->block;
  EXPECT_FALSE(fresh.alloc_buffers[0].same_as(A));
  EXPECT_TRUE(fresh.body.as<BufferStore>()->buffer.same_as(fresh.alloc_buffers[0]));
  EXPECT_EQ(to_string(fresh.body), "A[16] = T.float32(0)");
  EXPECT_EQ(*as_int(fresh.alloc_buffers[0]->shape[0]), 16);
}

TEST(rewriter, outermost_expressions_have_a_rule_of_their_own) {
  const auto n = var("n");
  const auto A = decl_buffer({n}, f32, "A");
  const Stmt body = make(DeclBuffer{.buffer = A, .body = store(A, load(A, {x + n}), {x * 2})});
  Rewriter rewrite;
  std::vector<std::string> seen;
  rewrite.on<Var>([&](const Var& v) -> Expr { return &v == n.get() ? Expr(16) : Expr(&v); });
  rewrite.on_outermost([&](const Expr& e) {
    seen.push_back(to_string(e));
    return rewrite.inside(e);
  });
  const Stmt result = rewrite(body);
  EXPECT_EQ(seen, (std::vector<std::string>{"A[x + n]", "x * 2"}));  // Neither n nor x.
  const auto& fresh = *result.as<DeclBuffer>();
  EXPECT_EQ(*as_int(fresh.buffer->shape[0]), 16);
  const auto& element = *fresh.body.as<BufferStore>();
  EXPECT_TRUE(element.buffer.same_as(fresh.buffer));
  EXPECT_TRUE(element.value.as<BufferLoad>()->buffer.same_as(fresh.buffer));
  EXPECT_EQ(to_string(element.value.as<BufferLoad>()->indices[0]), "x + 16");
}

TEST(substitute, replaces_uses_only) {
  const Stmt loop = for_loop(x, 0, y, evaluate(x + y));
  EXPECT_EQ(to_string(substitute(loop, {{y, 3}})), "for x in range(3):\n    T.evaluate(x + 3)");
  EXPECT_TRUE(substitute(loop, {}).same_as(loop));
  EXPECT_EQ(to_string(substitute(x + y, {{x, y}, {y, x}})), "y + x");
}

TEST(substitute, gives_values_the_type_of_the_variable) {
  const auto wide = var("wide", i64);
  const Expr result = substitute(x + y, {{x, wide}});
  EXPECT_EQ(result.dtype(), i32);
  EXPECT_EQ(to_string(result), "T.Cast(\"int32\", wide) + y");
}

TEST(clone, renews_each_definition_and_shares_nothing) {
  const auto A = decl_buffer({8}, f32, "A");
  const auto T = decl_buffer({8}, f32, "T");
  const auto vi = make(IterVar{.dom = range(0, 8), .var = var("vi")});
  const auto block = make(Block{.iter_vars = {vi},
                                .name_hint = "b",
                                .alloc_buffers = {T},
                                .body = store(T, load(A, {vi->var}), {vi->var})});
  const auto i = var("i");
  const Stmt loop = for_loop(i, 0, 8, make(BlockRealize{.iter_values = {i + y}, .block = block}));
  const Stmt copy = clone_with(loop, {{y, 5}});
  EXPECT_EQ(to_string(copy.as<For>()->body.as<BlockRealize>()->iter_values[0]), "i + 5");
  const auto func = [&](std::vector<Stmt> body) {
    const auto a = var("a", handle_type);
    return make(
        PrimFunc{.params = {a, y}, .buffer_map = {A, nullptr}, .body = seq(std::move(body))});
  };
  verify_well_formed(func({loop, copy}));
  EXPECT_FALSE(is_well_formed(func({loop, loop})));
  EXPECT_TRUE(structural_equal(clone_with(loop, {}), loop));
}

TEST(clone, of_a_function_renews_the_sizes_that_its_buffers_define) {
  const auto n = var("n"), a = var("a", handle_type);
  const auto A = decl_buffer({n}, f32, "A");
  const auto func = make(PrimFunc{.params = {a},
                                  .buffer_map = {A},
                                  .body = for_loop(x, 0, n, store(A, load(A, {x}), {n - x - 1}))});
  const auto copy = clone(func);
  EXPECT_FALSE(copy->buffer_map[0]->shape[0].same_as(n));
  EXPECT_TRUE(copy->body.as<For>()->extent.same_as(copy->buffer_map[0]->shape[0]));
  EXPECT_TRUE(structural_equal(func, copy));
  const auto name = [](const char* text) { return make(GlobalVar{.name_hint = text}); };
  verify_well_formed(make(IRModule{.names = {name("f"), name("g")}, .functions = {func, copy}}));
}

TEST(clone, of_a_view_keeps_the_pointer_that_is_defined_around_it) {
  const auto p = pointer_var("p", f32);
  const auto B = make(Buffer{.data = p, .dtype = f32, .shape = {8}, .name = "B"});
  const Stmt view = make(DeclBuffer{.buffer = B, .body = store(B, float_imm(f32, 0), {0})});
  const Stmt copy = clone_with(view, {});
  EXPECT_FALSE(copy.as<DeclBuffer>()->buffer.same_as(B));
  EXPECT_TRUE(copy.as<DeclBuffer>()->buffer->data.same_as(p));
  EXPECT_TRUE(
      copy.as<DeclBuffer>()->body.as<BufferStore>()->buffer.same_as(copy.as<DeclBuffer>()->buffer));
  EXPECT_TRUE(free_variables(view)[0].same_as(p));
  EXPECT_TRUE(structural_equal(view, copy));
  const Stmt whole = make(
      Allocate{.dtype = f32, .extents = {8}, .condition = true, .buffer_var = p, .body = view});
  const Stmt whole_copy = clone_with(whole, {});
  EXPECT_FALSE(whole_copy.as<Allocate>()->buffer_var.same_as(p));
  EXPECT_TRUE(whole_copy.as<Allocate>()->body.as<DeclBuffer>()->buffer->data.same_as(
      whole_copy.as<Allocate>()->buffer_var));
}

TEST(walk, visits_each_node_once_but_leaves_in_order) {
  const Expr shared = x + 1;
  const Stmt stmt = make(LetStmt{.value = shared, .var = y, .body = evaluate(y * shared)});
  std::string before, after;
  pre_order_visit(stmt, [&](const Ref& ref) {
    before += fmt::format("{} ", node_info(*ref.get()).name);
    return true;
  });
  post_order_visit(
      stmt, [&](const Ref& ref) { after += fmt::format("{} ", node_info(*ref.get()).name); });
  EXPECT_EQ(before, "LetStmt Add Var IntImm Var Evaluate Mul Var ");
  EXPECT_EQ(after, "Var IntImm Add Var Var Mul Evaluate LetStmt ");
}

TEST(walk, enters_expressions_for_rules_on_what_is_in_them) {
  const auto a = decl_buffer({8}, f32, "A"), b = decl_buffer({8}, f32, "B");
  const Stmt stmt = for_loop(x, 0, 8, store(a, load(a, {x + 1}), {x}));
  Rewriter rewrite;
  int loops = 0;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    ++loops;
    rewrite.replace_buffer(a, b);  // From here on, expressions are of interest.
    return rewrite.children(loop);
  });
  EXPECT_TRUE(structural_equal(rewrite(stmt), for_loop(x, 0, 8, store(b, load(b, {x + 1}), {x}))));
  EXPECT_EQ(loops, 1);
  Rewriter statements;
  statements.on<For>([&](const For& loop) -> Stmt { return statements.children(loop); });
  EXPECT_TRUE(statements(stmt).same_as(stmt));
}

TEST(walk, says_what_a_node_defines) {
  std::string roles;
  for_each_child(*for_loop(x, 0, 8, evaluate(x)).get(), [&](const Ref& ref, Role role) {
    roles += fmt::format("{}{} ", is_definition(role) ? "!" : "", brief(ref));
  });
  EXPECT_EQ(roles, "!x 0 8 1 T.evaluate(x) ");
}

TEST(walk, finds_free_variables_and_buffers_in_order) {
  const auto A = decl_buffer({8}, f32, "A");
  const auto i = var("i"), z = var("z");
  const Stmt loop = for_loop(i, y, z, store(A, load(A, {i}), {i + z}));
  const auto variables = free_variables(loop);
  ASSERT_EQ(variables.size(), 3U);
  EXPECT_TRUE(variables[0].same_as(y));
  EXPECT_TRUE(variables[1].same_as(z));
  EXPECT_TRUE(variables[2].same_as(A->data));
  ASSERT_EQ(free_buffers(loop).size(), 1U);
  EXPECT_TRUE(uses_variable(loop, z));
  EXPECT_FALSE(uses_variable(loop, var("z")));
}

TEST(walk, stamps_what_has_no_span_and_is_not_shared) {
  const Span place{source_id("walk_test.py"), 9};
  const Expr shared = x + 1;
  const Expr e = (x * 5) + shared;
  stamp(e, place);
  EXPECT_EQ(e.span(), place);
  EXPECT_EQ(e.as<Add>()->a.span(), place);
  EXPECT_FALSE(shared.span().known());
}

}  // namespace walk_test
}  // namespace loopsmith
