// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/split.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"
#include "loopsmith/script/parse.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

TEST(split, puts_a_guard_where_the_factor_does_not_divide) {
  const auto func = two_stages();
  Schedule sch(func);
  const auto loops = get_loops(sch, get_block(sch, "C"));
  const auto [outer, inner] = split(sch, loops[1], {infer, 24}).take<2>();
  EXPECT_EQ(sch.name(outer), "j_0");
  EXPECT_EQ(body_of(sch), R"(    B = T.alloc_buffer((96, 64))
    for i, j in T.grid(96, 64):
        with T.block("B"):
            v_i, v_j = T.axis.remap("SS", [i, j])
            T.reads(A[v_i, v_j])
            T.writes(B[v_i, v_j])
            B[v_i, v_j] = A[v_i, v_j] + T.float32(1)
    for i, j_0, j_1 in T.grid(96, 3, 24):
        with T.block("C"):
            v_i = T.axis.spatial(96, i)
            v_j = T.axis.spatial(64, j_0 * 24 + j_1)
            T.where(j_0 * 24 + j_1 < 64)
            T.reads(B[v_i, v_j])
            T.writes(C[v_i, v_j])
            C[v_i, v_j] = B[v_i, v_j] * T.float32(2)
)");
  expect_replays(sch, func);
}

TEST(split, leaves_the_guard_out_where_factors_divide) {
  Schedule sch(two_stages());
  const auto loops = get_loops(sch, get_block(sch, "C"));
  split(sch, loops[0], {2, infer, 8});
  const std::string text = body_of(sch);
  EXPECT_NE(text.find("for i_0, i_1, i_2, j in T.grid(2, 6, 8, 64)"), std::string::npos) << text;
  EXPECT_NE(text.find("v_i = T.axis.spatial(96, i_0 * 48 + i_1 * 8 + i_2)"), std::string::npos);
  EXPECT_EQ(text.find("T.where"), std::string::npos);
}

TEST(split, gives_the_names_that_are_asked_for_and_unique_ones_otherwise) {
  Schedule sch(two_stages());
  const auto first = get_loops(sch, get_block(sch, "B"));
  const auto second = get_loops(sch, get_block(sch, "C"));
  const auto named = split(sch, first[0], {infer, 8}, std::vector<std::string>{"io", "ii"});
  EXPECT_EQ(sch.name(named[0]), "io");
  EXPECT_EQ(sch.name(split(sch, first[1], {infer, 8})[0]), "j_0");
  EXPECT_EQ(sch.name(split(sch, second[1], {infer, 8})[0]), "j_0_1");
  EXPECT_EQ(get_loop(sch, "io"), named[0]);
}

TEST(split, counts_the_iterations_of_a_loop_with_start_and_step) {
  const auto i = var("i");
  const auto a = decl_buffer({100}, f32, "A");
  For loop{
      .loop_var = i, .min = 1, .extent = 10, .step = 3, .body = store(a, float_imm(f32, 1), {i})};
  const auto func = make(PrimFunc{
      .params = {pointer_var("a", f32)}, .buffer_map = {a}, .body = make(std::move(loop))});
  Schedule sch(func);
  split(sch, get_loop(sch, "i"), {infer, 4});
  EXPECT_NE(body_of(sch).find(R"(    for i_0, i_1 in T.grid(3, 4):
        if i_0 * 4 + i_1 < 10:
            A[i_0 * 12 + i_1 * 3 + 1] = T.float32(1)
)"),
            std::string::npos)
      << body_of(sch);
}

TEST(split, refuses_factors_that_do_not_fit) {
  Schedule sch(two_stages());
  const auto loops = get_loops(sch, get_block(sch, "C"));
  const LoopRV i = loops[0];
  EXPECT_EQ(error_of([&] { split(sch, i, {infer, 0}); }),
            "number_is_in_range: split: factor 1 of loop i is 0, not positive");
  EXPECT_EQ(error_of([&] { split(sch, i, {infer, -1}); }),
            "arguments_fit: split: loop i: only one factor can be specified as -1 or None");
  EXPECT_EQ(error_of([&] { split(sch, i, {4, 8}); }),
            "arguments_fit: split: the product of factors is 32, less than the extent 96 of "
            "loop i");
  EXPECT_EQ(error_of([&] { split(sch, i, {infer, 8}, std::vector<std::string>{"io"}); }),
            "arguments_fit: split: 1 names are given for 2 factors");
  annotate(sch, i, "note", 1);
  EXPECT_EQ(error_of([&] { split(sch, i, {infer, 8}); }),
            "loop_is_plain: split: loop i has annotations or is bound to a thread");
  EXPECT_EQ(sch.steps().size(), 3u);
}

constexpr const char* over_a_size = R"(@T.prim_func
def main(a: T.handle, f: T.int32):
    n = T.int32()
    A = T.match_buffer(a, (n, 8), "int32")
    for i, j in T.grid(n, 8):
        with T.block("A"):
            v, w = T.axis.remap("SS", [i, j])
            A[v, w] = 1)";

TEST(split, takes_factors_of_sizes) {
  const auto func = parse_function(over_a_size);
  Schedule sch(func);
  const auto [outer, inner] = split(sch, get_loop(sch, "i"), {infer, func->params[1]}).take<2>();
  parallel(sch, outer);
  const std::string text = body_of(sch);
  EXPECT_NE(text.find("i_0 in T.parallel((n - 1) // T.max(f, 1) + 1)"), std::string::npos) << text;
  EXPECT_NE(text.find("i_1, j in T.grid(T.max(f, 1), 8)"), std::string::npos) << text;
  EXPECT_NE(text.find("T.where(i_0 * T.max(f, 1) + i_1 < n)"), std::string::npos) << text;
  EXPECT_NE(sch.trace().text().find(R"(factors=[None, tir.Var("f", "int32")])"), std::string::npos)
      << sch.trace().text();
  expect_replays(sch, func);
}

TEST(split, refuses_factors_that_are_not_of_sizes) {
  const auto func = parse_function(over_a_size);
  Schedule sch(func);
  const LoopRV i = get_loop(sch, "i");
  const Expr f = func->params[1];
  EXPECT_EQ(error_of([&] { split(sch, i, {infer, sch.get(get_loop(sch, "j")).loop_var}); }),
            "argument_has_type: split: factor 1 of loop i is j, which reads j, no size of the "
            "function");
  EXPECT_EQ(error_of([&] { split(sch, i, {infer, cast(f32, f)}); }),
            "argument_has_type: split: factor 1 of loop i is T.Cast(\"float32\", f), of type "
            "float32, but the loop counts in int32");
  EXPECT_EQ(error_of([&] { split(sch, i, {f, 4}); }),
            "arguments_fit: split: the product of factors is T.max(f, 1) * 4, less than "
            "the extent n of loop i");
}

TEST(split, refuses_bounds_that_the_body_changes) {
  Schedule sch(parse_function(R"(@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((64,), "int32")):
    for i in range(A[0], A[0] + 8):
        A[0] = 5
        for j in range(A[1]):
            B[i] = B[i] + j)"));
  const LoopRV i = get_loop(sch, "i"), j = get_loop(sch, "j");
  EXPECT_EQ(error_of([&] { split(sch, i, {infer, 4}); }),
            "step_keeps_results: split: results may change: the bounds of loop i read what the "
            "body of loop i writes");
  split(sch, j, {infer, 4});  // A is not written inside.
}

TEST(split, takes_its_loop_out_of_all_that_is_inside) {
  const auto before = parse_function(R"(@T.prim_func
def main(A: T.Buffer((8, 64), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("outer"):
            T.reads(A[i, 0:64])
            T.writes(B[i])
            S = T.alloc_buffer((i + 1, 8), "int32")
            V = T.match_buffer(A[i, 0:i * 8 + 8], (i * 8 + 8,), elem_offset=i * 64)
            W = T.decl_buffer((i + 1,), "int32", data=A.data, elem_offset=i * 64)
            for j in range(i + 1):
                with T.block("inner"):
                    vj = T.axis.spatial(8, j)
                    S[vj, 0] = V[vj] + W[vj // 8]
            B[i] = S[i, 0])");
  for (const int factor : {4, 3}) {
    Schedule sch(before);
    split(sch, get_loop(sch, "i"), {infer, factor});
    verify_well_formed(sch.func());
    sch.check_tree();
    expect_result(sch, before);
    get_loops(sch, get_block(sch, "inner"));
  }
  Schedule sch(before);
  const LoopRV i = get_loop(sch, "i");
  split(sch, i, {infer, 4});
  fuse(sch, sch.became(i));
  verify_well_formed(sch.func());
  expect_result(sch, before);
}

TEST(split, tiles_reductions_that_are_never_empty) {
  const auto before = parse_function(R"(@T.prim_func
def main(A: T.Buffer((9, 9), "int32"), C: T.Buffer((9,), "int32")):
    for i in range(9):
        for k in range(9 - i):
            with T.block("C"):
                vi = T.axis.spatial(9, i)
                vk = T.axis.reduce(9 - i, k)
                with T.init():
                    C[vi] = 7
                C[vi] = C[vi] + A[vi, vk])");
  Schedule sch(before);
  const Handles<LoopRV> rows = split(sch, get_loop(sch, "i"), {infer, 4});
  const Handles<LoopRV> steps = split(sch, get_loop(sch, "k"), {infer, 4});
  expect_result(sch, before);
  reorder(sch, {rows[0], steps[0], rows[1], steps[1]});
  expect_result(sch, before);
}

TEST(split, refuses_numbers_that_do_not_fit) {
  Schedule sch(parse_function(R"(@T.prim_func
def main(a: T.handle):
    n = T.int32(is_size_var=True)
    A = T.match_buffer(a, (n,))
    for i in range(n):
        A[i] = T.float32(0))"));
  const LoopRV i = get_loop(sch, "i");
  const std::int64_t large = std::int64_t{1} << 31;
  EXPECT_FALSE(split.can_apply(sch, {.loop = i, .factors = {infer, large}}));
  EXPECT_EQ(error_of([&] { split(sch, i, {infer, large}); }),
            "numbers_fit_their_types: split: numbers of the program would be too large: constant "
            "2147483648 is out of the range of int32");
  // Two that fit, and a product that does not.
  const Handles<LoopRV> parts = split(sch, i, {infer, large / 2});
  EXPECT_EQ(error_of([&] { split(sch, parts[0], {infer, 1 << 20}); }).substr(0, 23),
            "numbers_fit_their_types");
  EXPECT_EQ(sch.steps().size(), 2u);
}

TEST(split, leaves_a_tombstone) {
  Schedule sch(two_stages());
  const auto loops = get_loops(sch, get_block(sch, "C"));
  split(sch, loops[0], {infer, 8}, std::vector<std::string>{"io", "ii"});
  EXPECT_EQ(error_of([&] { split(sch, loops[0], {infer, 4}); }),
            "handle_is_alive: split: loop i was split at step 3 into io, ii");
}

}  // namespace
}  // namespace loopsmith
