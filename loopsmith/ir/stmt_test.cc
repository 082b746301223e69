// SPDX-License-Identifier: Apache-2.0
// What statements, buffers and functions check, and how they are built.
#include "loopsmith/ir/stmt.h"

#include <gtest/gtest.h>

#include <functional>

#include "loopsmith/ir/function.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/support/testing/refusal.h"

namespace loopsmith {
namespace stmt_test {

using testing::refusal;

struct Mistake {
  std::function<void()> build;
  const char* refusal;
};

const Expr x = var("x"), f = var("f", f32), c = var("c", boolean);

Stmt mark(int value) {
  return make(Evaluate{.value = value});
}

Ptr<Buffer> buffer_with(std::function<void(Buffer&)> change) {
  Buffer buffer{.data = pointer_var("A", f32), .dtype = f32, .shape = {8, 8}, .name = "A"};
  change(buffer);
  return make(std::move(buffer));
}

TEST(stmt, mistakes_are_refused_by_what_is_wrong) {
  const auto A = decl_buffer({8}, f32, "A");
  const auto i = var("i");
  const auto p = pointer_var("p", f32);
  const auto block = make(Block{.name_hint = "b", .body = mark(1)});
  const auto allocate_const = [&](std::vector<std::int64_t> extents, std::vector<Expr> data) {
    make(AllocateConst{
        .dtype = i8, .extents = extents, .data = data, .buffer_var = p, .body = mark(1)});
  };
  const Mistake mistakes[] = {
      {[] { make(LetStmt{.value = f, .var = var("v"), .body = mark(1)}); },
       "let_has_type_of_value: let: variable v is int32, its value float32"},
      {[] { make(AssertStmt{.condition = x, .message = string_imm(""), .body = mark(1)}); },
       "condition_is_bool: assert: the condition is int32, not bool"},
      {[] { make(AssertStmt{.condition = c, .message = x, .body = mark(1)}); },
       "message_is_text: assert: the message is int32, not a text"},
      {[&] { store(A, x, {0}); },
       "store_has_type_of_buffer: store: buffer A takes float32, the value is int32"},
      {[&] { make(Allocate{.dtype = f32, .condition = x, .buffer_var = p, .body = mark(1)}); },
       "condition_is_bool: allocate: the condition is int32, not bool"},
      {[&] { make(Allocate{.dtype = f32, .condition = true, .buffer_var = i, .body = mark(1)}); },
       "buffer_data_is_pointer: allocate: i is int32, not a pointer"},
      {[&] { allocate_const({2, 2}, {int_imm(i8, 1)}); },
       "constant_fills_extents: allocate_const: 1 elements do not fill extents [2, 2]"},
      {[&] { allocate_const({std::int64_t{1} << 62, 4}, {}); },
       "constant_fills_extents: allocate_const: 0 elements do not fill extents "
       "[4611686018427387904, 4]"},
      {[&] { allocate_const({1}, {Expr(1)}); },
       "constant_has_type: allocate_const: an element is 1, not a constant of type int8"},
      {[] { make(SeqStmt{.seq = {mark(1)}}); },
       "sequence_of_two: SeqStmt: 1 statements, at least 2 are needed"},
      {[] { make(IfThenElse{.condition = x, .then_case = mark(1)}); },
       "condition_is_bool: if: the condition is int32, not bool"},
      {[] { make(While{.condition = x, .body = mark(1)}); },
       "condition_is_bool: while: the condition is int32, not bool"},
      {[] { for_loop(var("i", f32), 0, 8, mark(1)); },
       "loop_over_integers: loop i is float32, not an integer"},
      {[&] { for_loop(i, 0, var("n", i64), mark(1)); },
       "loop_bounds_have_one_type: loop i is int32, one of its bounds int64"},
      {[&] { make(For{.loop_var = i, .min = 0, .extent = 8, .step = 0, .body = mark(1)}); },
       "step_is_not_zero: loop i has step 0"},
      {[&] { for_loop(i, 0, 8, mark(1), ForKind::thread_binding); },
       "thread_loop_has_thread: loop i: kind and thread_binding do not fit"},
      {[&] { make(Prefetch{.buffer = A}); },
       "one_range_a_dimension: prefetch: buffer A has 1 dimensions, 0 ranges were given"},
      {[&] { make(BlockRealize{.iter_values = {x}, .block = block}); },
       "one_value_an_axis: block b: 1 values for 0 axes"},
      {[&] { make(BlockRealize{.predicate = x, .block = block}); },
       "condition_is_bool: block: the condition is int32, not bool"},
  };
  for (const Mistake& mistake : mistakes) EXPECT_EQ(refusal(mistake.build), mistake.refusal);
}

TEST(buffer, mistakes_are_refused_by_what_is_wrong) {
  const auto A = decl_buffer({8, 8}, f32, "A");
  const auto region = whole_region(A);
  const Mistake mistakes[] = {
      {[] { buffer_with([](Buffer& b) { b.data = var("p"); }); },
       "buffer_data_is_pointer: buffer A: its data is int32, not a pointer"},
      {[] { buffer_with([](Buffer& b) { b.dtype = void_type; }); },
       "buffer_has_type: buffer A has type void"},
      {[] { buffer_with([](Buffer& b) { b.shape[1] = f; }); },
       "shape_is_integer: buffer A: dimension 1 is float32, not an integer"},
      {[] { buffer_with([](Buffer& b) { b.shape[1] = -2; }); },
       "shape_is_not_negative: buffer A: dimension 1 is -2, negative"},
      {[] { buffer_with([](Buffer& b) { b.strides = {1}; }); },
       "one_stride_a_dimension: buffer A: 1 strides for 2 dimensions"},
      {[] { buffer_with([](Buffer& b) { b.strides = {8, f}; }); },
       "buffer_layout_is_integer: buffer A: a stride is float32, not an integer"},
      {[] { buffer_with([](Buffer& b) { b.elem_offset = f; }); },
       "buffer_layout_is_integer: buffer A: elem_offset is float32, not an integer"},
      {[] { buffer_with([](Buffer& b) { b.data_alignment = 0; }); },
       "alignment_is_positive: buffer A: data_alignment is 0, offset_factor 1"},
      {[] { buffer_with([](Buffer& b) { b.axis_separators = {1, 1}; }); },
       "separators_increase: buffer A: axis_separators [1, 1] do not increase"},
      {[] { buffer_with([](Buffer& b) { b.axis_separators = {3}; }); },
       "separators_in_range: buffer A: axis_separators [3] for 2 dimensions"},
      {[&] { point_region(A, {0}); },
       "one_range_a_dimension: region: buffer A has 2 dimensions, 1 ranges were given"},
      {[&] { make(MatchBufferRegion{.source = region, .buffer = decl_buffer({8, 8}, f16, "B")}); },
       "view_is_like_source: match_buffer: B is float16 in global, its source A is float32 in "
       "global"},
      {[&] {
         make(MatchBufferRegion{.source = region, .buffer = decl_buffer({1, 8, 8}, f32, "B")});
       },
       "view_is_like_source: match_buffer: B has 3 dimensions, its source A has 2"},
  };
  for (const Mistake& mistake : mistakes) EXPECT_EQ(refusal(mistake.build), mistake.refusal);
}

TEST(buffer, parts_and_defaults) {
  const Expr n = var("n");
  const auto A = decl_buffer({n, 4, 8}, f32, "A", "shared");
  EXPECT_EQ(A->scope(), "shared");
  EXPECT_EQ(decl_buffer({4})->scope(), "global");
  EXPECT_EQ(A->data->pointer->element, f32);
  EXPECT_EQ(decl_buffer({4})->data->pointer->storage_scope, "global");
  const auto strides = strides_of(*A);
  EXPECT_EQ(*as_int(strides[0]), 32);
  EXPECT_EQ(*as_int(strides[1]), 8);
  EXPECT_EQ(*as_int(strides[2]), 1);
  EXPECT_TRUE(strides_of(*decl_buffer({})).empty());
  EXPECT_EQ(*as_int(element_count(*decl_buffer({2, 3}))), 6);
  EXPECT_FALSE(buffer_with([](Buffer& b) { b.elem_offset = 0; })->elem_offset.defined());
}

TEST(stmt, sequences_are_flat) {
  const Stmt flat = seq({mark(1), seq({mark(2), no_op(), mark(3)}), Stmt()});
  // Evaluate(constant) does nothing, and is dropped.
  EXPECT_TRUE(is_no_op(flat));
  const auto A = decl_buffer({8}, i32, "A");
  const auto put = [&](int i) { return store(A, i, {i}); };
  const Stmt four = seq({put(0), seq({put(1), put(2)}), put(3)});
  EXPECT_EQ(four.as<SeqStmt>()->seq.size(), 4U);
  EXPECT_TRUE(is_no_op(seq({})));
  EXPECT_TRUE(seq({put(1)}).is<BufferStore>());
  const Stmt inner = make(SeqStmt{.seq = {put(0), put(1)}});
  EXPECT_EQ(make(SeqStmt{.seq = {inner, put(2)}})->seq.size(), 3U);
}

TEST(stmt, loop_bounds_that_are_literals_take_the_type_of_the_variable) {
  const Stmt loop = for_loop(var("i", i64), 0, 8, mark(1));
  EXPECT_EQ(loop.as<For>()->extent.dtype(), i64);
  EXPECT_EQ(loop.as<For>()->step.dtype(), i64);
}

TEST(attrs, are_sorted_and_changed_by_copy) {
  const Attrs attrs{{"b", Expr(1)}, {"a", string_imm("x")}};
  EXPECT_EQ(attrs.begin()->first, "a");
  EXPECT_EQ(attrs.get_int("b", 7), 1);
  EXPECT_EQ(attrs.get_int("a", 7), 7);
  EXPECT_EQ(attrs.get_string("a"), "x");
  EXPECT_EQ(attrs.get_string("z", "none"), "none");
  EXPECT_EQ(attrs.with("b", nullptr).size(), 1U);
  EXPECT_EQ(attrs.with("c", Expr(2)).size(), 3U);
  EXPECT_EQ(attrs.with("b", Expr(5)).get_int("b", 0), 5);
  EXPECT_EQ(attrs.size(), 2U);
  EXPECT_FALSE(attrs.contains("c"));
}

TEST(function, mistakes_are_refused_by_what_is_wrong) {
  const auto func = make(PrimFunc{.body = mark(1)});
  const auto name = make(GlobalVar{.name_hint = "f"});
  const Mistake mistakes[] = {
      {[] {
         make(PrimFunc{
             .params = {var("a", handle_type)}, .buffer_map = {nullptr, nullptr}, .body = mark(1)});
       },
       "one_buffer_a_parameter: function main: 2 entries of buffer_map for 1 parameters"},
      {[] { make(PrimFunc{.params = {nullptr}, .body = mark(1)}); },
       "field_is_missing: function main: parameter 0 is missing"},
      {[] {
         make(PrimFunc{.params = {var("n")}, .buffer_map = {decl_buffer({8})}, .body = mark(1)});
       },
       "buffer_parameter_is_handle: function main: parameter n has a buffer but is int32, not a "
       "handle"},
      {[&] { make(IRModule{.names = {name}}); },
       "one_name_a_function: module: 1 names for 0 functions"},
      {[&] { make(IRModule{.names = {name, name}, .functions = {func, func}}); },
       "function_names_differ: module: two functions are called f"},
  };
  for (const Mistake& mistake : mistakes) EXPECT_EQ(refusal(mistake.build), mistake.refusal);
}

TEST(function, modules_are_sorted_and_searched_by_name) {
  const auto func = make(PrimFunc{.body = mark(1)}), other = make(PrimFunc{.body = mark(2)});
  const auto module = make(
      IRModule{.names = {make(GlobalVar{.name_hint = "main"}), make(GlobalVar{.name_hint = "f"})},
               .functions = {func, other}});
  EXPECT_TRUE(module->find("main").same_as(func));
  EXPECT_TRUE(module->functions[1].same_as(func));
  EXPECT_FALSE(module->find("g"));
  EXPECT_TRUE(with_body(func, func->body).same_as(func));
  EXPECT_EQ(with_attr(func, "global_symbol", string_imm("g"))->name(), "g");
}

TEST(function, a_root_block_is_needed_where_blocks_are_without_one) {
  const auto block = make(Block{.name_hint = "b", .body = mark(1)});
  const Stmt bare = make(BlockRealize{.block = block});
  const auto vi = make(IterVar{.dom = range(0, 8), .var = var("vi")});
  const Stmt with_axis = make(
      BlockRealize{.iter_values = {0},
                   .block = make(Block{.iter_vars = {vi}, .name_hint = "b", .body = mark(1)})});
  EXPECT_TRUE(needs_root_block(mark(1), true));
  EXPECT_FALSE(needs_root_block(mark(1), false));
  EXPECT_FALSE(needs_root_block(bare, false));
  EXPECT_TRUE(needs_root_block(with_axis, false));
  EXPECT_TRUE(needs_root_block(for_loop(var("i"), 0, 8, bare), false));
}

}  // namespace stmt_test
}  // namespace loopsmith
