// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/source/c_text.h"

#include <gtest/gtest.h>

#include "loopsmith/codegen/llvm/testing/kernel.h"
#include "loopsmith/codegen/source/c_compiler.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/runtime/testing/error_of.h"

namespace loopsmith {
namespace c_text_test {

using testing::function_of;
using testing::Kernel;

Ptr<PrimFunc> calling(DataType dtype, Op op, std::vector<Expr> args) {
  const auto out = decl_buffer({1}, dtype, "out");
  return function_of({out}, store(out, make(Call{.op = op, .args = std::move(args)}, dtype), {0}));
}

std::string text_of(const Ptr<PrimFunc>& func) {
  return c_text({{func}, Target("c"), {}});
}

TEST(c_text, calls_functions_of_the_process) {
  std::vector<double> out(1);
  Kernel(calling(f64, op("call_pure_extern"), {string_imm("cbrt"), float_imm(f64, 27)}), {}, "c")
      .tensor(out)
      .run();
  EXPECT_DOUBLE_EQ(out[0], 3);
}

TEST(c_text, shared_expressions_are_written_once) {
  const auto a = decl_buffer({1}, f32, "A"), out = decl_buffer({1}, f32, "out");
  Expr e = load(a, {0});
  for (int i = 0; i < 60; ++i) e = e * e;
  EXPECT_LT(text_of(function_of({a, out}, store(out, e, {0}))).size(), 20'000U);
}

TEST(c_text, deep_expressions_are_cut) {
  const auto a = decl_buffer({1}, i32, "A"), out = decl_buffer({1}, i32, "out");
  Expr e = load(a, {0});
  for (int i = 0; i < 2'000; ++i) e = make(Min{.a = e, .b = int_imm(i32, 5000 + i)});
  std::vector<std::int32_t> x{7}, y{0};
  Kernel(function_of({a, out}, store(out, e, {0})), {}, "c").tensor(x).tensor(y).run();
  EXPECT_EQ(y[0], 7);
}

TEST(c_text, says_which_loops_to_unroll) {
  const auto out = decl_buffer({8}, i32, "out");
  const auto i = var("i");
  const auto func = function_of({out}, make(For{.loop_var = i,
                                                .min = 0,
                                                .extent = 8,
                                                .annotations = {{"unroll_later", Expr(1)}},
                                                .body = store(out, i, {i})}));
  EXPECT_NE(text_of(func).find("#pragma GCC unroll 8\n"), std::string::npos) << text_of(func);
}

TEST(c_text, says_what_it_cannot_write) {
  EXPECT_EQ(error_of([] { text_of(calling(f64, op("call_extern"), {})); }).problem(),
            "call_extern: the first argument is not a name");
  EXPECT_EQ(
      error_of([] { text_of(calling(f64, op("call_extern"), {string_imm("a b")})); }).problem(),
      "call_extern: 'a b' is no name of a C function");
  EXPECT_EQ(error_of([] {
              text_of(calling(f64, op("call_llvm_pure_intrin"),
                              {string_imm("llvm.sqrt"), int_imm(u32, 1), float_imm(f64, 1)}));
            }).problem(),
            "target c has no code for call_llvm_pure_intrin of 'llvm.sqrt'");
  EXPECT_EQ(
      error_of([] { text_of(calling(f64, op("reinterpret"), {float_imm(f32, 0)})); }).problem(),
      "reinterpret: float32 as float64 changes the number of bits");
  const Expr bools = make(Broadcast{.value = true, .lanes = 8});
  EXPECT_EQ(error_of([&] { text_of(calling(u8, op("reinterpret"), {bools})); }).problem(),
            "reinterpret: boolx8 as uint8 regroups lanes that do not fill bytes, which target c "
            "cannot");
  EXPECT_EQ(error_of([] { text_of(calling(i8, op("address_of"), {int_imm(i32, 0)})); }).problem(),
            "address_of: the argument is not one element of a buffer");
  const auto a = decl_buffer({4}, f16, "A");
  EXPECT_EQ(error_of([&] {
              text_of(calling(f16, op("atomic_add"),
                              {call(op("address_of"), {load(a, {0})}), float_imm(f16, 1)}));
            }).problem(),
            "atomic_add: float16 cannot be updated atomically");
  const auto i = var("i");
  const auto out = decl_buffer({4}, i32, "out");
  const Stmt bound = make(
      For{.loop_var = i,
          .min = 0,
          .extent = 4,
          .kind = ForKind::thread_binding,
          .thread_binding = make(IterVar{
              .var = var("tx"), .iter_type = IterType::thread_index, .thread_tag = "threadIdx.x"}),
          .body = store(out, i, {i})});
  EXPECT_EQ(error_of([&] { text_of(function_of({out}, bound)); }).problem(),
            "loop i is bound to threadIdx.x, which a CPU does not have");
  const auto leave = [&](ForKind kind, Expr value) {
    return function_of({out}, for_loop(i, 0, 4, make(Return{.value = std::move(value)}), kind));
  };
  EXPECT_EQ(error_of([&] { text_of(leave(ForKind::parallel, nullptr)); }).problem(),
            "Return leaves a parallel loop");
  EXPECT_EQ(error_of([&] { text_of(leave(ForKind::serial, 3)); }).problem(),
            "Return gives a value, which a host cannot take");
}

/// out = `value` as a vector of `result`, by both kinds of code.
template <class In, class Out>
void expect_regrouped(DataType from, DataType to, const std::vector<In>& given) {
  const auto a = decl_buffer({static_cast<int>(given.size())}, from.element(), "A");
  const auto out = decl_buffer({static_cast<int>(to.lanes)}, to.element(), "out");
  const auto lanes = [](DataType type) {
    return type.is_scalar() ? Expr(0)
                            : Expr(make(Ramp{.base = 0, .stride = 1, .lanes = type.lanes}));
  };
  const Expr value = make(BufferLoad{.buffer = a, .indices = {lanes(from)}}, from);
  // Once as it lies in memory, once as a value.
  for (const Expr& operand : {value, value + value}) {
    const Expr cast = make(Call{.op = op("reinterpret"), .args = {operand}}, to);
    const auto func = function_of({a, out}, store(out, cast, {lanes(to)}));
    std::vector<In> x = given;
    std::vector<Out> y(to.lanes), z(to.lanes);
    Kernel(func, {}, "c").tensor(x).tensor(y).run();
    Kernel(func).tensor(x).tensor(z).run();
    EXPECT_EQ(y, z) << to_string(from) << " as " << to_string(to);
  }
}

TEST(c_text, regroups_the_bits_of_vectors) {
  expect_regrouped<std::uint8_t, std::int32_t>(u8.with_lanes(4), i32, {1, 2, 3, 4});
  expect_regrouped<std::int32_t, std::uint8_t>(i32, u8.with_lanes(4), {0x01020304});
  expect_regrouped<std::int16_t, float>(i16.with_lanes(8), f32.with_lanes(4),
                                        {1, 2, 3, 4, 5, 6, 7, 0x3f80});
  expect_regrouped<double, std::int32_t>(f64.with_lanes(2), i32.with_lanes(4), {1.5, -2.25});
}

TEST(c_text, functions_that_give_vectors_are_refused) {
  CodeRequest request{{}, Target("c"), {}};
  PrimFunc pair = *function_of({}, make(Return{.value = broadcast(float_imm(f32, 1), 2)}));
  pair.ret_type = f32.with_lanes(2);
  request.helpers = {make(std::move(pair))};
  EXPECT_TRUE(error_of([&] { c_text(request); })
                  .problem()
                  .ends_with("gives float32x2, a vector, which C does not have"));
}

TEST(c_compiler, files_that_cannot_be_written_are_named) {
  const TemporaryFolder folder;
  EXPECT_TRUE(error_of([&] { folder.write("no/file", {}); })
                  .problem()
                  .starts_with("no/file cannot be written to "));
}

TEST(c_compiler, says_what_the_compiler_said) {
  const std::string said = error_of([] { compile_c("int f(void) { return nothing; }"); }).problem();
  EXPECT_NE(said.find("nothing"), std::string::npos);
  EXPECT_NE(said.find(" failed:\n"), std::string::npos);
  EXPECT_EQ(error_of([] { c_compiler("pdp11-unix"); }).problem(),
            "there is no C compiler: neither pdp11-unix-gcc");
}

}  // namespace c_text_test
}  // namespace loopsmith
