// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/transpose_in_registers.h"

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/testing/evaluate.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct TransposeInRegisters : ::testing::Test {
  Ptr<Var> i = var("i"), j = var("j"), n = size_var("n"), m = size_var("m");

  static Stmt vectorized(const Ptr<Var>& variable, int extent, Stmt body) {
    return for_loop(variable, 0, extent, std::move(body), ForKind::vectorized);
  }
  /// for i in vectorized(columns): for j in vectorized(rows): body
  Stmt tile(int columns, int rows, Stmt body) const {
    return vectorized(i, columns, vectorized(j, rows, std::move(body)));
  }
  /// How many shuffles the pass makes of a function.
  static int shuffles(const Ptr<PrimFunc>& func, int vector_bits = 256) {
    int count = 0;
    pre_order_visit(transpose_in_registers(func, vector_bits)->body, [&](const Ref& ref) {
      count += ref.is<Shuffle>() ? 1 : 0;
      return true;
    });
    return count;
  }
};

TEST_F(TransposeInRegisters, exchanges_pairs_of_vectors_in_a_round_for_each_bit) {
  const Ptr<Buffer> a = decl_buffer({64}, f32, "A"), b = decl_buffer({64}, f32, "B");
  const Stmt copy = tile(4, 4, store(b, load(a, {j * 9 + i}), {i * 4 + j}));
  EXPECT_EQ(script(transpose_in_registers(function({a, b}, copy), 256)),
            R"(# from loopsmith.script import tir as T

@T.prim_func(private=True)
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    A_tile = T.decl_buffer((16,), scope="local")
    lanes: T.float32x4 = A[0:4]
    lanes_1: T.float32x4 = A[9:13]
    lanes_2: T.float32x4 = A[18:22]
    lanes_3: T.float32x4 = A[27:31]
    lanes_4: T.float32x4 = T.Shuffle([lanes, lanes_2], [0, 4, 1, 5])
    lanes_5: T.float32x4 = T.Shuffle([lanes, lanes_2], [2, 6, 3, 7])
    lanes_6: T.float32x4 = T.Shuffle([lanes_1, lanes_3], [0, 4, 1, 5])
    lanes_7: T.float32x4 = T.Shuffle([lanes_1, lanes_3], [2, 6, 3, 7])
    lanes_8: T.float32x4 = T.Shuffle([lanes_4, lanes_6], [0, 4, 1, 5])
    lanes_9: T.float32x4 = T.Shuffle([lanes_4, lanes_6], [2, 6, 3, 7])
    lanes_10: T.float32x4 = T.Shuffle([lanes_5, lanes_7], [0, 4, 1, 5])
    lanes_11: T.float32x4 = T.Shuffle([lanes_5, lanes_7], [2, 6, 3, 7])
    A_tile[0:4] = lanes_8
    A_tile[4:8] = lanes_9
    A_tile[8:12] = lanes_10
    A_tile[12:16] = lanes_11
    for i in T.unroll(4):
        for j in T.vectorized(4):
            B[i * 4 + j] = A_tile[i * 4 + j])");
}

TEST_F(TransposeInRegisters, shuffles_once_what_one_vector_holds) {
  const Ptr<Buffer> a = decl_buffer({64}, i16, "A"), b = decl_buffer({64}, i16, "B");
  const auto text = [&](int columns, int rows) {
    const Stmt copy = tile(columns, rows, store(b, load(a, {j * 20 + i}), {i * rows + j + 3}));
    return script(transpose_in_registers(function({a, b}, copy), 128));
  };
  EXPECT_NE(text(4, 2).find("B[3:11] = T.Shuffle([lanes, lanes_1], [0, 4, 1, 5, 2, 6, 3, 7])"),
            std::string::npos)
      << text(4, 2);
}

TEST_F(TransposeInRegisters, shuffles_a_few_rows_as_often_as_they_are) {
  const Ptr<Buffer> a = decl_buffer({64}, f32, "A"), b = decl_buffer({64}, f32, "B");
  const auto copy = [&](int columns, int rows) {
    return function({a, b},
                    tile(columns, rows, store(b, load(a, {j * 20 + i}), {i * rows + j + 3})));
  };
  const std::string text = script(transpose_in_registers(copy(4, 3), 128));
  EXPECT_NE(text.find("    lanes_2: T.float32x4 = A[40:44]\n"
                      "    B[3:7] = T.Shuffle([lanes, lanes_1, lanes_2], [0, 4, 8, 1])\n"
                      "    B[7:11] = T.Shuffle([lanes, lanes_1, lanes_2], [5, 9, 2, 6])\n"
                      "    B[11:15] = T.Shuffle([lanes, lanes_1, lanes_2], [10, 3, 7, 11])"),
            std::string::npos)
      << text;
  EXPECT_EQ(shuffles(copy(8, 3), 128), 0);  // A row is more than a vector.
  EXPECT_EQ(shuffles(copy(4, 9), 128), 0);  // Nine rows are no few.
}

TEST_F(TransposeInRegisters, takes_quotient_and_rest_of_one_loop_for_two_loops) {
  const Ptr<Buffer> a = decl_buffer({64}, f32, "A"), b = decl_buffer({64}, f32, "B");
  const Ptr<Var> part = var("part");
  const auto copy = [&](const Expr& x, int by) {
    const Expr index = floormod(x, by) * 20 + floordiv(x, by);
    const Stmt body = vectorized(i, 8, store(b, load(a, {index}), {part * 8 + i}));
    return function({a, b}, for_loop(part, 0, 2, body));
  };
  const std::string text = script(transpose_in_registers(copy(part * 8 + i, 2), 256));
  EXPECT_NE(text.find("        lanes: T.float32x4 = A[part * 4:part * 4 + 4]\n"
                      "        lanes_1: T.float32x4 = A[part * 4 + 20:part * 4 + 20 + 4]\n"
                      "        B[part * 8:part * 8 + 8] = "
                      "T.Shuffle([lanes, lanes_1], [0, 4, 1, 5, 2, 6, 3, 7])"),
            std::string::npos)
      << text;
  EXPECT_EQ(shuffles(copy(part * 8 + i + 1, 2)), 0);  // Pairs do not start at the first lane.
  EXPECT_EQ(shuffles(copy(part * 8 + i, 3)), 0);      // Threes do not end at the last.
}

TEST_F(TransposeInRegisters, computes_what_the_loops_compute_for_each_size_and_type) {
  for (const DataType type : {i8, i16, i32, f32, f64}) {
    for (const int rows : {2, 3, 4, 7, 8, 16, 32}) {
      for (const int columns : {4, 8, 16, 24}) {
        // A few rows are exchanged only where each is one vector.
        if (rows % 4 != 0 && columns * type.bits > 256) continue;
        const Ptr<Buffer> a = decl_buffer({rows * 40}, type, "A");
        const Ptr<Buffer> b = decl_buffer({columns * rows}, type, "B");
        const auto func = function(
            {a, b}, tile(columns, rows, store(b, load(a, {j * 40 + i + 3}), {i * rows + j})));
        EXPECT_GT(shuffles(func), 0);
        TestArgument from{.shape = {rows * 40}}, to{.shape = {columns * rows}};
        for (int each = 0; each < rows * 40; ++each) from.elements.push_back(each * 7 % 100);
        to.elements.resize(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows));
        std::vector<TestArgument> before{from, to}, after = before;
        evaluate(func, before);
        evaluate(transpose_in_registers(func, 256), after);
        EXPECT_EQ(before, after) << columns << " x " << rows;
      }
    }
  }
}

TEST_F(TransposeInRegisters, asks_once_whether_a_condition_holds_in_all_of_the_tile) {
  const Ptr<Buffer> a = decl_buffer({n * m}, f32, "A"), b = decl_buffer({n * m}, f32, "B");
  const Ptr<Var> row = var("row"), column = var("column");
  const Stmt copy = tile(8, 8,
                         if_then(column * 8 + i < m && row * 8 + j < n,
                                 store(b, load(a, {(row * 8 + j) * m + column * 8 + i}),
                                       {(column * 8 + i) * n + row * 8 + j})));
  const auto func =
      function({a, b}, for_loop(row, 0, ceildiv(n, 8), for_loop(column, 0, ceildiv(m, 8), copy)));
  const std::string text = script(transpose_in_registers(func, 256));
  EXPECT_NE(text.find("if column * 8 + 7 < m and row * 8 + 7 < n:"), std::string::npos) << text;
  EXPECT_NE(text.find("if column * 8 < m and row * 8 < n:"), std::string::npos) << text;
}

TEST_F(TransposeInRegisters, asks_once_whether_a_minimum_changes_nothing) {
  const Ptr<Buffer> a = decl_buffer({200}, i16, "A"), b = decl_buffer({64}, i16, "B");
  const Ptr<Var> part = var("part");
  const Stmt copy =
      tile(4, 4, store(b, load(a, {j * 20 + min(part * 4 + i, 18)}), {part * 16 + i * 4 + j}));
  const auto func = function({a, b}, for_loop(part, 0, 4, copy));
  const std::string text = script(transpose_in_registers(func, 256));
  EXPECT_NE(text.find("if part < 4:"), std::string::npos) << text;
  EXPECT_NE(text.find("T.Shuffle([lanes, lanes_1, lanes_2, lanes_3]"), std::string::npos) << text;
  EXPECT_NE(text.find("T.min(part * 4 + i, 18)"), std::string::npos) << text;
  TestArgument from{.shape = {200}}, to{.shape = {64}};
  for (int each = 0; each < 200; ++each) from.elements.push_back(each * 7 % 100);
  to.elements.resize(64);
  std::vector<TestArgument> before{from, to}, after = before;
  evaluate(func, before);
  evaluate(transpose_in_registers(func, 256), after);
  EXPECT_EQ(before, after);
}

TEST_F(TransposeInRegisters, leaves_loads_of_what_is_stored_and_of_what_may_not_be_there) {
  const Ptr<Buffer> a = decl_buffer({64}, f32, "A"), b = decl_buffer({64}, f32, "B");
  const Expr crossed = load(a, {j * 8 + i});
  const auto made = [&](const Stmt& body, int columns = 8, int rows = 8) {
    return shuffles(function({a, b}, tile(columns, rows, body)));
  };
  EXPECT_EQ(made(store(b, crossed, {i * 8 + j})), 24);
  EXPECT_EQ(made(store(a, crossed, {i * 8 + j})), 0);
  EXPECT_EQ(made(store(b, if_then_else(i < j, crossed, f(0)), {i * 8 + j})), 0);
  EXPECT_EQ(made(if_then(load(b, {i}) < f(1), store(b, crossed, {i * 8 + j}))), 0);
  // Not contiguous along the outer loop; or along the inner one, too; or the same there.
  EXPECT_EQ(made(store(b, load(a, {j * 8 + i * 2}), {i * 8 + j})), 0);
  EXPECT_EQ(made(store(b, load(a, {j + i}), {i * 8 + j})), 0);
  EXPECT_EQ(made(store(b, load(a, {i}), {i * 8 + j})), 0);
  // No square of four or more.
  EXPECT_EQ(made(store(b, crossed, {i * 8 + j}), 8, 6), 0);
}

TEST_F(TransposeInRegisters, takes_squares_that_vectors_hold) {
  const Ptr<Buffer> a = decl_buffer({256}, f64, "A"), b = decl_buffer({256}, f64, "B");
  const auto func = function({a, b}, tile(16, 16, store(b, load(a, {j * 16 + i}), {i * 16 + j})));
  EXPECT_EQ(shuffles(func, 256), 16 * 8);
  EXPECT_EQ(shuffles(func, 512), 4 * 24);
}

}  // namespace
}  // namespace loopsmith
