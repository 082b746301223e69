// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/reduce.h"

#include <gtest/gtest.h>

#include "loopsmith/support/testing/refusal.h"
#include "loopsmith/te/te.h"

namespace loopsmith::te {
namespace {

struct Row {
  Tensor A = placeholder({8}, f32, "A");
  Tensor I = placeholder({8}, i8, "I");
  IterVar k = reduce_axis(0, 8, "k");
};

TEST(reducers, keep_the_type_of_what_they_reduce) {
  const Row r;
  EXPECT_EQ(sum(r.I(r.k), r.k).dtype(), i8);
  EXPECT_EQ(sum(loopsmith::cast(i32, r.I(r.k)), r.k).dtype(), i32);
  EXPECT_EQ(max(r.A(r.k), r.k).dtype(), f32);
}

TEST(reducers, start_from_their_identity) {
  const Row r;
  const auto identity = [&](const Expr& e) {
    return e.as<Reduce>()->combiner->identity_element[0];
  };
  EXPECT_TRUE(is_const_int(identity(sum(r.I(r.k), r.k)), 0));
  EXPECT_TRUE(is_const_int(identity(prod(r.I(r.k), r.k)), 1));
  EXPECT_TRUE(is_const_int(identity(max(r.I(r.k), r.k)), -128));
  EXPECT_TRUE(is_const_int(identity(min(r.I(r.k), r.k)), 127));
  EXPECT_EQ(*as_float(identity(max(r.A(r.k), r.k))), -max_float(f32));
}

TEST(reducers, hold_where_and_init) {
  const Row r;
  const Expr total = sum(r.A(r.k), r.k, {.where = Expr(r.k) > 2, .init = {Expr(5)}});
  const auto* reduce = total.as<Reduce>();
  EXPECT_TRUE(reduce->condition.is<GT>());
  EXPECT_EQ(*as_float(reduce->init[0]), 5.0);
}

TEST(reducers, combine_one_value_over_no_axes) {
  const Row r;
  const Expr total = sum(r.A(0), Axes(std::vector<IterVar>()));
  ASSERT_EQ(total.as<Reduce>()->axis.size(), 1);
  EXPECT_TRUE(is_const_int(total.as<Reduce>()->axis[0]->dom->extent, 1));
}

TEST(reducers, refuse_axes_that_are_none) {
  const Row r;
  const Tensor B = compute({8}, [&](Expr i) { return r.A(i); }, "B");
  EXPECT_EQ(testing::refusal([&] { sum(r.A(r.k), B.axis(0)); }),
            "axis_is_reduce_axis: sum: axis i0 is not a reduction axis");
  EXPECT_EQ(testing::refusal([&] { sum(r.A(r.k), r.k, {.init = {1, 2}}); }),
            "one_init_a_value: sum: 2 initial values for 1 values");
  EXPECT_EQ(testing::refusal([&] { sum(Expr(), r.k); }),
            "value_is_expression: sum: a value to reduce is missing");
}

/// What the use of a reducer of float32 values complains about.
std::string refusal(const Reducer& reducer) {
  const Row r;
  return testing::refusal([&] { reducer(r.A(r.k), r.k); });
}

Expr zero(DataType type) {
  return zero_of(type);
}

TEST(comm_reducer, takes_what_is_associative_and_commutative) {
  EXPECT_EQ(refusal(comm_reducer([](Expr x, Expr y) { return x + y; }, zero)), "");
  EXPECT_EQ(refusal(comm_reducer([](Expr x, Expr y) { return x * y; },
                                 [](DataType type) { return const_of(type, 1); })),
            "");
  // log(exp(x) + exp(y)), whose rounding is no reason to refuse it.
  EXPECT_EQ(refusal(comm_reducer(
                [](Expr x, Expr y) {
                  return call(op("log"), {call(op("exp"), {x}) + call(op("exp"), {y})});
                },
                [](DataType type) { return -infinity(type); })),
            "");
}

TEST(comm_reducer, refuses_with_a_counterexample) {
  EXPECT_EQ(refusal(comm_reducer([](Expr x, Expr y) { return x - y; }, zero, "minus")),
            "reducer_is_associative: non-associative reducer minus: 3, 3, 3 combined from the left "
            "give -3, from the right 3");
  EXPECT_EQ(refusal(comm_reducer([](Expr x, Expr) { return x; }, zero, "first")),
            "reducer_is_commutative: non-commutative reducer first: 3 with 1 gives 3, the other "
            "way round 1");
  EXPECT_EQ(refusal(comm_reducer([](Expr x, Expr y) { return x * y; }, zero, "product")),
            "identity_is_neutral: reducer product: its identity 0 is not neutral, with 3 it gives "
            "0");
}

TEST(comm_reducer, lets_pass_what_it_cannot_compute) {
  const auto foreign = [](Expr x, Expr y) {
    return call(f32, op("call_pure_extern"), {string_imm("combine"), x, y});
  };
  EXPECT_EQ(refusal(comm_reducer(foreign, zero)), "");
}

/// The argmax of the field's scripts: of equal values the left operand wins.
Reducer plain_argmax() {
  return comm_reducer(
      [](const std::vector<Expr>& x, const std::vector<Expr>& y) {
        const Expr keeps = x[1] >= y[1];
        return std::vector<Expr>{select(keeps, x[0], y[0]), select(keeps, x[1], y[1])};
      },
      [](const std::vector<DataType>& types) {
        return std::vector<Expr>{const_of(types[0], -1), min_value(types[1])};
      },
      "argmax");
}

TEST(comm_reducer, takes_tuples) {
  const Row r;
  const auto both = plain_argmax()({Expr(r.k), r.A(r.k)}, r.k);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].dtype(), i32);
  EXPECT_EQ(both[1].as<Reduce>()->value_index, 1);
  EXPECT_EQ(both[0].as<Reduce>()->combiner->lhs[1]->name, "x_1");
}

TEST(comm_reducer, refuses_tuples_with_a_counterexample) {
  const Row r;
  const Reducer swapping = comm_reducer(
      [](const std::vector<Expr>& x, const std::vector<Expr>& y) {
        return std::vector<Expr>{x[0] + y[1], x[1] + y[0]};
      },
      [](const std::vector<DataType>& types) {
        return std::vector<Expr>{zero_of(types[0]), zero_of(types[1])};
      },
      "swapping");
  EXPECT_EQ(testing::refusal([&] { swapping({r.A(r.k), r.A(r.k)}, r.k); }),
            "reducer_is_associative: non-associative reducer swapping: (3, 1), (3, 1), (3, 1) "
            "combined from the left give (5, 7), from the right (7, 5)");
}

TEST(comm_reducer, takes_the_merging_of_means_and_variances) {
  // (count, mean, sum of squares), as T. Chan, G. Golub and R. LeVeque merge them (1979).
  const Reducer welford = comm_reducer(
      [](const std::vector<Expr>& x, const std::vector<Expr>& y) {
        const Expr count = x[0] + y[0];
        const Expr delta = y[1] - x[1];
        const Expr share = select(count == zero_of(f32), zero_of(f32), y[0] / count);
        return std::vector<Expr>{count, x[1] + delta * share,
                                 x[2] + y[2] + delta * delta * x[0] * share};
      },
      [](const std::vector<DataType>&) {
        return std::vector<Expr>{zero_of(f32), zero_of(f32), zero_of(f32)};
      },
      "welford");
  const Row r;
  EXPECT_EQ(
      testing::refusal([&] { welford({float_imm(f32, 1), r.A(r.k), float_imm(f32, 0)}, r.k); }),
      "");
}

TEST(comm_reducer, folds_values_at_once) {
  const auto a = var("a");
  const auto b = var("b");
  const Expr largest = max_reducer().fold({a, b, 3});
  const auto* outer = largest.as<Max>();
  ASSERT_TRUE(outer);
  EXPECT_TRUE(outer->a.is<Max>());
  EXPECT_TRUE(is_const_int(outer->b, 3));
}

}  // namespace
}  // namespace loopsmith::te
