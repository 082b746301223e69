// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/interp.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "loopsmith/interp/testing/call.h"
#include "loopsmith/script/parse.h"

namespace loopsmith::interp {
namespace interp_test {

using testing::Call;
using testing::function;

Expr f(double value) {
  return float_imm(f32, value);
}
Expr ramp(Expr base, Expr stride, int lanes) {
  return make(Ramp{.base = base, .stride = stride, .lanes = lanes});
}
Ptr<IterVar> axis(const Ptr<Var>& variable, Expr extent, IterType type = IterType::data_par) {
  return make(IterVar{.dom = range(0, extent), .var = variable, .iter_type = type});
}

/// Memory for `buffer` around `body`.
Stmt allocated(const Ptr<Buffer>& buffer, Stmt body) {
  return make(Allocate{.dtype = buffer->dtype,
                       .extents = buffer->shape,
                       .condition = true,
                       .buffer_var = buffer->data,
                       .body = make(DeclBuffer{.buffer = buffer, .body = body})});
}

TEST(interp, runs_a_product_of_matrices_with_blocks) {
  const auto a = decl_buffer({2, 3}, f32, "A"), b = decl_buffer({3, 2}, f32, "B"),
             c = decl_buffer({2, 2}, f32, "C");
  const auto i = var("i"), j = var("j"), k = var("k"), vi = var("vi"), vj = var("vj"),
             vk = var("vk");
  Block block{
      .iter_vars = {axis(vi, 2), axis(vj, 2), axis(vk, 3, IterType::comm_reduce)},
      .writes = {point_region(c, {vi, vj})},
      .name_hint = "C",
      .init = store(c, f(0), {vi, vj}),
      .body = store(c, load(c, {vi, vj}) + load(a, {vi, vk}) * load(b, {vk, vj}), {vi, vj})};
  Stmt body = make(BlockRealize{.iter_values = {i, j, k}, .block = make(block)});
  for (const auto& [loop, extent] : {std::pair(k, 3), std::pair(j, 2), std::pair(i, 2)}) {
    body = for_loop(loop, 0, extent, body);
  }
  std::vector<float> x{1, 2, 3, 4, 5, 6}, y{1, 2, 3, 4, 5, 6}, z(4, 100);
  Call(function({a, b, c}, body)).tensor(x, {2, 3}).tensor(y, {3, 2}).tensor(z, {2, 2}).run();
  EXPECT_EQ(z, (std::vector<float>{22, 28, 49, 64}));
}

TEST(interp, allocates_buffers_of_symbolic_sizes) {
  const auto n = size_var("n");
  const auto a = decl_buffer({n, 3}, f32, "A"), b = decl_buffer({n, 2}, f32, "B"),
             c = decl_buffer({n, 3}, f32, "C");
  const auto i = var("i"), j = var("j");
  const Stmt through = seq({store(c, f(7), {i, j}), store(a, load(c, {i, j}), {i, j})});
  Block block{.writes = {whole_region(a)},
              .name_hint = "root",
              .alloc_buffers = {b, c},
              .body = for_loop(i, 0, n, for_loop(j, 0, 3, through))};
  std::vector<float> x(6, 0);
  Call(function({a}, make(BlockRealize{.block = make(block)}))).tensor(x, {2, 3}).run();
  EXPECT_EQ(x, std::vector<float>(6, 7));
}

TEST(interp, binds_sizes_and_checks_them) {
  const auto n = size_var("n");
  const auto a = decl_buffer({n}, f32, "A"), b = decl_buffer({n * 2}, f32, "B");
  const auto i = var("i");
  const auto func = function({a, b}, for_loop(i, 0, n, store(b, load(a, {i}), {i * 2})));
  std::vector<float> x{1, 2}, y(4, 0), wrong(3);
  Call(func).tensor(x).tensor(y).run();
  EXPECT_EQ(y, (std::vector<float>{1, 0, 2, 0}));
  EXPECT_EQ(Call(func).tensor(x).tensor(wrong).error(),
            "InterpError: sizes_agree: main: extent of B is 3, expected 4");
}

TEST(interp, loops_run_from_their_minimum_in_steps) {
  const auto a = decl_buffer({5}, i32, "A");
  const auto i = var("i");
  const auto func = function(
      {a}, make(For{.loop_var = i, .min = 4, .extent = 3, .step = -2, .body = store(a, i, {i})}));
  std::vector<std::int32_t> x(5, -1);
  Call(func).tensor(x).run();
  EXPECT_EQ(x, (std::vector<std::int32_t>{0, -1, 2, -1, 4}));
}

TEST(interp, loops_are_left_and_skipped) {
  const auto a = decl_buffer({8}, i32, "A");
  const auto i = var("i");
  const auto func = function(
      {a}, for_loop(i, 0, 8,
                    seq({make(IfThenElse{.condition = Expr(i) == 2, .then_case = make(Continue{})}),
                         make(IfThenElse{.condition = Expr(i) == 5, .then_case = make(Break{})}),
                         store(a, 1, {i})})));
  std::vector<std::int32_t> x(8, 0);
  Call(func).tensor(x).run();
  EXPECT_EQ(x, (std::vector<std::int32_t>{1, 1, 0, 1, 1, 0, 0, 0}));
}

TEST(interp, while_loops_stop_at_the_limit_of_statements) {
  const auto a = decl_buffer({1}, i32, "A");
  const auto count = [&](const Expr& condition) {
    return function({a},
                    make(While{.condition = condition, .body = store(a, load(a, {0}) + 1, {0})}));
  };
  std::vector<std::int32_t> x{0};
  Call(count(load(a, {0}) < 10)).tensor(x).run();
  EXPECT_EQ(x[0], 10);
  EXPECT_EQ(Call(count(load(a, {0}) > 0)).tensor(x).error({.max_statements = 1000}),
            "InterpError: statement_limit: main runs more than 1000 statements");
}

TEST(interp, returns_the_value_of_a_function) {
  const auto n = var("n");
  PrimFunc func{.params = {n},
                .buffer_map = {nullptr},
                .ret_type = i32,
                .body = make(Return{.value = n * 3})};
  const Outcome outcome = Call(make(std::move(func))).scalar(7).run();
  EXPECT_EQ(outcome.type, i32);
  EXPECT_EQ(outcome.integer, 21);
}

TEST(interp, vectors_are_read_masked_and_written) {
  const auto a = decl_buffer({8}, f32, "A"), b = decl_buffer({8}, f32, "B");
  const Expr lanes = ramp(0, 2, 4), mask = lanes < broadcast(6, 4);
  const Expr loaded = make(BufferLoad{.buffer = a, .indices = {lanes}, .predicate = mask});
  const auto func =
      function({a, b}, make(BufferStore{.buffer = b,
                                        .value = loaded * broadcast(f(2), 4) + broadcast(f(1), 4),
                                        .indices = {ramp(7, -1, 4)},
                                        .predicate = mask}));
  std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8}, y(8, 0);
  Call(func).tensor(x).tensor(y).run();
  EXPECT_EQ(y, (std::vector<float>{0, 0, 0, 0, 0, 11, 7, 3}));
}

TEST(interp, shuffles_and_reductions_of_lanes) {
  const auto a = decl_buffer({4}, i32, "A"), b = decl_buffer({3}, i32, "B");
  const Expr vector = load(a, {ramp(0, 1, 4)});
  const Expr swapped = make(Shuffle{.vectors = {vector}, .indices = {3, 1}});
  const auto func = function({a, b}, seq({store(b, swapped, {ramp(0, 1, 2)}),
                                          store(b, call(op("vector_reduce_max"), {vector}), {2})}));
  std::vector<std::int32_t> x{5, 7, 9, 2}, y(3, 0);
  Call(func).tensor(x).tensor(y).run();
  EXPECT_EQ(y, (std::vector<std::int32_t>{2, 7, 9}));
}

TEST(interp, bits_of_lanes_are_lanes_of_another_width) {
  const auto a = decl_buffer({4}, i8, "A"), b = decl_buffer({3}, i32, "B");
  const Expr bytes = load(a, {ramp(0, 1, 4)});
  const Expr word = reinterpret(i32, bytes);
  const Expr halves = reinterpret(i16.with_lanes(2), word);
  const auto func = function(
      {a, b},
      seq({store(b, word, {0}), store(b, cast(i32.with_lanes(2), halves), {ramp(1, 1, 2)})}));
  std::vector<std::int8_t> x{-1, 2, -3, -128};
  std::vector<std::int32_t> y(3, 0);
  Call(func).tensor(x).tensor(y).run();
  EXPECT_EQ(y, (std::vector<std::int32_t>{-2130902273, 767, -32515}));
}

TEST(interp, knows_what_some_intrinsics_of_llvm_mean) {
  const auto a = decl_buffer({16}, u8, "A"), b = decl_buffer({16}, i8, "B");
  const auto c = decl_buffer({4}, i32, "C");
  const auto whole = [](const Ptr<Buffer>& buffer, int lanes) {
    return load(buffer, {ramp(0, 1, lanes)});
  };
  const Expr dot = call(i32.with_lanes(4), op("call_llvm_pure_intrin"),
                        {string_imm("llvm.x86.avx512.vpdpbusd.128"), int_imm(u32, 3), whole(c, 4),
                         whole(a, 16), whole(b, 16)});
  std::vector<std::uint8_t> x(16, 255);
  std::vector<std::int8_t> y(16, 1);
  std::vector<std::int32_t> z{0, 1, 2, 3};
  y[5] = -128;
  Call(function({a, b, c}, store(c, dot, {ramp(0, 1, 4)}))).tensor(x).tensor(y).tensor(z).run();
  EXPECT_EQ(z, (std::vector<std::int32_t>{1020, -31874, 1022, 1023}));
  const Expr other = call(i32, op("call_llvm_pure_intrin"),
                          {string_imm("llvm.ctpop"), int_imm(u32, 1), load(c, {0})});
  EXPECT_EQ(Call(function({c}, store(c, other, {0}))).tensor(z).error(),
            "InterpError: interpretable: main: the interpreter does not run a call of LLVM's "
            "intrinsic llvm.ctpop");
}

TEST(interp, views_take_their_symbols_from_the_region) {
  const auto a = decl_buffer({4, 6}, i32, "A");
  const auto stride = var("s"), offset = var("o");
  const Ptr<Buffer> view = make(Buffer{.data = pointer_var("view", i32),
                                       .dtype = i32,
                                       .shape = {2, 3},
                                       .strides = {stride, 1},
                                       .elem_offset = offset,
                                       .name = "view"});
  const auto i = var("i"), j = var("j");
  Block block{
      .match_buffers = {make(MatchBufferRegion{
          .source = make(BufferRegion{.buffer = a, .region = {range(1, 2), range(2, 3)}}),
          .buffer = view})},
      .body = for_loop(i, 0, 2, for_loop(j, 0, 3, store(view, stride * 10 + offset, {i, j})))};
  std::vector<std::int32_t> x(24, 0);
  Call(function({a}, make(BlockRealize{.block = make(block)}))).tensor(x, {4, 6}).run();
  EXPECT_EQ(x[8], 68);
  EXPECT_EQ(x[16], 68);
  EXPECT_EQ(std::count(x.begin(), x.end(), 0), 18);
}

TEST(interp, functions_of_a_module_call_each_other) {
  const auto a = decl_buffer({4}, f32, "A"), b = decl_buffer({4}, f32, "B");
  const auto i = var("i");
  const auto twice = function({b}, for_loop(i, 0, 4, store(b, load(b, {i}) * f(2), {i})));
  const auto name = make(GlobalVar{.name_hint = "twice"});
  const auto main =
      function({a}, make(Evaluate{.value = call(i32, op("call_global"), {name, a->data})}));
  const Ptr<IRModule> module = make(
      IRModule{.names = {make(GlobalVar{.name_hint = "main"}), name}, .functions = {main, twice}});
  std::vector<float> x{1, 2, 3, 4};
  DLTensor tensor{.data = x.data(), .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}};
  std::int64_t shape = 4;
  tensor.shape = &shape;
  run(module, "main", std::vector<CallArgument>{&tensor});
  EXPECT_EQ(x, (std::vector<float>{2, 4, 6, 8}));
}

TEST(interp, constants_and_packed_types_lie_in_memory) {
  const DataType int4{TypeCode::int_, 4, 1};
  const auto a = decl_buffer({3}, int4, "A"), c = decl_buffer({3}, int4, "C");
  const auto i = var("i");
  const auto func = function(
      {a}, make(AllocateConst{.dtype = int4,
                              .extents = {3},
                              .data = {int_imm(int4, 1), int_imm(int4, -2), int_imm(int4, 7)},
                              .buffer_var = c->data,
                              .body = for_loop(i, 0, 3, store(a, load(c, {i}), {i}))}));
  std::vector<std::uint8_t> x{0, 0x50};
  Call(func).tensor(x, {3}).run();
  EXPECT_EQ(x, (std::vector<std::uint8_t>{0xE1, 0x57}));
}

TEST(interp, memory_is_seen_as_other_types) {
  const auto bytes = decl_buffer({8}, u8, "bytes"), out = decl_buffer({2}, f32, "out");
  const Ptr<Buffer> words =
      make(Buffer{.data = bytes->data, .dtype = f32, .shape = {2}, .name = "words"});
  const auto func = function(
      {out},
      allocated(
          bytes,
          make(DeclBuffer{.buffer = words,
                          .body = seq({store(words, f(1.5), {1}), store(out, load(words, {1}), {0}),
                                       store(out, cast(f32, load(bytes, {7})), {1})})})));
  std::vector<float> x(2);
  Call(func).tensor(x).run();
  EXPECT_EQ(x, (std::vector<float>{1.5, 0x3f}));
}

TEST(interp, reports_accesses_out_of_bounds) {
  const auto a = decl_buffer({4}, f32, "A");
  const auto i = var("i");
  std::vector<float> x(4);
  EXPECT_EQ(Call(function({a}, for_loop(i, 0, 5, store(a, f(0), {i})))).tensor(x).error(),
            "InterpError: index_in_bounds: store to A: index 4 of dimension 0 is outside [0, 4)");
  EXPECT_EQ(Call(function({a}, for_loop(i, 0, 1, store(a, load(a, {Expr(i) - 1}), {i}))))
                .tensor(x)
                .error(),
            "InterpError: index_in_bounds: load of A: index -1 of dimension 0 is outside [0, 4)");
}

TEST(interp, reports_reads_of_what_was_never_written) {
  const auto a = decl_buffer({4}, f32, "A"), t = decl_buffer({2, 2}, f32, "T");
  const auto func =
      function({a}, allocated(t, seq({store(t, f(1), {0, 0}), store(a, load(t, {0, 0}), {0}),
                                      store(a, load(t, {1, 0}), {1})})));
  std::vector<float> x(4);
  EXPECT_EQ(Call(func).tensor(x).error(),
            "InterpError: element_was_written: load of T: element [1, 0] was never written");
  const auto forgets =
      function({a}, seq({store(a, call(f32, op("undef"), {}), {1}), store(a, load(a, {1}), {0})}));
  EXPECT_EQ(Call(forgets).tensor(x).error(),
            "InterpError: element_was_written: load of A: element [1] was never written");
}

TEST(interp, reports_overflow_unless_it_may_wrap) {
  const auto a = decl_buffer({1}, i32, "A");
  const auto func = function({a}, store(a, load(a, {0}) + 1, {0}));
  std::vector<std::int32_t> x{INT32_MAX};
  EXPECT_EQ(Call(func).tensor(x).error(),
            "InterpError: integer_overflow: 2147483647 + 1 overflows int32");
  Call(func).tensor(x).run({.wrap_overflow = true});
  EXPECT_EQ(x[0], INT32_MIN);
  std::vector<std::int32_t> y{INT32_MIN};
  const auto divide =
      function({a}, store(a, truncdiv(load(a, {0}), load(a, {0}) - load(a, {0}) - 1), {0}));
  EXPECT_EQ(Call(divide).tensor(y).error(),
            "InterpError: integer_overflow: -2147483648 / -1 overflows int32");
}

TEST(interp, reports_division_by_zero_unless_it_gives_zero) {
  const auto a = decl_buffer({1}, i32, "A");
  const auto func = function({a}, store(a, floordiv(7, load(a, {0})), {0}));
  std::vector<std::int32_t> x{0};
  EXPECT_EQ(Call(func).tensor(x).error(),
            "InterpError: division_by_zero: an integer is divided by zero");
  Call(func).tensor(x).run({.zero_division = true});
  EXPECT_EQ(x[0], 0);
}

TEST(interp, evaluates_only_the_chosen_value) {
  const auto a = decl_buffer({2}, f32, "A"), b = decl_buffer({3}, f32, "B");
  const auto i = var("i");
  const Expr inside = Expr(i) < 2;
  for (const bool is_select : {false, true}) {
    const Expr value = is_select ? select(inside, load(a, {i}), f(0))
                                 : if_then_else(inside && load(a, {i}) > f(0), load(a, {i}), f(0));
    std::vector<float> x{1, 2}, y(3, 9);
    Call(function({a, b}, for_loop(i, 0, 3, store(b, value, {i})))).tensor(x).tensor(y).run();
    EXPECT_EQ(y, (std::vector<float>{1, 2, 0}));
  }
}

TEST(interp, assertions_stop_with_their_text) {
  const auto a = decl_buffer({1}, i32, "A");
  const auto func = function({a}, make(AssertStmt{.condition = load(a, {0}) > 0,
                                                  .message = string_imm("A must be positive"),
                                                  .body = store(a, 5, {0})}));
  std::vector<std::int32_t> x{0};
  EXPECT_EQ(Call(func).tensor(x).error(),
            "InterpError: assertion_holds: assertion failed: A must be positive");
}

TEST(interp, limits_memory) {
  const auto n = var("n"), i = var("i");
  const auto a = decl_buffer({1}, f32, "A"), t = decl_buffer({n}, f32, "T");
  const auto func = function({a}, allocated(t, store(t, f(0), {0})), {n});
  std::vector<float> x(1);
  EXPECT_EQ(Call(func).tensor(x).scalar(1000).error({.max_bytes = 1000}),
            "InterpError: memory_limit: T of 1000 elements does not fit into what is left of 1000 "
            "bytes");
}

TEST(interp, arguments_have_to_fit) {
  const auto a = decl_buffer({2, 2}, f32, "A");
  const auto n = var("n", i8);
  const auto func = function({a}, store(a, f(0), {0, 0}), {n});
  std::vector<float> x(4);
  EXPECT_EQ(Call(func).tensor(x, {2, 2}).error(),
            "CallError: argument_count: main takes 2 arguments, 1 were given");
  EXPECT_EQ(Call(func).tensor(x).scalar(1).error(),
            "CallError: argument_rank: main: A has 1 dimensions, not 2");
  EXPECT_EQ(Call(func).tensor(x, {2, 2}).scalar(300).error(),
            "CallError: argument_range: main: n is of type int8, which does not hold 300");
  EXPECT_EQ(Call(func).tensor(x, {2, 2}).tensor(x).error(),
            "CallError: argument_kind: main: n takes a number");
  EXPECT_EQ(Call(func).scalar(1).scalar(1).error(),
            "CallError: argument_kind: main: A takes an array");
  EXPECT_EQ(Call(func).tensor(x, {2, 2}, {1, 2}).scalar(1).error(),
            "CallError: argument_strides: main: A has stride 1 in dimension 0, not 2");
}

TEST(interp, arguments_lie_in_memory_of_the_processor) {
  const auto a = decl_buffer({1}, f32, "A");
  std::int64_t shape[] = {1};
  DLTensor tensor{.data = nullptr,
                  .device = {kDLCUDA, 0},
                  .ndim = 1,
                  .dtype = {kDLFloat, 32, 1},
                  .shape = shape,
                  .strides = nullptr,
                  .byte_offset = 0};
  try {
    interp::run(function({a}, store(a, f(0), {0})), std::vector<CallArgument>{&tensor});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.problem(), "main: A lies on cuda:0, where the interpreter cannot reach");
  }
}

TEST(interp, memory_is_what_was_declared) {
  const auto a = decl_buffer({4}, f32, "A"), lost = decl_buffer({4}, f32, "B");
  std::vector<float> x(4);
  EXPECT_EQ(Call(function({a}, store(lost, f(0), {0}))).tensor(x).error(),
            "InterpError: buffer_has_memory: buffer B has no memory");
  Buffer shifted = *decl_buffer({1}, f64, "D");
  const auto pointer = var("p", handle_type);
  shifted.data = pointer;
  const Ptr<Buffer> wide = make(std::move(shifted));
  const Stmt body = make(LetStmt{.value = call(op("address_of"), {load(a, {1})}),
                                 .var = pointer,
                                 .body = store(wide, float_imm(f64, 0), {0})});
  EXPECT_EQ(Call(function({a}, body)).tensor(x).error(),
            "InterpError: address_is_aligned: store to D: it starts 32 bits into an element");
}

TEST(interp, does_not_run_what_it_does_not_know) {
  const auto a = decl_buffer({1}, f32, "A");
  const Stmt body = make(Evaluate{.value = call(op("tvm_static_handle"), {})});
  std::vector<float> x(1);
  EXPECT_EQ(Call(function({a}, body)).tensor(x).error(),
            "InterpError: interpretable: main: the interpreter does not run a call of "
            "tvm_static_handle");
}

/// C[i] = the sum of A[i, k] for k below `domain`, which may be 0.
Ptr<PrimFunc> row_sum(std::string_view loops, std::string_view domain, std::string_view more = "") {
  return parse_function(fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((4, 4)), C: T.Buffer((4,)), n: T.int32):
    for {}:
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce({}, k)
            {}
            with T.init():
                C[vi] = T.float32(7)
            C[vi] = C[vi] + A[vi, vk]
)",
                                    loops, domain, more));
}

TEST(interp, a_reduction_without_iterations_gives_the_identity) {
  const auto result = [](const Ptr<PrimFunc>& func, int n) {
    std::vector<float> x(16, 1), y(4, -1);
    Call(func).tensor(x, {4, 4}).tensor(y).scalar(n).run();
    return y;
  };
  for (const char* loops : {"i, k in T.grid(4, n)", "k, i in T.grid(n, 4)"}) {
    EXPECT_EQ(result(row_sum(loops, "n"), 0), (std::vector<float>(4, 7))) << loops;
    EXPECT_EQ(result(row_sum(loops, "n"), 3), (std::vector<float>(4, 10))) << loops;
    // The domain has a start, which no iteration reaches.
    EXPECT_EQ(result(row_sum(loops, "4"), 0), (std::vector<float>(4, -1))) << loops;
  }
  // A condition on the spatial axis says what is initialised; one on the reduction does not.
  const char* loops = "i, k in T.grid(4, n)";
  EXPECT_EQ(result(row_sum(loops, "n", "T.where(i < 2)"), 0), (std::vector<float>{7, 7, -1, -1}));
  EXPECT_EQ(result(row_sum(loops, "n", "T.where(i + k < 2)"), 0), (std::vector<float>(4, 7)));
  // Each row has as many elements as its number says.
  const char* triangle = "i in range(4):\n      for k in range(i)";
  EXPECT_EQ(result(row_sum(triangle, "i"), 0), (std::vector<float>{7, 8, 9, 10}));
  EXPECT_EQ(result(row_sum(triangle, "4"), 0), (std::vector<float>{-1, 8, 9, 10}));
}

TEST(interp, an_assumption_about_unwritten_memory_says_nothing) {
  const auto func = parse_function(R"(
@T.prim_func
def main(A: T.Buffer((4,))):
    B = T.alloc_buffer((4,))
    B[0] = A[0]
    T.evaluate(T.assume(B[1] == T.float32(3)))
    T.evaluate(T.assume(B[0] == T.float32(0) and B[2] == T.float32(1)))
    T.evaluate(T.assume(B[0] < A[1]))
)");
  std::vector<float> x{0, 1, 0, 0};
  EXPECT_EQ(Call(func).tensor(x).error(), "");
  x[1] = -1;
  EXPECT_EQ(Call(func).tensor(x).error(),
            "InterpError: assertion_holds: assertion failed: what the program assumes does not "
            "hold");
}

}  // namespace interp_test
}  // namespace loopsmith::interp
