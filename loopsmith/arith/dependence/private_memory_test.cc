// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "loopsmith/arith/dependence/questions_test.h"

namespace loopsmith {
namespace {

using namespace dependence_testing;

TEST(private_memory, lanes_may_have_memory_of_their_own) {
  Program p;
  const auto t = decl_buffer({1}, f32, "t");
  const Stmt body = seq({store(t, load(p.y, {p.i}), {0}), store(p.x, load(t, {0}), {p.i})});
  Dependences d(p.loop(p.i, 100, body), {.local_buffers = {t}});
  const DependenceAnswer answer = d.vectorizable(p.i);
  EXPECT_EQ(answer.verdict, Verdict::proved);
  ASSERT_EQ(answer.private_buffers.size(), 1U);
  EXPECT_TRUE(answer.private_buffers[0].same_as(t));
}

TEST(private_memory, memory_of_an_iteration_carries_nothing) {
  Program p;
  const auto t = decl_buffer({10}, f32, "T");
  const auto body = seq({p.loop(p.j, 10, store(t, load(p.a, {p.i, p.j}), {p.j})),
                         p.loop(p.k, 10, store(p.b, load(t, {p.k}), {p.i, p.k}))});
  const auto block = make(Block{.name_hint = "row", .alloc_buffers = {t}, .body = body});
  Dependences d(p.loop(p.i, 100, make(BlockRealize{.block = block})));
  EXPECT_EQ(text_of(d.parallelizable(p.i)), "proved");
}

/// for i: T[j] = A[i, j], all j < width; B[i, k] = T[k] + T[k + shift].
Stmt rows_through(Program& p, const Ptr<Buffer>& t, const Expr& width, int shift) {
  return p.loop(
      p.i, 100,
      seq({p.loop(p.j, width, store(t, load(p.a, {p.i, p.j}), {p.j})),
           p.loop(p.k, 8, store(p.b, load(t, {p.k}) + load(t, {p.k + shift}), {p.i, p.k}))}));
}

TEST(private_memory, a_buffer_that_each_iteration_fills_before_it_reads_may_be_private) {
  Program p;
  const auto t = decl_buffer({10}, f32, "T");
  const DependenceOptions local{.local_buffers = {t}};
  Dependences filled(rows_through(p, t, 10, 2), local);
  const DependenceAnswer answer = filled.parallelizable(p.i);
  EXPECT_EQ(text_of(answer), "proved");
  ASSERT_EQ(answer.private_buffers.size(), 1U);
  EXPECT_TRUE(answer.private_buffers[0].same_as(t));

  const auto text = [&](const Stmt& root, const DependenceOptions& options) {
    Dependences d(root, options);
    return text_of(d.parallelizable(p.i));
  };
  EXPECT_EQ(text(rows_through(p, t, 10, 2), {}),
            "iteration i=0, j=0 writes T[0], iteration i=1, j=0 writes it");
  // T[9] is read, and not written.
  EXPECT_EQ(text(rows_through(p, t, 9, 2), local),
            "iteration i=0, j=0 writes T[0], iteration i=1, j=0 writes it");
  // How much is filled depends on values.
  const auto widths = decl_buffer({100}, i32, "widths");
  EXPECT_NE(text(rows_through(p, t, load(widths, {p.i}), 2), local), "proved");
}

TEST(private_memory, what_a_statement_reads_was_written_under_the_same_conditions) {
  Program p;
  const auto t = decl_buffer({1}, f32, "T");
  const auto text = [&](const Stmt& root) {
    Dependences d(root, {.local_buffers = {t}});
    return text_of(d.parallelizable(p.i));
  };
  const auto when = [&](const Expr& condition, const Stmt& body) {
    return make(IfThenElse{.condition = condition, .then_case = body});
  };
  const Expr first = load(p.a, {p.i, 0}), second = load(p.a, {p.i, 1});
  const Stmt fill = store(t, first, {0}), use = store(p.a, load(t, {0}), {p.i, 1});
  const Stmt swap = seq({fill, store(p.a, second, {p.i, 0}), use});
  EXPECT_EQ(text(p.loop(p.i, 100, when(second < first, swap))), "proved");
  // How often an inner loop runs, is not affine.
  const Expr count = call(i32, op("shift_left"), {1, p.j});
  EXPECT_EQ(text(p.loop(p.i, 100, p.loop(p.j, 4, p.loop(p.k, count, swap)))), "proved");
  // The condition may be another one when it is asked again.
  const Expr condition = second < first;
  EXPECT_NE(text(p.loop(p.i, 100, seq({when(condition, fill), when(condition, use)}))), "proved");
  EXPECT_NE(text(p.loop(p.i, 100, seq({p.loop(p.k, count, fill), use}))), "proved");
  EXPECT_NE(text(p.loop(p.i, 100, when(condition, seq({use, fill})))), "proved");
}

TEST(private_memory, a_scan_in_a_buffer_reads_what_earlier_iterations_wrote) {
  Program p;
  const auto t = decl_buffer({10}, f32, "T");
  const auto text = [&](int first) {
    const auto start = store(t, load(p.a, {p.i, 0}), {first});
    const auto step = store(t, load(t, {p.j - 1}) + load(p.a, {p.i, p.j}), {p.j});
    const auto rows = make(For{.loop_var = p.j, .min = 1, .extent = 9, .body = step});
    const auto out = p.loop(p.k, 10, store(p.b, load(t, {p.k}), {p.i, p.k}));
    Dependences d(p.loop(p.i, 100, seq({start, rows, out})), {.local_buffers = {t}});
    return text_of(d.parallelizable(p.i));
  };
  EXPECT_EQ(text(0), "proved");
  // T[0] is what it was before the loop.
  EXPECT_EQ(text(1), "iteration i=0 writes T[1], iteration i=1 writes it");
}

TEST(private_memory, a_ring_that_starts_anew_in_each_tile_is_one_of_the_tile) {
  Program p;
  const auto ring = decl_buffer({3, 64}, f32, "ring");
  const auto in = decl_buffer({66, 64}, f32, "in"), out = decl_buffer({64, 64}, f32, "out");
  const auto column = var("column"), other = var("other");
  const auto tiles = [&](const Expr& is_new) {
    const Expr row = p.i * 8 + p.j;
    const auto at = [&](const Expr& index, const Ptr<Var>& c) -> std::vector<Expr> {
      return {floormod(index, 3), c};
    };
    const auto fill = store(ring, load(in, {row + p.k, column}), at(row + p.k, column));
    const auto fill_new = make(IfThenElse{.condition = is_new, .then_case = fill});
    Expr sum = load(ring, at(row, other));
    for (int k = 1; k < 3; ++k) sum = sum + load(ring, at(row + k, other));
    const auto use = p.loop(other, 64, store(out, sum, {row, other}));
    const auto step = seq({p.loop(p.k, 3, p.loop(column, 64, fill_new)), use});
    Dependences d(p.loop(p.i, 8, p.loop(p.j, 8, step)), {.local_buffers = {ring}});
    return d.parallelizable(p.i);
  };
  const DependenceAnswer answer = tiles(p.j < 1 || Expr(2) <= p.k);
  EXPECT_EQ(text_of(answer), "proved");
  EXPECT_EQ(answer.private_buffers.size(), 1U);
  // What a tile begins with, the one before has computed.
  EXPECT_NE(text_of(tiles(p.i * 8 + p.j < 1 || Expr(2) <= p.k)), "proved");
}

TEST(private_memory, iterations_that_fill_their_memory_run_in_any_order) {
  Program p;
  const auto t = decl_buffer({4}, f32, "T");
  const auto answer = [&](const Stmt& first, bool is_local) {
    const Stmt body = seq({first, store(p.a, load(t, {0}), {p.i, p.j})});
    std::vector<Ptr<Buffer>> local;
    if (is_local) local.push_back(t);
    Dependences d(p.loop(p.i, 8, p.loop(p.j, 8, body)), {.local_buffers = local});
    const Loops order{p.j, p.i};
    return text_of(d.permutable(order));
  };
  const Stmt fill = store(t, load(p.b, {p.i, p.j}), {0});
  const Stmt fill_a_row = make(IfThenElse{.condition = p.j == 0, .then_case = fill});
  EXPECT_EQ(answer(fill, true), "proved");
  EXPECT_EQ(answer(fill, false), "iteration i=0, j=1 writes T[0], iteration i=1, j=0 writes it");
  EXPECT_EQ(answer(fill_a_row, true),
            "iteration i=0, j=1 reads T[0], iteration i=1, j=0 writes it");
}

TEST(private_memory, both_branches_of_a_condition_fill_what_is_read) {
  Program p;
  const Expr is_positive = load(p.x, {p.i}) > float_imm(f32, 0);
  const Stmt read = store(p.c, load(p.y, {0}), {p.i, 0});
  const auto question = [&](Stmt body) {
    Dependences d(p.loop(p.i, 99, std::move(body)), {.local_buffers = {p.y}});
    const DependenceAnswer answer = d.parallelizable(p.i);
    return answer.verdict == Verdict::proved && answer.private_buffers.size() == 1;
  };
  const auto either = [&](Stmt yes, Stmt no) {
    return make(IfThenElse{
        .condition = is_positive, .then_case = std::move(yes), .else_case = std::move(no)});
  };
  const auto fill = [&](const Expr& index) { return store(p.y, float_imm(f32, 1), {index}); };
  EXPECT_TRUE(question(seq({either(fill(0), fill(0)), read})));
  EXPECT_FALSE(question(seq({either(fill(0), fill(1)), read})));
  EXPECT_FALSE(
      question(seq({make(IfThenElse{.condition = is_positive, .then_case = fill(0)}), read})));
  // Nested, and each of the branches in another way.
  EXPECT_TRUE(question(seq({either(either(fill(0), fill(0)), seq({fill(1), fill(0)})), read})));
  EXPECT_FALSE(question(seq({either(either(fill(0), fill(1)), fill(0)), read})));
  // What a branch reads, that branch wrote.
  EXPECT_TRUE(question(either(seq({fill(0), read}), fill(1))));
  EXPECT_FALSE(question(either(seq({fill(1), read}), fill(0))));
  // Another condition may turn out otherwise.
  EXPECT_FALSE(question(seq({either(fill(0), fill(1)), either(read, fill(1))})));
}

TEST(private_memory, branches_fill_memory_element_by_element) {
  Program p;
  const auto fill = [&](const Expr& index, const Expr& extent) {
    const Stmt yes = store(p.y, float_imm(f32, 1), {p.j}),
               no = store(p.y, float_imm(f32, 2), {index});
    const Expr is_positive = load(p.a, {p.i, p.j}) > float_imm(f32, 0);
    const Stmt both = make(IfThenElse{.condition = is_positive, .then_case = yes, .else_case = no});
    const Stmt read = store(p.c, load(p.y, {p.k}), {p.i, p.k});
    Dependences d(p.loop(p.i, 99, seq({p.loop(p.j, extent, both), p.loop(p.k, p.n, read)})),
                  {.local_buffers = {p.y}});
    return d.parallelizable(p.i).verdict == Verdict::proved;
  };
  EXPECT_TRUE(fill(p.j, p.n));
  EXPECT_TRUE(fill(p.j, p.n + 1));
  EXPECT_FALSE(fill(p.j, p.n - 1));
  EXPECT_FALSE(fill(p.n - 1 - p.j, p.n));
}

}  // namespace
}  // namespace loopsmith
