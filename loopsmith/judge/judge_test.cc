// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/judge/judge.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"

namespace loopsmith::judge {
namespace {

Ptr<PrimFunc> function(std::vector<Ptr<Buffer>> buffers, Stmt body) {
  PrimFunc func{.buffer_map = std::move(buffers), .body = std::move(body)};
  for (const Ptr<Buffer>& buffer : func.buffer_map)
    func.params.push_back(var(buffer->name, handle_type));
  return make(std::move(func));
}

/// A block `sum`: S[i] += A[i, k] for its axes i and k, bound to `values`; the init stores 0.
Stmt sum_block(const Ptr<Buffer>& S, const Ptr<Buffer>& A, std::vector<Expr> values,
               Expr predicate = true) {
  const Ptr<Var> i = var("vi"), k = var("vk");
  Block block{.name_hint = "sum"};
  block.iter_vars = {
      make(IterVar{.dom = range(0, A->shape[0]), .var = i}),
      make(IterVar{.dom = range(0, A->shape[1]), .var = k, .iter_type = IterType::comm_reduce})};
  block.init = store(S, zero_of(S->dtype), {i});
  block.body = store(S, load(S, {i}) + load(A, {i, k}), {i});
  return make(BlockRealize{.iter_values = std::move(values),
                           .predicate = std::move(predicate),
                           .block = make(std::move(block))});
}

/// Arguments of constant shapes, each element another number.
std::vector<JudgeArgument> arguments_of(const PrimFunc& func) {
  std::vector<JudgeArgument> arguments;
  for (const Ptr<Buffer>& buffer : func.buffer_map) {
    JudgeArgument& argument = arguments.emplace_back();
    std::int64_t count = 1;
    for (const Expr& extent : buffer->shape) {
      argument.shape.push_back(*as_int(extent));
      count *= argument.shape.back();
    }
    for (std::int64_t e = 0; e < count; ++e) argument.elements.push_back(7 * e + 3);
  }
  return arguments;
}

JudgeResult run_on(const Ptr<PrimFunc>& func) {
  return run(*func, arguments_of(*func));
}

Judgement judged(const Ptr<PrimFunc>& before, const Ptr<PrimFunc>& after) {
  return same(*before, *after, arguments_of(*before), 1);
}

TEST(judge, runs_a_reduction_from_its_init_and_gives_the_sum) {
  const auto A = decl_buffer({2, 3}, i32, "A"), S = decl_buffer({2}, i32, "S");
  const Ptr<Var> i = var("i"), k = var("k");
  const auto func = function({A, S}, for_loop(i, 0, 2, for_loop(k, 0, 3, sum_block(S, A, {i, k}))));
  const std::vector<JudgeArgument> arguments = {{{2, 3}, {1, 2, 3, 40, 50, 60}}, {{2}, {7, 7}}};
  const JudgeResult result = run(*func, arguments);
  ASSERT_EQ(result.ending, Ending::ran) << result.message;
  EXPECT_EQ(result.tensors[1].elements, (std::vector<Scalar>{{6}, {150}}));
}

TEST(judge, gives_an_init_where_each_reduction_axis_has_its_least_value) {
  const auto A = decl_buffer({2, 3}, i32, "A"), S = decl_buffer({2}, i32, "S");
  const Ptr<Var> i = var("i"), k = var("k"), again = var("again");
  // The loop `again` is bound to no axis: each of its iterations starts the sum anew.
  const auto once = function({A, S}, for_loop(i, 0, 2, for_loop(k, 0, 3, sum_block(S, A, {i, k}))));
  const auto twice = function(
      {A, S}, for_loop(again, 0, 2, for_loop(i, 0, 2, for_loop(k, 0, 3, sum_block(S, A, {i, k})))));
  EXPECT_EQ(judged(once, twice).sameness, Sameness::same);
  // Where the least value is left out by the predicate, nothing starts it.
  const auto open =
      function({A, S}, for_loop(i, 0, 2, for_loop(k, 0, 3, sum_block(S, A, {i, k}, k >= 1))));
  const Judgement judgement = judged(once, open);
  EXPECT_EQ(judgement.sameness, Sameness::different) << judgement.reason;
}

TEST(judge, runs_the_init_of_a_reduction_over_nothing) {
  const auto A = decl_buffer({2, 0}, i32, "A"), S = decl_buffer({2}, i32, "S");
  const Ptr<Var> i = var("i"), k = var("k");
  // Under the loop that reduces and the condition on it, once for each i that the other one keeps.
  const Expr condition = i >= 1 && k >= 0;
  const auto func =
      function({A, S}, for_loop(k, 0, 0,
                                for_loop(i, 0, 2,
                                         make(IfThenElse{.condition = condition,
                                                         .then_case = sum_block(S, A, {i, k})}))));
  const std::vector<JudgeArgument> arguments = {{{2, 0}, {}}, {{2}, {7, 7}}};
  const JudgeResult result = run(*func, arguments);
  ASSERT_EQ(result.ending, Ending::ran) << result.message;
  EXPECT_EQ(result.tensors[1].elements, (std::vector<Scalar>{{7}, {0}}));
}

TEST(judge, tells_orders_of_a_parallel_loop_apart) {
  const auto A = decl_buffer({5}, f32, "A");
  const Ptr<Var> i = var("i"), j = var("i");
  const auto scan = [&](const Ptr<Var>& loop_var, ForKind kind) {
    return function(
        {A},
        for_loop(loop_var, 0, 4,
                 store(A, load(A, {loop_var}) * load(A, {loop_var + 1}), {loop_var + 1}), kind));
  };
  const auto serial = scan(i, ForKind::serial), parallel = scan(j, ForKind::parallel);
  EXPECT_EQ(judged(serial, scan(j, ForKind::vectorized)).sameness, Sameness::same);
  const Judgement judgement = judged(serial, parallel);
  EXPECT_EQ(judgement.sameness, Sameness::different);
  EXPECT_TRUE(judgement.reason.starts_with("A[")) << judgement.reason;
}

TEST(judge, computes_sums_of_floats_exactly_in_any_order) {
  const auto A = decl_buffer({3}, f32, "A"), B = decl_buffer({1}, f32, "B");
  const Expr a = load(A, {0}), b = load(A, {1}), c = load(A, {2});
  const auto one = function({A, B}, store(B, (a + b) * float_imm(f32, 0.375) + c / b, {0}));
  const auto other =
      function({A, B}, store(B,
                             c / b + float_imm(f32, 0.25) * b +
                                 (a * float_imm(f32, 0.375) + b * float_imm(f32, 0.125)),
                             {0}));
  EXPECT_EQ(judged(one, other).reason, "");
}

TEST(judge, reports_what_was_never_written) {
  const auto B = decl_buffer({2}, f32, "B"), local = decl_buffer({2}, f32, "local");
  const auto func = [&](Expr read) {
    const Stmt body = make(
        SeqStmt{.seq = {store(local, float_imm(f32, 1), {0}), store(B, load(local, {read}), {0})}});
    Block block{.name_hint = "root", .alloc_buffers = {local}, .body = body};
    return function({B}, make(BlockRealize{.block = make(std::move(block))}));
  };
  const Judgement judgement = judged(func(0), func(1));
  EXPECT_EQ(judgement.reason, "B[0] is not defined after");
  EXPECT_EQ(judgement.sameness, Sameness::different);
  EXPECT_EQ(judged(func(1), func(0)).sameness, Sameness::cannot_say);
}

TEST(judge, fails_programs_that_leave_their_buffers) {
  const auto B = decl_buffer({2}, f32, "B");
  const JudgeResult result = run_on(function({B}, store(B, float_imm(f32, 1), {2})));
  EXPECT_EQ(result.ending, Ending::failed);
  EXPECT_EQ(result.message, "B: index 2 of dimension 0 is out of bounds");
}

TEST(judge, wraps_integers_as_their_types_do) {
  const auto B = decl_buffer({3}, i64, "B");
  const auto wide = [](const Expr& value) { return cast(i64, value); };
  const Ptr<Var> n = var("n", u8), m = var("m", i32);
  const Stmt body =
      make(SeqStmt{.seq = {store(B, wide(n + int_imm(u8, 10)), {0}),
                           store(B, wide(make(FloorMod{.a = m, .b = int_imm(i32, -4)})), {1}),
                           store(B, wide(make(Mod{.a = m, .b = int_imm(i32, 0)})), {2})}});
  const auto func = make(PrimFunc{
      .params = {var("b", handle_type), n, m}, .buffer_map = {B, nullptr, nullptr}, .body = body});
  const std::vector<JudgeArgument> arguments = {{{3}, {0, 0, 0}}, {{}, {250}}, {{}, {-7}}};
  EXPECT_EQ(run(*func, arguments).tensors[0].elements, (std::vector<Scalar>{{4}, {-3}, {0}}));
}

TEST(judge, says_nothing_of_other_results_where_integers_overflow) {
  const auto B = decl_buffer({1}, i32, "B");
  const auto doubled = [&](const Expr& start) {
    const Stmt twice = store(B, max(load(B, {0}), load(B, {0}) + load(B, {0})), {0});
    return function({B}, make(SeqStmt{.seq = {store(B, start, {0}), twice}}));
  };
  const auto sum = function({B}, store(B, int_imm(i32, -2), {0}));
  EXPECT_EQ(judged(doubled(1), sum).reason, "B[0] is 2 before and -2 after");
  const Judgement judgement = judged(doubled(0x7fffffff), sum);
  EXPECT_EQ(judgement.sameness, Sameness::cannot_say);
  EXPECT_EQ(judgement.reason, "before: an integer overflows");
  EXPECT_EQ(judged(doubled(0x7fffffff), doubled(0x7fffffff)).sameness, Sameness::same);
}

TEST(judge, says_what_it_does_not_know) {
  const auto B = decl_buffer({4}, f32, "B");
  const Stmt vectors =
      make(BufferStore{.buffer = B,
                       .value = make(Broadcast{.value = float_imm(f32, 1), .lanes = 4}),
                       .indices = {make(Ramp{.base = 0, .stride = 1, .lanes = 4})}});
  const JudgeResult result = run_on(function({B}, vectors));
  EXPECT_EQ(result.ending, Ending::cannot_say);
  EXPECT_EQ(result.message, "a vector");
}

TEST(judge, gives_up_what_does_not_end) {
  const auto B = decl_buffer({1}, f32, "B");
  const Stmt forever = make(While{.condition = true, .body = store(B, float_imm(f32, 1), {0})});
  EXPECT_EQ(run_on(function({B}, forever)).message, "too many steps");
}

}  // namespace
}  // namespace loopsmith::judge
