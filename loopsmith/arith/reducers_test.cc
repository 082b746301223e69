// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/reducers.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith {
namespace {

struct PairOfBuffers {
  Ptr<Buffer> index = decl_buffer({1}, i32, "index"), value = decl_buffer({1}, f32, "value");
  Ptr<Buffer> in = decl_buffer({8}, f32, "in"), table = decl_buffer({8}, i32, "table");
  Ptr<Var> k = var("k");

  Expr old_index() const { return load(index, {0}); }
  Expr old_value() const { return load(value, {0}); }
  Expr source() const { return load(in, {k}); }

  /// What a block with these updates reduces by.
  std::optional<KnownReduction> reduction(const Expr& new_index, const Expr& new_value,
                                          bool index_first = true) const {
    const auto both = [&](const Expr& i, const Expr& v) {
      const Stmt first = store(index, i, {0}), second = store(value, v, {0});
      return index_first ? seq({first, second}) : seq({second, first});
    };
    return reduction_of(Block{.name_hint = "block",
                              .init = both(-1, min_value(f32)),
                              .body = both(new_index, new_value)});
  }
};

TEST(reducers, know_the_place_of_an_extreme_however_it_is_written) {
  const PairOfBuffers p;
  const Expr is_better = p.old_value() > p.source(), as_good = p.old_value() >= p.source();
  const Expr is_first = is_better || (p.old_value() == p.source() && p.old_index() < p.k);
  const Expr larger = select(is_better, p.old_value(), p.source());
  const Expr no_smaller = select(as_good, p.old_value(), p.source());
  const Expr largest = max(p.old_value(), p.source());
  for (const Expr& value : {no_smaller, largest}) {
    const auto found = p.reduction(select(as_good, p.old_index(), p.k), value);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->reducer->name, "argmax");
    EXPECT_TRUE(found->sources[0].same_as(p.k));
    EXPECT_TRUE(structural_equal(found->sources[1], p.source()));
  }
  for (const Expr& value : {larger, no_smaller, largest}) {
    const auto found = p.reduction(select(is_first, p.old_index(), p.k), value);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->reducer->name, "first argmax");
  }
  EXPECT_FALSE(p.reduction(select(is_better, p.old_index(), p.k), larger));
}

TEST(reducers, take_the_value_before_its_place) {
  const PairOfBuffers p;
  const Expr as_good = p.old_value() <= p.source();
  const auto found = p.reduction(select(as_good, p.old_index(), p.k),
                                 select(as_good, p.old_value(), p.source()), false);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->reducer->name, "argmin");
  EXPECT_TRUE(found->buffers[0].same_as(p.index));
  EXPECT_TRUE(is_const_int(found->init[0], -1));
}

TEST(reducers, take_a_choice_of_what_may_always_be_read) {
  const PairOfBuffers p;
  const Expr as_good = p.old_value() >= p.source();
  const Expr value = if_then_else(as_good, p.old_value(), p.source());
  EXPECT_TRUE(p.reduction(if_then_else(as_good, p.old_index(), p.k), value));
  // It is read only where the element is the largest so far.
  const Expr looked_up = load(p.table, {p.k});
  EXPECT_FALSE(p.reduction(if_then_else(as_good, p.old_index(), looked_up), value));
  EXPECT_TRUE(p.reduction(select(as_good, p.old_index(), looked_up), value));
}

}  // namespace
}  // namespace loopsmith
