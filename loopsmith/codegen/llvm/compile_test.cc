// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/llvm/compile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <thread>

#include "loopsmith/codegen/entry_symbol.h"
#include "loopsmith/codegen/llvm/code_emitter.h"
#include "loopsmith/codegen/llvm/testing/kernel.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/runtime/testing/error_of.h"

namespace loopsmith {
namespace {

using testing::function_of;
using testing::Kernel;

/// out[i] = in[i] * scale + i
Ptr<PrimFunc> scaled(int count, double scale) {
  const auto in = decl_buffer({count}, f32, "in"), out = decl_buffer({count}, f32, "out");
  const auto i = var("i");
  return function_of(
      {in, out},
      for_loop(i, 0, count, store(out, load(in, {i}) * float_imm(f32, scale) + cast(f32, i), {i}),
               ForKind::parallel));
}

TEST(compile, the_same_request_gives_the_same_bytes) {
  const CodeRequest request{{scaled(100, 2)}, Target("llvm -mcpu=native"), {}};
  const CodeRequest other{{scaled(77, 3)}, Target("llvm -mcpu=native"), {}};
  const std::vector<char> first = compile_object(request);
  const std::vector<char> between = compile_object(other);
  EXPECT_EQ(compile_object(request), first);
  // A thread has its own passes, which are fresh: those that are used again do no worse.
  std::vector<char> fresh, fresh_other;
  std::thread([&] { fresh = compile_object(request); }).join();
  std::thread([&] { fresh_other = compile_object(other); }).join();
  EXPECT_EQ(fresh, first);
  EXPECT_EQ(fresh_other, between);
  EXPECT_EQ(llvm_text(request), llvm_text(request));
  EXPECT_NE(assembly_text(request).find("ls_call_main"), std::string::npos);
}

TEST(compile, takes_no_care_of_what_only_starts_threads) {
  const std::string parallel = llvm_text({{scaled(100, 2)}, Target("llvm -mcpu=native"), {}});
  EXPECT_NE(parallel.find("optnone"), std::string::npos);
  const auto out = decl_buffer({100}, f32, "out");
  const auto i = var("i");
  const auto serial = function_of({out}, for_loop(i, 0, 100, store(out, cast(f32, i), {i})));
  const std::string text = llvm_text({{serial}, Target("llvm -mcpu=native"), {}});
  EXPECT_EQ(text.find("optnone"), std::string::npos);
}

TEST(compile, works_in_threads_at_once) {
  const auto work = [](double scale, bool& all_right) {
    for (int round = 0; round < 10; ++round) {
      std::vector<float> in(50, 1), out(50);
      Kernel(scaled(50, scale + round)).tensor(in).tensor(out).run();
      all_right = all_right && out[49] == static_cast<float>(scale + round + 49);
    }
  };
  bool first = true, second = true;
  std::thread one([&] { work(1, first); }), two([&] { work(100, second); });
  one.join();
  two.join();
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
}

TEST(compile, takes_deep_and_wide_expressions) {
  const auto in = decl_buffer({2}, f32, "in"), out = decl_buffer({2}, f32, "out");
  Expr deep = load(in, {0});
  for (int level = 0; level < 20000; ++level) deep = deep + load(in, {1});
  // 2^60 paths through 60 nodes.
  Expr shared = load(in, {1});
  for (int level = 0; level < 60; ++level) shared = shared + shared;
  std::vector<float> from{0, 1}, to(2);
  Kernel(function_of({in, out}, seq({store(out, deep, {0}), store(out, shared, {1})})))
      .tensor(from)
      .tensor(to)
      .run();
  EXPECT_EQ(to[0], 20000);
  EXPECT_EQ(to[1], 0x1p60F);
}

TEST(compile, takes_many_statements) {
  const int count = 3000;
  const auto in = decl_buffer({count}, f32, "in"), out = decl_buffer({count}, f32, "out");
  std::vector<Stmt> stores;
  for (int k = 0; k < count; ++k) {
    stores.push_back(store(out, load(in, {count - 1 - k}) + load(out, {k / 2}), {k}));
  }
  std::vector<float> from(count, 1), to(count), expected(count);
  for (std::size_t k = 0; k < expected.size(); ++k) expected[k] = 1 + expected[k / 2];
  Kernel(function_of({in, out}, seq(stores))).tensor(from).tensor(to).run();
  EXPECT_EQ(to, expected);
}

TEST(compile, takes_scalars_and_strides_from_the_arguments) {
  const auto n = size_var("n", i64), stride = var("stride", i64), offset = var("offset", i64);
  const auto x = var("x", f32), flag = var("flag", boolean);
  Buffer view{.data = pointer_var("A", f32),
              .dtype = f32,
              .shape = {n},
              .strides = {stride},
              .elem_offset = offset,
              .name = "A"};
  const auto a = make(view);
  const auto flat = make(Buffer{.data = a->data, .dtype = f32, .shape = {n * stride}, .name = "A"});
  const auto i = var("i", i64);
  PrimFunc func{
      .params = {var("a", handle_type), x, flag},
      .buffer_map = {a, nullptr, nullptr},
      .body = make(DeclBuffer{.buffer = flat,
                              .body = for_loop(i, int_imm(i64, 0), n,
                                               store(flat, select(flag, x, float_imm(f32, -1)),
                                                     {i * stride + offset}))})};
  std::vector<float> data(12);
  std::int64_t shape[] = {3}, strides[] = {4};
  DLTensor tensor{.data = data.data(),
                  .device = {kDLCPU, 0},
                  .ndim = 1,
                  .dtype = {},
                  .shape = shape,
                  .strides = strides,
                  .byte_offset = 4};
  const ls_argument arguments[] = {{{.as_tensor = &tensor}, LS_TENSOR, 0},
                                   {{.as_float = 2.5}, LS_FLOAT, 0},
                                   {{.as_int = 1}, LS_BOOL, 0}};
  const auto made = make(func);
  const LoadedObject loaded(compile_object({{made}, Target("llvm -mcpu=native"), {}}));
  testing::CountingContext context;
  const auto call = reinterpret_cast<ls_packed_function>(loaded.find(entry_symbol(made->name())));
  EXPECT_EQ(call(&context, arguments), LS_OK);
  EXPECT_EQ(data, (std::vector<float>{0, 2.5, 0, 0, 0, 2.5, 0, 0, 0, 2.5, 0, 0}));
}

Ptr<PrimFunc> calling(DataType dtype, Op op, std::vector<Expr> args) {
  const auto out = decl_buffer({1}, dtype, "out");
  return function_of({out}, store(out, make(Call{.op = op, .args = std::move(args)}, dtype), {0}));
}

TEST(compile, calls_functions_of_the_process_and_of_llvm) {
  std::vector<double> out(1);
  Kernel(calling(f64, op("call_pure_extern"), {string_imm("cbrt"), float_imm(f64, 27)}))
      .tensor(out)
      .run();
  EXPECT_DOUBLE_EQ(out[0], 3);
  Kernel(
      calling(f64, op("call_llvm_pure_intrin"),
              {string_imm("llvm.maxnum"), int_imm(u32, 2), float_imm(f64, 2), float_imm(f64, 5)}))
      .tensor(out)
      .run();
  EXPECT_EQ(out[0], 5);
}

TEST(compile, says_what_it_cannot_call) {
  EXPECT_STREQ(error_of([] {
                 Kernel(calling(f64, op("call_extern"),
                                {string_imm("no_such_function"), float_imm(f64, 1)}));
               }).what(),
               "load: this process has no function no_such_function\n"
               "  hint: load the library that has it into the process first");
  EXPECT_STREQ(error_of([] { Kernel(calling(f64, op("call_extern"), {})); }).what(),
               "call_extern: the first argument is not a name\n"
               "  hint: give the function's name as a text, first");
  EXPECT_STREQ(
      error_of([] {
        Kernel(calling(f64, op("call_llvm_intrin"), {string_imm("llvm.nothing"), int_imm(u32, 0)}));
      }).what(),
      "call_llvm_intrin: LLVM has no intrinsic 'llvm.nothing'\n"
      "  hint: give a name of LLVM's language reference");
  EXPECT_STREQ(
      error_of([] {
        Kernel(calling(f64, op("call_llvm_intrin"),
                       {string_imm("llvm.x86.avx2.psad.bw"), int_imm(u32, 1), float_imm(f64, 0)}));
      }).what(),
      "call_llvm_intrin: 'llvm.x86.avx2.psad.bw' takes other arguments than the 1 given\n"
      "  hint: compare the types of the arguments with LLVM's language reference");
  EXPECT_STREQ(
      error_of([] { Kernel(calling(f64, op("reinterpret"), {float_imm(f32, 0)})); }).what(),
      "reinterpret: float32 as float64 changes the number of bits\n"
      "  hint: reinterpret as a type with as many bits");
}

TEST(compile, what_was_not_lowered_is_a_bug) {
  EXPECT_THROW(Kernel(calling(f32, op("exp"), {float_imm(f32, 1)})), InternalError);
}

TEST(processor, is_asked_or_named) {
  EXPECT_EQ(preferred_vector_bits(Target("llvm")), 128);
  EXPECT_EQ(preferred_vector_bits(Target("llvm -mcpu=haswell")), 256);
  EXPECT_EQ(preferred_vector_bits(Target("llvm -mcpu=icelake-server")), 256);
  EXPECT_EQ(preferred_vector_bits(Target("llvm -mcpu=sapphirerapids")), 512);
  EXPECT_EQ(preferred_vector_bits(Target("llvm -mcpu=znver4")), 512);
  EXPECT_EQ(preferred_vector_bits(Target("llvm -mcpu=znver3")), 256);
  EXPECT_EQ(preferred_vector_bits(Target("llvm -mcpu=znver4 -vector-width=256")), 256);
  EXPECT_TRUE(has_features(Target("llvm -mattr=+avx2"), "+avx2"));
  EXPECT_FALSE(has_features(Target("llvm"), "+avx2"));
  EXPECT_STREQ(error_of([] { processor_of(Target("llvm -mcpu=pdp11")); }).what(),
               fmt::format("target: 'pdp11' is not a processor of {}\n  hint: use native, or a "
                           "name that `llc -mcpu=help` lists",
                           processor_of(Target("llvm")).triple)
                   .c_str());
  EXPECT_STREQ(error_of([] { processor_of(Target("llvm -mattr=+abacus")); }).what(),
               "target: '+abacus' is not a feature of x86_64 processors\n"
               "  hint: write e.g. -mattr=+avx512f,-fma");
  EXPECT_STREQ(error_of([] { processor_of(Target("llvm -mcpu=x -mtriple=pdp11")); }).what(),
               "target: there is no code generator for 'pdp11'\n"
               "  hint: name a machine of x86_64, aarch64 or riscv64, as in aarch64-linux-gnu");
  EXPECT_EQ(error_of([] { processor_of(Target("llvm -mcpu=native -mtriple=riscv64")); }).code(),
            "native_has_own_triple");
}

TEST(float_options, are_named) {
  const FloatOptions some =
      allow({.contract = false}, std::vector<std::string>{"no_nans", "reassociate"});
  EXPECT_TRUE(some.no_nans && some.reassociate);
  EXPECT_FALSE(some.contract || some.approximate);
  EXPECT_TRUE(allow({}, std::vector<std::string>{"all"}).approximate);
  EXPECT_STREQ(error_of([] { allow({}, std::vector<std::string>{"quick"}); }).what(),
               "fast_math: there is no 'quick'\n"
               "  hint: it takes all, contract, reassociate, no_nans, no_infs, no_signed_zeros, "
               "reciprocal, approximate, no_denormals");
}

}  // namespace
}  // namespace loopsmith
