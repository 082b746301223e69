// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "loopsmith/arith/dependence/find_carried.h"
#include "loopsmith/arith/dependence/questions_test.h"

namespace loopsmith {
namespace {

using namespace dependence_testing;

TEST(dependence, a_loop_that_starts_at_one_is_parallel) {
  Program p;
  Dependences d(p.loop(p.i, 99, store(p.x, load(p.y, {p.i}) + 1, {p.i}), 1));
  EXPECT_EQ(text_of(d.parallelizable(p.i)), "proved");
  EXPECT_TRUE(d.distances().is_parallel(p.i));
  EXPECT_EQ(d.exact_questions(), 0U);
}

TEST(dependence, a_prefix_sum_is_carried_with_a_witness) {
  Program p;
  Dependences d(p.loop(p.i, 99, store(p.x, load(p.x, {p.i}) + load(p.y, {p.i + 1}), {p.i + 1})));
  EXPECT_EQ(text_of(d.parallelizable(p.i)), "iteration i=0 writes X[1], iteration i=1 reads it");
  EXPECT_FALSE(d.distances().is_parallel(p.i));
}

TEST(dependence, casts_to_narrower_types_may_lose_values) {
  Program p;
  const auto w = var("w", i64);
  const auto written = [&](const Expr& index) {
    Dependences d(
        for_loop(w, int_imm(i64, 0), int_imm(i64, 8), store(p.x, load(p.y, {0}), {index})));
    return text_of(d.parallelizable(w));
  };
  EXPECT_EQ(written(cast(i32, w)), "proved");
  EXPECT_NE(written(cast(i32, w * int_imm(i64, std::int64_t{1} << 32))), "proved");
}

TEST(dependence, guards_say_that_casts_lose_nothing) {
  Program p;
  const auto w = var("w", i64), n = var("n", i64);
  const auto written = [&](const Expr& index, std::int64_t limit) {
    const Stmt body = store(p.x, load(p.y, {0}), {index});
    const Stmt guarded = make(IfThenElse{.condition = w < int_imm(i64, limit), .then_case = body});
    Dependences d(for_loop(w, int_imm(i64, 0), n, guarded));
    return text_of(d.parallelizable(w));
  };
  const std::int64_t more = std::int64_t{1} << 32;
  EXPECT_EQ(written(cast(i32, w), 1000), "proved");
  EXPECT_EQ(written(cast(i32, floordiv(w, 3)) * 3 + cast(i32, floormod(w, 3)), more), "proved");
  EXPECT_NE(written(cast(i32, w), 2 * more), "proved");
}

TEST(dependence, shifts_by_known_numbers_are_products_and_quotients) {
  const auto written = [](const auto& index) {
    Program p;
    Dependences d(p.loop(p.i, 99, store(p.x, load(p.y, {0}), {index(p.i)})));
    return text_of(d.parallelizable(p.i));
  };
  EXPECT_EQ(written([](const Expr& i) { return (i << 3) + 5; }), "proved");
  EXPECT_EQ(written([](const Expr& i) { return i >> 1; }),
            "iteration i=0 writes X[0], iteration i=1 writes it");
  // It loses bits of i.
  EXPECT_NE(written([](const Expr& i) { return i << 30; }), "proved");
}

TEST(dependence, what_the_first_iterations_do_is_seen_without_an_exact_question) {
  Program p;
  Dependences d(p.loop(p.i, 99, p.loop(p.j, 9, store(p.x, load(p.x, {p.i}), {p.i + 1}))));
  EXPECT_EQ(text_of(d.parallelizable(p.i)),
            "iteration i=0, j=0 writes X[1], iteration i=1, j=0 reads it");
  EXPECT_EQ(d.exact_questions(), 0U);
}

TEST(dependence, the_first_of_those_carried_is_found_without_the_others) {
  Program p;
  const Stmt nest =
      p.loop(p.i, 30, store(p.y, load(p.y, {p.i}) + load(p.y, {p.i * 2 + 40}), {p.i + 1}));
  const std::vector<Ptr<Var>> loops{p.i};
  EXPECT_FALSE(find_carried(nest, loops, [](const CarriedDependence& each) {
    return each.source_writes && each.sink_writes;
  }));
  const auto found =
      find_carried(nest, loops, [](const CarriedDependence& each) { return !each.sink_writes; });
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_certain && found->source_writes && found->buffer.same_as(p.y));
}

TEST(dependence, what_a_loop_carries_is_listed) {
  Program p;
  const Stmt sum = store(p.y, load(p.y, {0}) + load(p.x, {p.i}), {0});
  const Stmt ahead = store(p.x, load(p.a, {p.i, 0}), {p.i + 2});
  Dependences d(p.loop(p.i, p.n, seq({sum, ahead})));
  int reductions = 0;
  for (const CarriedDependence& carried : d.carried(p.i)) {
    EXPECT_TRUE(carried.is_certain);
    if (carried.is_reduction) {
      ++reductions;
      EXPECT_TRUE(carried.buffer.same_as(p.y));
      continue;
    }
    EXPECT_TRUE(carried.source.same_as(ahead));
    EXPECT_TRUE(carried.sink.same_as(sum));
    EXPECT_TRUE(carried.source_writes && !carried.sink_writes);
    EXPECT_EQ(carried.distance, (ConstIntBound{2, 2}));
  }
  EXPECT_EQ(reductions, 3);
  EXPECT_EQ(d.carried(p.i).size(), 4U);
}

TEST(dependence, an_update_in_place_is_parallel) {
  Program p;
  Dependences d(p.loop(p.i, 100, store(p.x, load(p.x, {p.i}) + load(p.y, {p.i}), {p.i})));
  EXPECT_EQ(text_of(d.parallelizable(p.i)), "proved");
  EXPECT_EQ(text_of(d.vectorizable(p.i)), "proved");
}

TEST(dependence, both_sides_of_a_condition_are_parallel) {
  Program p;
  const auto fill = [&](const Ptr<Var>& j, float value) {
    return p.loop(j, 100, store(p.a, float_imm(f32, value), {p.i, j}));
  };
  const Stmt choice = make(IfThenElse{
      .condition = floormod(p.i, 2) == 0, .then_case = fill(p.j, 1), .else_case = fill(p.k, 2)});
  Dependences d(p.loop(p.i, 100, choice));
  EXPECT_EQ(text_of(d.parallelizable(p.i)), "proved");
  EXPECT_EQ(text_of(d.parallelizable(p.j)), "proved");
}

Stmt matmul(Program& p, const Expr& n, const Expr& m, const Expr& l) {
  const Stmt update =
      store(p.c, load(p.c, {p.i, p.j}) + load(p.a, {p.i, p.k}) * load(p.b, {p.k, p.j}), {p.i, p.j});
  return p.loop(p.i, n, p.loop(p.j, m, p.loop(p.k, l, update)));
}

TEST(dependence, the_sum_of_a_matrix_product_is_a_reduction) {
  for (const bool symbolic : {false, true}) {
    Program p;
    const Stmt nest = symbolic ? matmul(p, p.n, p.m, p.n) : matmul(p, 128, 128, 128);
    Dependences d(nest);
    EXPECT_EQ(text_of(d.parallelizable(p.i)), "proved");
    EXPECT_EQ(text_of(d.parallelizable(p.j)), "proved");
    EXPECT_EQ(text_of(d.parallelizable(p.k)), "reduction");
    EXPECT_EQ(text_of(d.permutable(Loops{p.k, p.j, p.i})), "proved");
    EXPECT_TRUE(d.distances().is_parallel(p.k));
    EXPECT_FALSE(d.distances().is_parallel(p.k, true));
    EXPECT_TRUE(d.distances().can_reorder(Loops{p.k, p.i}));
  }
}

TEST(dependence, a_reversal_in_place_depends_on_its_bounds) {
  for (const int extent : {50, 100}) {
    Program p;
    const Stmt body =
        seq({store(p.y, load(p.x, {p.i}), {0 + p.i}), store(p.x, load(p.x, {99 - p.i}), {p.i})});
    Dependences d(p.loop(p.i, extent, body));
    EXPECT_EQ(text_of(d.parallelizable(p.i)),
              extent == 50 ? "proved" : "iteration i=0 reads X[99], iteration i=99 writes it");
  }
}

TEST(dependence, a_ring_of_three_is_carried) {
  Program p;
  Dependences d(p.loop(p.i, 10,
                       seq({store(p.x, load(p.y, {p.i}), {floormod(p.i, 3)}),
                            store(p.y, load(p.x, {floormod(p.i, 3)}), {p.i})})));
  EXPECT_EQ(text_of(d.parallelizable(p.i)), "iteration i=0 writes X[0], iteration i=3 writes it");
}

TEST(dependence, odd_and_even_elements_are_apart) {
  Program p;
  Dependences d(p.loop(p.i, p.n, store(p.x, load(p.x, {p.i * 2 + 1}), {p.i * 2})));
  EXPECT_EQ(text_of(d.parallelizable(p.i)), "proved");
  EXPECT_EQ(d.dependence_count(), 0U);
}

TEST(dependence, split_indices_need_no_exact_question) {
  Program p;
  const Expr row = p.i * 14 + p.j;
  const Stmt body = make(
      IfThenElse{.condition = row < 100, .then_case = store(p.x, load(p.x, {row}) * 2, {row})});
  Dependences d(p.loop(p.i, 8, p.loop(p.j, 14, body)));
  EXPECT_EQ(text_of(d.parallelizable(p.i)), "proved");
  EXPECT_EQ(text_of(d.parallelizable(p.j)), "proved");
  EXPECT_EQ(d.exact_questions(), 0U);
}

TEST(dependence, digits_of_an_index_need_no_exact_question) {
  Program p;
  Dependences d(
      p.loop(p.i, 1000, store(p.a, load(p.x, {p.i}), {floordiv(p.i, 54), floormod(p.i, 54)})));
  EXPECT_EQ(text_of(d.parallelizable(p.i)), "proved");
  EXPECT_EQ(d.exact_questions(), 0U);
}

TEST(dependence, gauss_seidel_may_be_interchanged_but_not_parallel) {
  Program p;
  const Expr i = p.i, j = p.j;
  Dependences d(p.loop(
      p.i, p.n - 2,
      p.loop(
          p.j, p.n - 2,
          store(p.a, load(p.a, {i - 1, j}) + load(p.a, {i, j - 1}) + load(p.a, {i + 1, j}), {i, j}),
          1),
      1));
  EXPECT_EQ(text_of(d.permutable(Loops{p.j, p.i})), "proved");
  EXPECT_EQ(d.exact_questions(), 0U);
  EXPECT_EQ(d.parallelizable(p.i).verdict, Verdict::violated);
  EXPECT_EQ(d.parallelizable(p.j).verdict, Verdict::violated);
}

TEST(dependence, a_skewed_update_may_not_be_interchanged) {
  Program p;
  Dependences d(
      p.loop(p.i, p.n - 1,
             p.loop(p.j, p.n - 1, store(p.a, load(p.a, {p.i - 1, p.j + 1}) + 1, {p.i, p.j})), 1));
  EXPECT_EQ(text_of(d.permutable(Loops{p.j, p.i})),
            "with n=3: iteration i=1, j=1 writes A[1, 1], iteration i=2, j=0 reads it");
}

TEST(dependence, siblings_merge_where_reads_do_not_run_ahead) {
  for (const auto& [shift, expected] :
       {std::pair(0, "proved"),
        {-1, "proved"},
        {1, "with n=2: iteration i=1 writes X[1], iteration j=0 reads it"}}) {
    Program p;
    Dependences d(seq({p.loop(p.i, p.n, store(p.x, load(p.y, {p.i}), {p.i})),
                       p.loop(p.j, p.n, store(p.a, load(p.x, {p.j + shift}), {p.j, 0}))}));
    EXPECT_EQ(text_of(d.mergeable(Loops{p.i}, Loops{p.j})), expected);
  }
}

TEST(dependence, loops_over_blocks_of_columns_merge_without_an_exact_question) {
  // X[8*i + k] is written for k below 8, and read in blocks of as many: by an earlier iteration
  // where blocks overlap the next one.
  for (const int offset : {0, -1, 1}) {
    Program p;
    const Expr block = p.i * 8 + p.k, other = p.j * 8 + p.m + offset;
    Dependences d(
        seq({p.loop(p.i, p.n, p.loop(p.k, 8, store(p.x, load(p.y, {block}), {block}))),
             p.loop(p.j, p.n, p.loop(p.m, 8, store(p.a, load(p.x, {other}), {other, 0})))}));
    const Verdict expected = offset > 0 ? Verdict::violated : Verdict::proved;
    EXPECT_EQ(d.mergeable(Loops{p.i}, Loops{p.j}).verdict, expected) << offset;
    EXPECT_EQ(d.exact_questions() == 0, offset <= 0) << offset;
  }
}

TEST(dependence, a_nest_is_cut_unless_a_later_iteration_is_fed) {
  for (const int shift : {0, -1}) {
    Program p;
    const Stmt first = store(p.a, load(p.x, {p.i + shift}), {p.i, 0});
    const Stmt second = store(p.x, load(p.y, {p.i}), {p.i});
    Dependences d(p.loop(p.i, p.n - 1, seq({first, second}), 1));
    EXPECT_EQ(
        text_of(d.distributable(p.i, second)),
        shift == 0 ? "proved" : "with n=3: iteration i=1 writes X[1], iteration i=2 reads it");
  }
}

TEST(dependence, lanes_read_before_they_write) {
  Program p;
  Dependences ahead(p.loop(p.i, 100, store(p.x, load(p.x, {p.i + 1}) + 1, {p.i})));
  EXPECT_EQ(ahead.parallelizable(p.i).verdict, Verdict::violated);
  EXPECT_EQ(text_of(ahead.vectorizable(p.i)), "proved");
  Dependences behind(p.loop(p.i, 100, store(p.x, load(p.x, {p.i}) + 1, {p.i + 1})));
  EXPECT_EQ(behind.vectorizable(p.i).verdict, Verdict::violated);
}

TEST(dependence, the_last_lane_of_a_statement_writes_last) {
  Program p;
  Dependences twice(p.loop(p.i, 100, store(p.x, load(p.y, {p.i}), {floordiv(p.i, Expr(2))})));
  EXPECT_EQ(twice.parallelizable(p.i).verdict, Verdict::violated);
  EXPECT_EQ(text_of(twice.vectorizable(p.i)), "proved");
  const auto rows = decl_buffer({100}, i32, "rows");
  Dependences anywhere(p.loop(p.i, 100, store(p.x, load(p.y, {p.i}), {load(rows, {p.i})})));
  EXPECT_EQ(text_of(anywhere.vectorizable(p.i)), "proved");
  // A step of an inner loop comes first in all lanes.
  Dependences steps(p.loop(p.i, 100, p.loop(p.j, 4, store(p.x, load(p.y, {p.i}), {p.i + p.j}))));
  EXPECT_EQ(steps.vectorizable(p.i).verdict, Verdict::violated);
}

TEST(dependence, flattened_indices_with_a_symbolic_stride_are_refuted_with_small_sizes) {
  Program p;
  const Expr flat = p.i * p.n + p.j;
  Dependences d(p.loop(p.i, p.n, p.loop(p.j, p.n + 1, store(p.x, load(p.y, {0}), {flat}))));
  EXPECT_EQ(text_of(d.parallelizable(p.i)),
            "with n=2: iteration i=0, j=2 writes X[2], iteration i=1, j=0 writes it");
}

TEST(dependence, indices_from_memory_are_unknown) {
  Program p;
  const auto rows = decl_buffer({100}, i32, "rows");
  Dependences d(p.loop(p.i, 100, store(p.x, load(p.y, {p.i}), {load(rows, {p.i})})));
  EXPECT_EQ(text_of(d.parallelizable(p.i)), "unknown: index 0 of X is not quasi-affine: rows[i]");
}

TEST(dependence, what_a_call_does_is_unknown) {
  Program p;
  const Stmt call =
      make(Evaluate{.value = loopsmith::call(i32, op("call_extern"), {string_imm("f")})});
  Dependences d(p.loop(p.i, 100, call));
  EXPECT_EQ(d.parallelizable(p.i).verdict, Verdict::unknown);
}

TEST(dependence, a_break_orders_the_iterations) {
  Program p;
  const Stmt leave =
      make(IfThenElse{.condition = load(p.x, {p.i}) > 0, .then_case = make(Break{})});
  Dependences d(
      p.loop(p.j, 10, p.loop(p.i, 100, seq({leave, store(p.y, load(p.x, {p.i}), {p.i})}))));
  EXPECT_EQ(text_of(d.parallelizable(p.i)),
            "whether an iteration of loop i happens is up to the `break` of earlier ones");
  EXPECT_EQ(d.parallelizable(p.j).verdict, Verdict::unknown);
}

TEST(dependence, a_budget_that_does_not_suffice_gives_unknown) {
  Program p;
  const Expr index = floormod(p.i * 101 + p.j * 7, 97) + floordiv(p.i + p.j * 3, 13);
  Dependences d(p.loop(p.i, 1000, p.loop(p.j, 1000, store(p.x, load(p.y, {0}), {index}))),
                {.operations = 10});
  EXPECT_EQ(text_of(d.parallelizable(p.i)),
            "unknown: too complex: 10 operations did not decide it");
}

TEST(dependence, flattened_indices_are_taken_apart_where_their_digits_are_bounded) {
  Program p;
  const Expr flat = p.i * p.n + p.j, above = (p.i - 1) * p.n + p.j;
  Dependences plain(p.loop(p.i, p.m, p.loop(p.j, p.n, store(p.x, load(p.x, {flat}) * 2, {flat}))));
  EXPECT_EQ(text_of(plain.parallelizable(p.i)), "proved");
  EXPECT_EQ(text_of(plain.parallelizable(p.j)), "proved");
  Dependences rows(
      p.loop(p.i, p.m, p.loop(p.j, p.n, store(p.x, load(p.x, {above}) + 1, {flat})), 1));
  EXPECT_EQ(text_of(rows.parallelizable(p.i)),
            "with m=2, n=2: iteration i=1, j=0 writes X[2], iteration i=2, j=0 reads it");
  EXPECT_EQ(text_of(rows.parallelizable(p.j)), "proved");
  const auto l = var("l");
  const Expr deep = (p.i * p.m + p.j) * p.n + p.k;
  Dependences cube(p.loop(
      p.i, l, p.loop(p.j, p.m, p.loop(p.k, p.n, store(p.x, load(p.x, {deep}) + 1, {deep})))));
  EXPECT_EQ(text_of(cube.parallelizable(p.i)), "proved");
  EXPECT_EQ(text_of(cube.parallelizable(p.k)), "proved");
}

TEST(dependence, a_wavefront_starts_and_ends_at_extremes) {
  // Along antidiagonals of a square, in parts of 8: X is B[i, d - i].
  Program p;
  const Expr first = max(p.i - 24, 1), at = first + (Expr(p.j) * 8 + p.k);
  const auto other = [&](int row, int column) { return load(p.b, {at - row, p.i - at - column}); };
  const Stmt update = store(p.b, max(other(1, 1), max(other(1, 0), other(0, 1))), {at, p.i - at});
  const Expr count = min(p.i, 25) - first;
  const Stmt inner = p.loop(
      p.k, 8, make(IfThenElse{.condition = Expr(p.j) * 8 + p.k < count, .then_case = update}));
  Dependences d(p.loop(p.i, 47, p.loop(p.j, floordiv(count + 7, 8), inner), 2));
  EXPECT_EQ(text_of(d.parallelizable(p.j)), "proved");
  EXPECT_EQ(text_of(d.parallelizable(p.k)), "proved");
  EXPECT_EQ(d.parallelizable(p.i).verdict, Verdict::violated);
}

TEST(dependence, an_index_may_be_clamped) {
  Program p;
  // Element 5 is written by all iterations from 5 on.
  Dependences last(p.loop(p.i, 9, store(p.x, load(p.y, {p.i}), {min(p.i, 5)})));
  EXPECT_EQ(text_of(last.parallelizable(p.i)),
            "iteration i=5 writes X[5], iteration i=6 writes it");
  Dependences none(p.loop(p.i, 6, store(p.x, load(p.y, {p.i}), {min(p.i, 5)})));
  EXPECT_EQ(text_of(none.parallelizable(p.i)), "proved");
  // The border of a stencil in place is read by its neighbour.
  Dependences border(
      p.loop(p.i, 8, store(p.x, load(p.x, {max(Expr(p.i) - 1, 0) + 10}), {Expr(p.i) + 3})));
  EXPECT_EQ(text_of(border.parallelizable(p.i)),
            "iteration i=0 reads X[10], iteration i=7 writes it");
}

}  // namespace
}  // namespace loopsmith
