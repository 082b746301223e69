// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>

#include "loopsmith/codegen/llvm/testing/kernel.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/runtime/testing/error_of.h"

namespace loopsmith {
namespace {

using testing::function_of;
using testing::Kernel;

Ptr<Buffer> ints(int count, const char* name, DataType dtype = i32) {
  return decl_buffer({count}, dtype, name);
}

Expr load1(const Ptr<Buffer>& buffer, const Expr& index) {
  return load(buffer, {index});
}
Stmt store1(const Ptr<Buffer>& buffer, const Expr& value, const Expr& index) {
  return store(buffer, value, {index});
}

TEST(loop, adds_two_vectors) {
  const auto n = size_var("n");
  const auto a = decl_buffer({n}, f32, "A"), b = decl_buffer({n}, f32, "B"),
             c = decl_buffer({n}, f32, "C");
  const auto i = var("i");
  const auto func =
      function_of({a, b, c}, for_loop(i, 0, n, store1(c, load1(a, i) + load1(b, i), i)));
  std::vector<float> x(1003), y(1003), z(1003);
  std::iota(x.begin(), x.end(), 0.F);
  std::iota(y.begin(), y.end(), 0.5F);
  EXPECT_EQ(Kernel(func).tensor(x).tensor(y).tensor(z).run(), LS_OK);
  for (std::size_t k = 0; k < z.size(); ++k) EXPECT_EQ(z[k], x[k] + y[k]);
}

TEST(loop, counts_by_its_step) {
  const auto out = ints(8, "out");
  const auto i = var("i");
  const auto t = ints(1, "t");
  const auto run = [&](int min, int extent, int step) {
    const Stmt body = seq({store1(out, i, load1(t, 0)), store1(t, load1(t, 0) + 1, 0)});
    const auto func = function_of(
        {out, t},
        make(For{.loop_var = i, .min = min, .extent = extent, .step = step, .body = body}));
    std::vector<std::int32_t> values(8, -99), count(1);
    EXPECT_EQ(Kernel(func).tensor(values).tensor(count).run(), LS_OK);
    values.resize(static_cast<std::size_t>(count[0]));
    return values;
  };
  EXPECT_EQ(run(1, 4, 1), (std::vector<std::int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(run(0, 3, 5), (std::vector<std::int32_t>{0, 5, 10}));
  EXPECT_EQ(run(7, 4, -2), (std::vector<std::int32_t>{7, 5, 3, 1}));
  EXPECT_EQ(run(3, 0, 1), (std::vector<std::int32_t>{}));
  EXPECT_EQ(run(3, -5, 1), (std::vector<std::int32_t>{}));
}

TEST(loop, bounds_and_step_may_be_values) {
  const auto out = ints(16, "out");
  const auto i = var("i"), min = var("min"), extent = var("extent"), step = var("step");
  PrimFunc func;
  func.params = {var("out_handle", handle_type), min, extent, step};
  func.buffer_map = {out, nullptr, nullptr, nullptr};
  func.body = make(
      For{.loop_var = i, .min = min, .extent = extent, .step = step, .body = store1(out, i, i)});
  const auto made = make(func);
  const auto run = [&](int from, int count, int by) {
    std::vector<std::int32_t> values(16, -1);
    EXPECT_EQ(Kernel(made).tensor(values).integer(from).integer(count).integer(by).run(), LS_OK);
    return values;
  };
  for (int from : {0, 1, 7, 15}) {
    for (int by : {1, 3, -4}) {
      for (int count = -1; count < 5; ++count) {
        std::vector<std::int32_t> expected(16, -1);
        bool inside = true;
        for (int t = 0; t < count; ++t) inside = inside && from + t * by >= 0 && from + t * by < 16;
        if (!inside) continue;
        for (int t = 0; t < count; ++t) {
          const int place = from + t * by;
          expected[static_cast<std::size_t>(place)] = place;
        }
        EXPECT_EQ(run(from, count, by), expected) << from << " " << count << " " << by;
      }
    }
  }
}

TEST(loop, breaks_continues_and_returns) {
  const auto out = ints(10, "out");
  const auto i = var("i"), j = var("j");
  // for i: for j: if j == i: break; if j == 2: continue; out[i] += j  ; if i == 7: return
  const Stmt inner =
      for_loop(j, 0, 10,
               seq({make(IfThenElse{.condition = Expr(j) == i, .then_case = make(Break{})}),
                    make(IfThenElse{.condition = Expr(j) == 2, .then_case = make(Continue{})}),
                    store1(out, load1(out, i) + j, i)}));
  const auto func = function_of(
      {out},
      for_loop(
          i, 0, 10,
          seq({inner, make(IfThenElse{.condition = Expr(i) == 7, .then_case = make(Return{})})})));
  std::vector<std::int32_t> values(10);
  EXPECT_EQ(Kernel(func).tensor(values).run(), LS_OK);
  EXPECT_EQ(values, (std::vector<std::int32_t>{0, 0, 1, 1, 4, 8, 13, 19, 0, 0}));
}

TEST(loop, runs_while_a_condition_holds) {
  const auto state = ints(2, "state");
  // Euclid's algorithm.
  const auto a = var("a"), b = var("b");
  const Stmt body = make(LetStmt{
      .value = load1(state, 0),
      .var = a,
      .body = make(LetStmt{.value = load1(state, 1),
                           .var = b,
                           .body = seq({store1(state, b, 0), store1(state, truncmod(a, b), 1)})})});
  const auto func =
      function_of({state}, make(While{.condition = load1(state, 1) != 0, .body = body}));
  std::vector<std::int32_t> values{1071, 462};
  EXPECT_EQ(Kernel(func).tensor(values).run(), LS_OK);
  EXPECT_EQ(values[0], 21);
}

TEST(loop, runs_in_parallel_also_nested) {
  const int rows = 50, columns = 70;
  const auto out = ints(rows * columns, "out");
  const auto i = var("i"), j = var("j"), scale = var("scale");
  const Stmt nested = for_loop(
      i, 0, rows,
      for_loop(j, 0, columns, store1(out, (Expr(i) * 1000 + j) * scale, Expr(i) * columns + j),
               ForKind::parallel),
      ForKind::parallel);
  const auto func =
      function_of({out}, make(LetStmt{.value = load1(out, 0), .var = scale, .body = nested}));
  std::vector<std::int32_t> values(static_cast<std::size_t>(rows * columns), 3);
  EXPECT_EQ(Kernel(func).tensor(values).run(), LS_OK);
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) {
      ASSERT_EQ(values[static_cast<std::size_t>(r * columns + c)], 3 * (r * 1000 + c));
    }
  }
}

TEST(loop, runs_in_threads_under_a_condition) {
  const auto n = size_var("n");
  const auto out = decl_buffer({n}, i32, "out");
  const auto i = var("i");
  const Stmt loop = make(For{.loop_var = i,
                             .min = 0,
                             .extent = n,
                             .kind = ForKind::parallel,
                             .annotations = {{"parallel_if", n >= 100}},
                             .body = store1(out, Expr(i) * 2, i)});
  for (const char* target : {"llvm -mcpu=native", "c"}) {
    for (const int size : {0, 1, 99, 100, 1000}) {
      Kernel kernel(function_of({out}, loop), {}, target);
      int loops_in_threads = 0;
      kernel.context.parallel_for_data = &loops_in_threads;
      kernel.context.parallel_for = [](void* data, std::int64_t begin, std::int64_t end,
                                       ls_body body, void* closure) {
        ++*static_cast<int*>(data);
        return body(closure, begin, end);
      };
      std::vector<std::int32_t> values(static_cast<std::size_t>(size), -1);
      EXPECT_EQ(kernel.tensor(values).run(), LS_OK);
      for (int k = 0; k < size; ++k) EXPECT_EQ(values[static_cast<std::size_t>(k)], 2 * k);
      EXPECT_EQ(loops_in_threads, size >= 100 ? 1 : 0) << target << " " << size;
    }
  }
}

std::string text_of_error(const Ptr<PrimFunc>& func) {
  return error_of([&] { (void)Kernel(func); }).what();
}

TEST(loop, what_has_no_meaning_on_a_cpu_is_refused) {
  const auto out = ints(4, "out");
  const auto i = var("i");
  EXPECT_EQ(text_of_error(function_of({out}, for_loop(i, 0, 4, make(Break{}), ForKind::parallel))),
            "Break leaves a parallel loop\n"
            "  hint: a parallel loop has no order in which it could be left");
  EXPECT_EQ(text_of_error(function_of({out}, for_loop(i, 0, 4, make(Return{}), ForKind::parallel))),
            "Return leaves a parallel loop\n  hint: make the loop serial");
  EXPECT_EQ(text_of_error(function_of({out}, make(Return{.value = 7}))),
            "Return gives a value, which a host cannot take\n"
            "  hint: write results into a buffer, or call it from another function of the module");
  const Expr lost = call(i32, op("call_global"), {make(GlobalVar{.name_hint = "lost"})});
  EXPECT_EQ(text_of_error(function_of({out}, make(Evaluate{.value = lost}))),
            "there is no function lost\n  hint: build a module that holds the function");
}

Ptr<PrimFunc> nested_loops(int depth) {
  const auto out = ints(1, "out");
  Stmt body = store1(out, load1(out, 0) + 1, 0);
  for (int d = 0; d < depth; ++d) body = for_loop(var("i"), 0, 1, body);
  return function_of({out}, body);
}

TEST(loop, too_many_nested_loops_are_refused) {
  EXPECT_EQ(text_of_error(nested_loops(1001)),
            "loop i is inside 1000 others, more than code is generated for\n"
            "  hint: fuse loops, or unroll the inner ones");
  std::vector<std::int32_t> values(1);
  EXPECT_EQ(Kernel(nested_loops(100)).tensor(values).run(), LS_OK);
  EXPECT_EQ(values[0], 1);
}

TEST(loop, is_unrolled_later_where_lowering_says_so) {
  const auto out = ints(8, "out");
  const auto n = size_var("n");
  const auto i = var("i");
  for (const Expr& extent : {Expr(8), Expr(n)}) {
    const auto func = function_of({out, decl_buffer({n}, i32, "in")},
                                  make(For{.loop_var = i,
                                           .min = 0,
                                           .extent = extent,
                                           .annotations = {{"unroll_later", Expr(1)}},
                                           .body = store1(out, i * 3, i)}));
    std::vector<std::int32_t> values(8), in(8);
    EXPECT_EQ(Kernel(func).tensor(values).tensor(in).run(), LS_OK);
    EXPECT_EQ(values, (std::vector<std::int32_t>{0, 3, 6, 9, 12, 15, 18, 21}));
  }
}

TEST(loop, refuses_threads_of_a_gpu) {
  const auto out = ints(8, "out");
  const auto i = var("i");
  const auto thread = make(
      IterVar{.var = var("t"), .iter_type = IterType::thread_index, .thread_tag = "threadIdx.x"});
  const auto func = function_of({out}, make(For{.loop_var = i,
                                                .min = 0,
                                                .extent = 8,
                                                .kind = ForKind::thread_binding,
                                                .thread_binding = thread,
                                                .body = store1(out, i, i)}));
  for (const char* target : {"llvm", "c"}) {
    const UserError error = error_of([&] { Kernel(func, {}, target); });
    EXPECT_EQ(error.problem(), "loop i is bound to threadIdx.x, which a CPU does not have");
    EXPECT_EQ(error.hint(), "build for a GPU, or make the loop parallel");
  }
}

}  // namespace
}  // namespace loopsmith
