// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/tiles_in_registers.h"

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/testing/evaluate.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct TilesInRegisters : ::testing::Test {
  Ptr<Buffer> a = decl_buffer({12, 12}, f64, "A");
  Ptr<Var> i = var("i"), j = var("j"), k = var("k");

  /// A loop over k around four rows and eight columns of a tile.
  Ptr<PrimFunc> over_tile(Stmt body, const Expr& steps = 4) {
    For lanes{
        .loop_var = j, .min = 0, .extent = 8, .kind = ForKind::vectorized, .body = std::move(body)};
    For rows{.loop_var = i,
             .min = 0,
             .extent = 4,
             .kind = ForKind::unrolled,
             .body = make(std::move(lanes))};
    return function({a}, for_loop(k, 0, steps, make(std::move(rows))));
  }
  Stmt product(const Expr& row, const Expr& column) {
    return store(a, load(a, {row, column}) - load(a, {row, k}) * load(a, {k, column}),
                 {row, column});
  }

  /// True when the tile is kept; what the function computes is as before.
  bool is_kept(const Ptr<PrimFunc>& func) {
    const Ptr<PrimFunc> result = tiles_in_registers(func);
    std::vector<double> values(144);
    for (std::size_t n = 0; n < values.size(); ++n) values[n] = static_cast<double>(n * 7 % 11);
    std::vector<TestArgument> before{{{12, 12}, values}};
    std::vector<TestArgument> after = before;
    evaluate(func, before);
    evaluate(result, after);
    EXPECT_EQ(before, after) << script(result);
    bool found = false;
    pre_order_visit(result->body, [&](const Ref& node) {
      found = found || node.is<Allocate>();
      return true;
    });
    return found;
  }
};

TEST_F(TilesInRegisters, keeps_what_a_trailing_update_updates) {
  EXPECT_TRUE(is_kept(over_tile(product(i + 4, j + 4))));
}

TEST_F(TilesInRegisters, leaves_alone_what_the_loop_reads) {
  EXPECT_FALSE(is_kept(over_tile(product(i + 3, j + 4))));
  EXPECT_FALSE(is_kept(over_tile(product(i + 2, j + 4))));
}

TEST_F(TilesInRegisters, leaves_alone_elements_that_two_points_share) {
  EXPECT_FALSE(is_kept(over_tile(store(a, load(a, {i + j, 4}) + float_imm(f64, 1), {i + j, 4}))));
  EXPECT_FALSE(is_kept(over_tile(product(4, j + 4))));
}

TEST_F(TilesInRegisters, asks_conditions_of_elements_wherever_they_are_loaded) {
  EXPECT_TRUE(is_kept(over_tile(if_then(i < 3 && j < 5, product(i + 4, j + 4)))));
  EXPECT_TRUE(is_kept(over_tile(if_then(i + j < 9 && k < 4, product(i + 4, j + 4)))));
}

TEST_F(TilesInRegisters, leaves_alone_what_conditions_of_the_loop_decide) {
  EXPECT_FALSE(is_kept(over_tile(if_then(i + k < 5, product(i + 4, j + 4)))));
}

TEST_F(TilesInRegisters, starts_with_what_elements_are_set_to_before_all_loops) {
  const auto lanes = [&](Stmt body) {
    return make(For{.loop_var = j,
                    .min = 0,
                    .extent = 8,
                    .kind = ForKind::vectorized,
                    .body = std::move(body)});
  };
  const Ptr<Var> l = var("l");
  const Stmt update = store(a, load(a, {0, j}) + load(a, {k + 2, j + l}), {0, j});
  const auto nest = [&](const Expr& steps, const Expr& set_lanes) {
    const Stmt start = lanes(if_then(j < set_lanes, store(a, float_imm(f64, 5), {0, j})));
    const Stmt windows = for_loop(l, 0, 2, lanes(if_then(j < 5, update)));
    return function({a}, seq({start, for_loop(k, 0, steps, windows)}));
  };
  const auto stores = [&](const Ptr<PrimFunc>& func) {
    int count = 0;
    pre_order_visit(tiles_in_registers(func)->body, [&](const Ref& node) {
      const auto* found = node.as<BufferStore>();
      count += found && found->buffer.same_as(a) ? 1 : 0;
      return true;
    });
    return count;
  };
  EXPECT_TRUE(is_kept(nest(3, 5)));
  EXPECT_TRUE(is_kept(nest(0, 5)));
  EXPECT_EQ(stores(nest(3, 5)), 1);
  // Of lanes that others set, memory knows.
  EXPECT_FALSE(is_kept(nest(3, 6)));
  EXPECT_EQ(stores(nest(3, 6)), 2);
}

}  // namespace
}  // namespace loopsmith
