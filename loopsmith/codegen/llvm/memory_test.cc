// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "loopsmith/codegen/llvm/testing/kernel.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/runtime/testing/error_of.h"

namespace loopsmith {
namespace {

using testing::counted;
using testing::function_of;
using testing::Kernel;
using testing::ramp;

/// out[0..lanes) = in[base + stride * lane], the input no longer than it must be.
void check_strided_load(int base, int stride, int lanes, const std::string& target) {
  const int size = std::max(base, base + stride * (lanes - 1)) + 1;
  const auto in = decl_buffer({size}, f32, "in"), out = decl_buffer({lanes}, f32, "out");
  const auto func = function_of(
      {in, out}, store(out, load(in, {ramp(base, stride, lanes)}), {ramp(0, 1, lanes)}));
  std::vector<float> from = counted(size), to(static_cast<std::size_t>(lanes));
  Kernel(func, {}, target).tensor(from).tensor(to).run();
  for (int lane = 0; lane < lanes; ++lane) {
    ASSERT_EQ(to[static_cast<std::size_t>(lane)],
              from[static_cast<std::size_t>(base + stride * lane)])
        << base << " + " << stride << " * " << lane;
  }
}

TEST(memory, loads_lanes_at_any_stride) {
  for (const std::string target : {"llvm -mcpu=native", "llvm -mcpu=haswell"}) {
    for (const int lanes : {2, 3, 8, 16, 24}) {
      for (const int stride : {1, 2, 3, 4, 5, 7}) check_strided_load(3, stride, lanes, target);
      for (const int stride : {-1, -2, -3}) check_strided_load(90, stride, lanes, target);
    }
  }
}

TEST(memory, loads_members_of_records) {
  constexpr int records = 24;
  for (const std::string target : {"llvm -mcpu=native", "llvm -mcpu=haswell"}) {
    for (const int lanes : {2, 3, 8, 16}) {
      for (const int stride : {2, 3, 4}) {
        const auto in = decl_buffer({records * stride}, f32, "in");
        const auto out = decl_buffer({records * stride}, f32, "out");
        const auto i = var("i");
        std::vector<Stmt> copies;
        for (int member = 0; member < stride; ++member) {
          const Expr first = i * (lanes * stride) + member;
          copies.push_back(store(out, load(in, {ramp(first, stride, lanes)}),
                                 {ramp(i * lanes + records * member, 1, lanes)}));
        }
        const auto func = function_of({in, out}, for_loop(i, 0, records / lanes, seq(copies)));
        const std::vector<float> from = counted(records * stride);
        std::vector<float> given = from, to(given.size());
        Kernel(func, {}, target).tensor(given).tensor(to).run();
        for (int number = 0; number < records / lanes * lanes * stride; ++number) {
          const int record = number / stride, member = number % stride;
          ASSERT_EQ(to[static_cast<std::size_t>(records * member + record)],
                    from[static_cast<std::size_t>(number)])
              << lanes << " lanes, member " << member << " of " << stride;
        }
      }
    }
  }
}

TEST(memory, stores_lanes_at_any_stride) {
  constexpr int lanes = 8, size = 48;
  for (const int stride : {1, 2, 3, -1, -2}) {
    const auto in = decl_buffer({lanes}, f32, "in"), out = decl_buffer({size}, f32, "out");
    const auto func = function_of(
        {in, out}, store(out, load(in, {ramp(0, 1, lanes)}), {ramp(20, stride, lanes)}));
    std::vector<float> from = counted(lanes), to(size), expected(size);
    for (int lane = 0; lane < lanes; ++lane) {
      const int place = 20 + stride * lane;
      expected[static_cast<std::size_t>(place)] = from[static_cast<std::size_t>(lane)];
    }
    Kernel(func).tensor(from).tensor(to).run();
    EXPECT_EQ(to, expected) << stride;
  }
}

TEST(memory, buffers_of_vectors_are_indexed_by_vectors) {
  const DataType quad = f32.with_lanes(4);
  const auto in = decl_buffer({4}, quad, "in"), out = decl_buffer({4}, quad, "out");
  const auto i = var("i");
  const auto reversed =
      function_of({in, out}, for_loop(i, 0, 4, store(out, load(in, {3 - Expr(i)}), {i})));
  std::vector<float> from = counted(16), to(16);
  Kernel(reversed).tensor(from).tensor(to).run();
  EXPECT_EQ(to, (std::vector<float>{13, 14, 15, 16, 9, 10, 11, 12, 5, 6, 7, 8, 1, 2, 3, 4}));
  // The same at once: each index stands for four elements.
  const auto at_once =
      function_of({in, out}, store(out, load(in, {ramp(3, -1, 4)}), {ramp(0, 1, 4)}));
  std::vector<float> again(16);
  Kernel(at_once).tensor(from).tensor(again).run();
  EXPECT_EQ(again, to);
}

TEST(memory, packed_elements_keep_their_neighbours) {
  const DataType int4{TypeCode::int_, 4};
  const auto in = decl_buffer({16}, int4, "in"), out = decl_buffer({16}, int4, "out");
  const Expr mask = ramp(0, 1, 16) >= make(Broadcast{.value = 5, .lanes = 16});
  const Expr loaded =
      make(BufferLoad{.buffer = in, .indices = {ramp(0, 1, 16)}, .predicate = mask});
  const auto func = function_of(
      {in, out},
      make(BufferStore{
          .buffer = out, .value = loaded, .indices = {ramp(0, 1, 16)}, .predicate = mask}));
  std::vector<std::uint8_t> from{0x21, 0x43, 0x65, 0x87, 0xa9, 0xcb, 0xed, 0x0f}, to(8, 0xff);
  Kernel(func).tensor(from).tensor(to).run();
  EXPECT_EQ(to, (std::vector<std::uint8_t>{0xff, 0xff, 0x6f, 0x87, 0xa9, 0xcb, 0xed, 0x0f}));
  const auto odd = decl_buffer({4}, DataType{TypeCode::uint, 3}, "odd");
  const UserError error =
      error_of([&] { Kernel(function_of({odd}, store(odd, load(odd, {1}), {0}))); });
  EXPECT_STREQ(error.what(),
               "buffer odd: elements of uint3 do not fill bytes\n"
               "  hint: store it as a type of 1, 2, 4 or 8 bits");
}

/// T of `count` elements: filled from `in`, doubled, read back in reverse.
Ptr<PrimFunc> through_memory(const Expr& count, const Ptr<Buffer>& in, const Ptr<Buffer>& out) {
  const auto t = decl_buffer({count}, f32, "T");
  const auto i = var("i"), j = var("j");
  const Stmt body = seq({for_loop(i, 0, count, store(t, load(in, {i}) * float_imm(f32, 2), {i})),
                         for_loop(j, 0, count, store(out, load(t, {count - 1 - j}), {j}))});
  return function_of({in, out},
                     make(Allocate{.dtype = f32,
                                   .extents = {count},
                                   .condition = true,
                                   .buffer_var = t->data,
                                   .body = make(DeclBuffer{.buffer = t, .body = body})}));
}

TEST(memory, allocations_are_given_back) {
  const auto n = size_var("n");
  struct Case {
    Expr count;
    int size;
    int allocations;
  };
  for (const Case& each :
       {Case{100, 100, 0}, Case{10000, 10000, 1}, Case{n, 50, 1}, Case{n, 0, 1}}) {
    const auto in = decl_buffer({each.count}, f32, "in"),
               out = decl_buffer({each.count}, f32, "out");
    Kernel kernel(through_memory(each.count, in, out));
    std::vector<float> from = counted(each.size), to(from.size());
    kernel.tensor(from, {each.size}).tensor(to, {each.size});
    EXPECT_EQ(kernel.run(), LS_OK);
    for (std::size_t k = 0; k < to.size(); ++k) EXPECT_EQ(to[k], 2 * from[to.size() - 1 - k]);
    EXPECT_EQ(kernel.context.total_allocations, each.allocations);
    EXPECT_EQ(kernel.context.allocations, 0);
  }
}

TEST(memory, running_out_of_it_is_an_error) {
  const auto n = size_var("n");
  const auto in = decl_buffer({n}, f32, "in"), out = decl_buffer({n}, f32, "out");
  Kernel kernel(through_memory(n, in, out));
  std::vector<float> from = counted(8), to(8);
  kernel.tensor(from).tensor(to);
  kernel.context.is_out_of_memory = true;
  EXPECT_EQ(kernel.run(), LS_OUT_OF_MEMORY);
  EXPECT_EQ(kernel.context.error.code, LS_OUT_OF_MEMORY);
  EXPECT_GE(kernel.context.error.expected, 32);

  // A size that no computer has, and a negative one.
  const auto m = var("m", i64);
  const auto t = decl_buffer({m}, f32, "T");
  PrimFunc func{.params = {m},
                .body = make(Allocate{
                    .dtype = f32,
                    .extents = {m, m},
                    .condition = true,
                    .buffer_var = t->data,
                    .body = make(DeclBuffer{
                        .buffer = t, .body = store(t, float_imm(f32, 1), {int_imm(i64, 0)})})})};
  for (const std::int64_t size : {INT64_C(1) << 40, INT64_C(-1)}) {
    Kernel huge(make(func));
    EXPECT_EQ(huge.integer(size).run(), LS_OUT_OF_MEMORY) << size;
    EXPECT_EQ(huge.context.total_allocations, 0);
  }
}

TEST(memory, every_way_out_gives_it_back) {
  // for i: T = allocate(n); if in[i] == 1: continue, 2: break, 3: return, 4: fail
  const auto n = size_var("n");
  const auto in = decl_buffer({n}, i32, "in"), out = decl_buffer({n}, i32, "out");
  const auto t = decl_buffer({n}, i32, "T");
  const auto i = var("i");
  const Expr what = load(in, {i});
  const auto when = [&](int value, const Stmt& then) {
    return make(IfThenElse{.condition = what == value, .then_case = then});
  };
  const Stmt body = seq({store(t, what, {i}), when(1, make(Continue{})), when(2, make(Break{})),
                         when(3, make(Return{})),
                         make(AssertStmt{.condition = what != 4,
                                         .message = string_imm("four"),
                                         .body = store(out, load(t, {i}) + 100, {i})})});
  const Stmt loop = for_loop(i, 0, n,
                             make(Allocate{.dtype = i32,
                                           .extents = {n},
                                           .condition = true,
                                           .buffer_var = t->data,
                                           .body = make(DeclBuffer{.buffer = t, .body = body})}));
  const auto func = function_of({in, out}, seq({loop, store(out, 7, {0})}));
  const auto run = [&](std::vector<std::int32_t> from, int status) {
    std::vector<std::int32_t> to(from.size());
    Kernel kernel(func);
    EXPECT_EQ(kernel.tensor(from).tensor(to).run(), status);
    EXPECT_EQ(kernel.context.allocations, 0);
    if (status != LS_OK) {
      EXPECT_STREQ(kernel.context.error.message, "four");
    }
    return to;
  };
  EXPECT_EQ(run({0, 1, 0}, LS_OK), (std::vector<std::int32_t>{7, 0, 100}));
  EXPECT_EQ(run({0, 2, 0}, LS_OK), (std::vector<std::int32_t>{7, 0, 0}));
  EXPECT_EQ(run({0, 3, 0}, LS_OK), (std::vector<std::int32_t>{100, 0, 0}));
  EXPECT_EQ(run({0, 4, 0}, LS_ASSERTION), (std::vector<std::int32_t>{100, 0, 0}));
}

TEST(memory, iterations_share_what_each_would_take) {
  // for i in n: T = allocate(count); T[0] = in[i]; out[i] = T[0]
  const auto n = size_var("n");
  const auto in = decl_buffer({n}, f32, "in"), out = decl_buffer({n}, f32, "out");
  const auto i = var("i");
  const auto allocations = [&](const Expr& count, ForKind kind, int size, const char* target) {
    const auto t = decl_buffer({count}, f32, "T");
    const Stmt body = seq({store(t, load(in, {i}), {0}), store(out, load(t, {0}), {i})});
    const Stmt loop = for_loop(i, 0, n,
                               make(Allocate{.dtype = f32,
                                             .extents = {count},
                                             .condition = true,
                                             .buffer_var = t->data,
                                             .body = make(DeclBuffer{.buffer = t, .body = body})}),
                               kind);
    Kernel kernel(function_of({in, out}, loop), {}, target);
    std::vector<float> from = counted(size), to(from.size());
    EXPECT_EQ(kernel.tensor(from).tensor(to).run(), LS_OK);
    EXPECT_EQ(to, from);
    EXPECT_EQ(kernel.context.allocations, 0);
    return kernel.context.total_allocations;
  };
  for (const char* target : {"llvm -mcpu=native", "c"}) {
    EXPECT_EQ(allocations(n, ForKind::serial, 50, target), 1);
    EXPECT_EQ(allocations(n, ForKind::serial, 0, target), 0);
    EXPECT_EQ(allocations(n + i, ForKind::serial, 50, target), 50) << "each of another size";
    EXPECT_LE(allocations(n, ForKind::parallel, 5000, target),
              4 * ThreadPool::shared()->num_threads())
        << "one for each piece of the loop";
  }
}

TEST(memory, constants_are_part_of_the_code) {
  const auto t = decl_buffer({3}, bf16, "T");
  const auto out = decl_buffer({3}, f32, "out");
  const auto i = var("i");
  const Stmt body = for_loop(i, 0, 3, store(out, cast(f32, load(t, {i})), {i}));
  const auto func = function_of(
      {out},
      make(AllocateConst{.dtype = bf16,
                         .extents = {3},
                         .data = {float_imm(bf16, 1.5), float_imm(bf16, -2), float_imm(bf16, 0)},
                         .buffer_var = t->data,
                         .body = make(DeclBuffer{.buffer = t, .body = body})}));
  std::vector<float> values(3, 9);
  Kernel(func).tensor(values).run();
  EXPECT_EQ(values, (std::vector<float>{1.5, -2, 0}));
}

TEST(memory, conditions_guard_the_loads_behind_them) {
  // out[i] = i < 2 and in[i] > 0 (in has two elements), and if_then_else(i < 2, in[i], 5)
  const auto in = decl_buffer({2}, f32, "in");
  const auto out = decl_buffer({4}, boolean, "out"), chosen = decl_buffer({4}, f32, "chosen");
  const auto i = var("i");
  const Expr far = load(in, {Expr(i) * (1 << 28)});
  const Expr is_first = Expr(i) < 1;
  const auto func = function_of(
      {in, out, chosen},
      for_loop(i, 0, 4,
               seq({store(out, make(And{.a = is_first, .b = far > float_imm(f32, 0)}), {i}),
                    store(chosen, if_then_else(is_first, far, float_imm(f32, 5)), {i})})));
  std::vector<float> from{3, 4}, values(4);
  std::vector<std::uint8_t> flags(4, 9);
  Kernel(func).tensor(from).tensor(flags).tensor(values).run();
  EXPECT_EQ(flags, (std::vector<std::uint8_t>{1, 0, 0, 0}));
  EXPECT_EQ(values, (std::vector<float>{3, 5, 5, 5}));
}

TEST(memory, non_temporal_stores_need_aligned_memory) {
  constexpr int count = 256;
  const auto in = decl_buffer({count}, f32, "in"), out = decl_buffer({count}, f32, "out");
  const auto i = var("i");
  const Expr place = ramp(Expr(i) * 16, 1, 16);
  const Stmt loop = for_loop(i, 0, count / 16, store(out, load(in, {place}), {place}));
  const auto func = function_of(
      {in, out}, make(AttrStmt{.node = out, .attr_key = "nontemporal", .value = 1, .body = loop}));
  Kernel kernel(func, {}, "llvm -mcpu=sapphirerapids");
  EXPECT_NE(kernel.assembly().find("vmovntps"), std::string::npos);
  EXPECT_NE(kernel.assembly().find("sfence"), std::string::npos);
  EXPECT_NE(kernel.assembly().find("vmovups"), std::string::npos);  // Where it is not aligned.
  for (const std::size_t skipped : {0, 1, 4, 7}) {                  // Floats.
    std::vector<float> from = counted(count), to(count + skipped);
    Kernel run(func);
    run.tensor(from).tensor(to).at_byte(skipped * sizeof(float)).run();
    std::vector<float> expected(skipped, 0);
    expected.insert(expected.end(), from.begin(), from.end());
    EXPECT_EQ(to, expected) << skipped;
  }
}

TEST(memory, nothing_overlaps_where_the_function_says_so) {
  // out[0] += in[i]: kept in a register only when in and out are known to be apart.
  const auto in = decl_buffer({64}, f32, "in"), out = decl_buffer({1}, f32, "out");
  const auto i = var("i");
  const Stmt loop = for_loop(i, 0, 64, store(out, load(out, {0}) + load(in, {i}), {0}));
  auto apart = function_of({in, out}, loop);
  PrimFunc copy = *apart;
  copy.attrs = {};
  const auto together = make(copy);
  std::vector<float> values = counted(64);
  std::vector<float> sum(1);
  Kernel(apart).tensor(values).tensor(sum).run();
  EXPECT_EQ(sum[0], 2080);
  // in[1] is also out[0]: each addition is seen by the next load.
  std::vector<float> shared(64, 1);
  Kernel kernel(together);
  kernel.tensor(shared);
  std::vector<float> expected = shared;
  kernel.tensor(shared, {64});
  for (const float& value : expected) expected[0] += value;
  kernel.run();
  EXPECT_EQ(shared[0], expected[0]);
}

/// Writes eleven lanes of sixteen, by a tile on the stack, which a mask reads as it writes them.
/// Adds eleven of sixteen elements to sums on the stack, which the others keep.
/// A choice between what a mask reads and 0 is what the mask reads.
TEST(memory, finds_what_lies_ahead_of_a_named_index) {
  const auto in = decl_buffer({64}, f32, "in"), out = decl_buffer({14}, f32, "out");
  const auto i = var("i"), near = var("near"), far = var("far");
  const auto let = [](const Ptr<Var>& name, const Expr& value, const Stmt& body) {
    return make(LetStmt{.value = value, .var = name, .body = body});
  };
  const Expr first = load(in, {near + 3}), second = load(in, {far + -1});
  const Stmt body = seq(
      {store(out, first * 100 + second, {i * 2}), store(out, cast(f32, near + far), {i * 2 + 1})});
  const auto func =
      function_of({in, out}, for_loop(i, 0, 7, let(near, i * 4 + 5, let(far, near + 20, body))));
  std::vector<float> from(64), to(14);
  std::iota(from.begin(), from.end(), 0.F);
  EXPECT_EQ(Kernel(func).tensor(from).tensor(to).run(), LS_OK);
  for (std::size_t k = 0; k < 7; ++k) {
    const auto place = static_cast<float>(k) * 4 + 5;
    EXPECT_EQ(to[2 * k], (place + 3) * 100 + place + 19);
    EXPECT_EQ(to[2 * k + 1], place * 2 + 20);
  }
}

}  // namespace
}  // namespace loopsmith
