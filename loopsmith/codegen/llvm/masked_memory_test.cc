// SPDX-License-Identifier: Apache-2.0
// Vectors of which a mask says which lanes are loaded and stored.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "loopsmith/codegen/llvm/testing/kernel.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

using testing::counted;
using testing::function_of;
using testing::Kernel;
using testing::ramp;

TEST(masked_memory, loads_an_element_for_the_lanes_that_want_it) {
  constexpr int lanes = 8;
  for (const std::string target : {"llvm -mcpu=native", "llvm -mcpu=haswell", "llvm"}) {
    const auto place = decl_buffer({1}, i64, "place"), in = decl_buffer({4}, f32, "in");
    const auto wanted = decl_buffer({1}, i32, "wanted"), out = decl_buffer({lanes}, f32, "out");
    const Expr all = ramp(0, 1, lanes), count = load(wanted, {0});
    const Expr one = make(Broadcast{.value = load(place, {0}), .lanes = lanes});
    const Expr mask = all < make(Broadcast{.value = count, .lanes = lanes});
    const Expr loaded = make(BufferLoad{.buffer = in, .indices = {one}, .predicate = mask});
    Kernel kernel(function_of({place, wanted, in, out}, store(out, loaded, {all})), {}, target);
    std::vector<float> from = counted(4), to(lanes, 77);
    // Where no lane wants it, the element is not accessed, wherever it is.
    std::vector<std::int64_t> where{std::int64_t{1} << 40};
    std::vector<std::int32_t> how_many{0};
    kernel.tensor(where).tensor(how_many).tensor(from).tensor(to);
    kernel.run();
    EXPECT_EQ(to, std::vector<float>(lanes)) << target;
    where[0] = 2;
    how_many[0] = 3;
    kernel.run();
    std::vector<float> expected(lanes);
    std::fill_n(expected.begin(), 3, from[2]);
    EXPECT_EQ(to, expected) << target;
  }
}

TEST(masked_memory, gathers_and_scatters_under_a_mask) {
  constexpr int lanes = 16;
  for (const std::string target : {"llvm -mcpu=native", "llvm -mcpu=haswell", "llvm"}) {
    for (const DataType index_type : {i32, i64, u8}) {
      const auto index = decl_buffer({lanes}, index_type, "index");
      const auto in = decl_buffer({64}, f32, "in"), out = decl_buffer({64}, f32, "out");
      const Expr all = ramp(0, 1, lanes);
      const Expr places = load(index, {all});
      const Expr mask = truncmod(all, make(Broadcast{.value = 3, .lanes = lanes})) !=
                        make(Broadcast{.value = 0, .lanes = lanes});
      const Expr gathered = make(BufferLoad{.buffer = in, .indices = {places}, .predicate = mask});
      const auto func = function_of(
          {index, in, out},
          make(BufferStore{
              .buffer = out, .value = gathered, .indices = {places}, .predicate = mask}));
      std::vector<float> from = counted(64), to(64), expected(64);
      std::vector<std::int32_t> indices(lanes);
      std::mt19937 random(7);
      for (int& place : indices) place = static_cast<int>(random() % 64);
      // Lanes that are off point far away: they must not be accessed.
      for (std::size_t lane = 0; lane < lanes; lane += 3)
        indices[lane] = index_type == u8 ? 255 : 1 << 30;
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        if (lane % 3 != 0)
          expected[static_cast<std::size_t>(indices[lane])] =
              from[static_cast<std::size_t>(indices[lane])];
      }
      std::vector<std::int64_t> wide(indices.begin(), indices.end());
      std::vector<std::uint8_t> narrow(indices.begin(), indices.end());
      Kernel kernel(func, {}, target);
      if (index_type == i32) kernel.tensor(indices);
      if (index_type == i64) kernel.tensor(wide);
      if (index_type == u8) kernel.tensor(narrow);
      kernel.tensor(from).tensor(to).run();
      EXPECT_EQ(to, expected) << target << " " << to_string(index_type);
    }
  }
}

TEST(masked_memory, masks_the_tail_of_a_loop) {
  constexpr int lanes = 16;
  const auto n = size_var("n");
  const auto in = decl_buffer({n}, f32, "in"), out = decl_buffer({n}, f32, "out");
  const auto i = var("i");
  const Expr place = ramp(Expr(i) * lanes, 1, lanes);
  const Expr mask = place < make(Broadcast{.value = n, .lanes = lanes});
  const Expr loaded = make(BufferLoad{.buffer = in, .indices = {place}, .predicate = mask});
  const auto func = function_of(
      {in, out},
      for_loop(i, 0, ceildiv(n, lanes),
               make(BufferStore{
                   .buffer = out, .value = loaded, .indices = {place}, .predicate = mask})));
  for (const int count : {0, 1, 15, 16, 17, 100}) {
    std::vector<float> from = counted(count), to(static_cast<std::size_t>(count) + 4, -1);
    Kernel(func).tensor(from, {count}).tensor(to, {count}).run();
    for (int k = 0; k < count + 4; ++k) {
      EXPECT_EQ(to[static_cast<std::size_t>(k)], k < count ? static_cast<float>(k + 1) : -1);
    }
  }
}

TEST(masked_memory, keeps_a_masked_tile_in_registers) {
  const auto in = decl_buffer({16}, f32, "in"), out = decl_buffer({16}, f32, "out");
  const auto tile = decl_buffer({16}, f32, "tile", "local");
  const Expr lanes = make(Ramp{.base = 0, .stride = 1, .lanes = 16});
  const Expr mask = lanes < make(Broadcast{.value = 11, .lanes = 16});
  const Expr all = lanes < make(Broadcast{.value = 16, .lanes = 16});
  const auto read = [&](const Ptr<Buffer>& buffer, const Expr& predicate) {
    return make(BufferLoad{.buffer = buffer, .indices = {lanes}, .predicate = predicate});
  };
  const Expr zero = make(Broadcast{.value = float_imm(f32, 0), .lanes = 16});
  const Stmt body = seq({store(tile, read(in, all), {lanes}),
                         make(BufferStore{.buffer = out,
                                          .value = select(mask, read(tile, mask), zero),
                                          .indices = {lanes},
                                          .predicate = mask})});
  const auto func = function_of(
      {in, out}, make(Allocate{.dtype = f32,
                               .extents = {16},
                               .condition = true,
                               .buffer_var = tile->data,
                               .body = make(DeclBuffer{.buffer = tile, .body = body})}));
  std::vector<float> from(16, 3), to(16, -1), expected(16, -1);
  std::fill_n(expected.begin(), 11, 3.F);
  EXPECT_EQ(Kernel(func).tensor(from).tensor(to).run(), LS_OK);
  EXPECT_EQ(to, expected);
  const std::string text = llvm_text({{func}, Target("llvm -mcpu=x86-64-v4"), {}});
  EXPECT_EQ(text.find("alloca"), std::string::npos) << text;
  EXPECT_EQ(text.find("@llvm.masked.load"), std::string::npos) << text;
}

TEST(masked_memory, keeps_masked_sums_in_registers) {
  const auto in = decl_buffer({11}, f32, "in"), out = decl_buffer({16}, f32, "out");
  const auto sums = decl_buffer({16}, f32, "sums", "local");
  const Expr lanes = make(Ramp{.base = 0, .stride = 1, .lanes = 16});
  const Expr mask = lanes < make(Broadcast{.value = 11, .lanes = 16});
  const auto read = [&](const Ptr<Buffer>& buffer) {
    return make(BufferLoad{.buffer = buffer, .indices = {lanes}, .predicate = mask});
  };
  const Stmt body = seq(
      {store(sums, load(out, {lanes}), {lanes}),
       make(BufferStore{
           .buffer = sums, .value = read(sums) + read(in), .indices = {lanes}, .predicate = mask}),
       store(out, load(sums, {lanes}), {lanes})});
  const auto func = function_of(
      {in, out}, make(Allocate{.dtype = f32,
                               .extents = {16},
                               .condition = true,
                               .buffer_var = sums->data,
                               .body = make(DeclBuffer{.buffer = sums, .body = body})}));
  std::vector<float> from(11, 3), to(16, -1), expected(16, -1);
  std::fill_n(expected.begin(), 11, 2.F);
  EXPECT_EQ(Kernel(func).tensor(from).tensor(to).run(), LS_OK);
  EXPECT_EQ(to, expected);
  const std::string text = llvm_text({{func}, Target("llvm -mcpu=x86-64-v4"), {}});
  EXPECT_EQ(text.find("alloca"), std::string::npos) << text;
  EXPECT_EQ(text.find("@llvm.masked.store"), std::string::npos) << text;
}

TEST(masked_memory, reads_zero_where_a_mask_says_no) {
  const auto in = decl_buffer({11}, f32, "in"), out = decl_buffer({16}, f32, "out");
  const Expr lanes = make(Ramp{.base = 0, .stride = 1, .lanes = 16});
  const Expr mask = lanes < make(Broadcast{.value = 11, .lanes = 16});
  const Expr read = make(BufferLoad{.buffer = in, .indices = {lanes}, .predicate = mask});
  for (const double other : {0.0, -0.0, 2.0}) {
    const Expr splat = make(Broadcast{.value = float_imm(f32, other), .lanes = 16});
    const auto func = function_of({in, out}, store(out, select(mask, read, splat), {lanes}));
    std::vector<float> from(11, 3), to(16, -1);
    EXPECT_EQ(Kernel(func).tensor(from).tensor(to).run(), LS_OK);
    EXPECT_EQ(to[10], 3);
    EXPECT_EQ(std::signbit(to[11]), std::signbit(other));
    EXPECT_EQ(to[11], other);
  }
}

}  // namespace
}  // namespace loopsmith
