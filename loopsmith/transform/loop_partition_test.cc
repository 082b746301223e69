// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/loop_partition.h"

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct LoopPartition : ::testing::Test {
  Ptr<Buffer> a = decl_buffer({64}, f32, "A"), b = decl_buffer({64}, f32, "B");
  Ptr<Var> io = var("io"), ii = var("ii"), jo = var("jo"), ji = var("ji"), n = size_var("n");

  Stmt partitioned(Stmt body) { return loop_partition(function({a, b}, body, {n}))->body; }
  static Stmt set(const Ptr<Buffer>& buffer, Expr at) { return store(buffer, f(1), {at}); }
};

TEST_F(LoopPartition, cuts_off_the_part_where_the_guard_matters) {
  const auto tile = [&](const Ptr<Var>& outer, const Ptr<Var>& inner, bool guarded) {
    const Expr at = outer * 8 + inner;
    return for_loop(inner, 0, 8, guarded ? if_then(at < n, set(a, at)) : set(a, at));
  };
  const Stmt result = partitioned(for_loop(io, 0, ceildiv(n, 8), tile(io, ii, true)));
  const auto* parts = result.as<SeqStmt>();
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->seq.size(), 2);
  EXPECT_TRUE(same(parts->seq[0], for_loop(io, 0, floordiv(n, 8), tile(io, ii, false))));
  const auto* rest = parts->seq[1].as<For>();
  EXPECT_TRUE(same(rest->min, floordiv(n, 8)));
  EXPECT_TRUE(rest->body.as<For>()->body.is<IfThenElse>());
}

TEST_F(LoopPartition, ends_loops_of_the_rest_where_their_guards_do) {
  const auto nest = [&](const Ptr<Var>& outer, const Ptr<Var>& inner, int extent, bool guarded) {
    const Expr at = outer * 4 + inner;
    return for_loop(inner, 0, extent, guarded ? if_then(at < 21, set(a, at)) : set(a, at));
  };
  const Stmt result = partitioned(for_loop(io, 0, 6, nest(io, ii, 4, true)));
  EXPECT_TRUE(same(result, seq({for_loop(io, 0, 5, nest(io, ii, 4, false)),
                                for_loop(jo, 5, 1, nest(jo, ji, 1, false))})));
}

TEST_F(LoopPartition, cuts_by_selects_that_are_marked) {
  const auto chosen = [&](bool is_marked) {
    const Expr inside = io < n;
    const Expr condition = is_marked ? call(op("likely"), {inside}) : inside;
    return for_loop(io, 0, 64, store(a, select(condition, f(1), f(2)), {io}));
  };
  const Stmt result = partitioned(chosen(true));
  ASSERT_TRUE(result.is<SeqStmt>());
  EXPECT_FALSE(contains<Select>(result.as<SeqStmt>()->seq[0]));
  EXPECT_TRUE(contains<Select>(result.as<SeqStmt>()->seq[1]));
  EXPECT_TRUE(partitioned(chosen(false)).is<For>());
}

TEST_F(LoopPartition, keeps_guards_of_the_rest_that_begin_anew) {
  const auto nest = [&](const Ptr<Var>& outer, const Ptr<Var>& inner, bool guarded) {
    const Expr at = outer * 4 + floormod(inner, 4);
    return for_loop(inner, 0, 8, guarded ? if_then(at < 21, set(a, at)) : set(a, at));
  };
  const Stmt result = partitioned(for_loop(io, 0, 6, nest(io, ii, true)));
  EXPECT_TRUE(same(result, seq({for_loop(io, 0, 5, nest(io, ii, false)),
                                for_loop(jo, 5, 1, nest(jo, ji, true))})));
}

TEST_F(LoopPartition, cuts_by_conditions_of_more_bits_than_the_loop) {
  const Expr at = cast(i64, io) * 8 + cast(i64, ii);
  const Stmt inner = for_loop(ii, 0, 8, if_then(at < cast(i64, n) * cast(i64, n), set(a, at)));
  const Stmt result = partitioned(for_loop(io, 0, 100, inner));
  const auto* parts = result.as<SeqStmt>();
  ASSERT_TRUE(parts);
  EXPECT_FALSE(parts->seq[0].as<For>()->body.as<For>()->body.is<IfThenElse>());
  EXPECT_EQ(parts->seq[0].as<For>()->extent.dtype(), i32);
}

TEST_F(LoopPartition, cuts_off_both_borders_of_a_stencil) {
  const auto point = [&](Expr at, bool guarded) {
    const Expr left = load(b, {at - 1});
    return store(a, guarded ? if_then_else(1 <= at && at < n - 1, left, f(0)) : left, {at});
  };
  const Stmt result = partitioned(for_loop(io, 0, 100, point(io, true)));
  const auto* parts = result.as<SeqStmt>();
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->seq.size(), 3);
  EXPECT_TRUE(same(parts->seq[0], for_loop(jo, 0, 1, point(jo, true))));
  EXPECT_TRUE(same(parts->seq[1].as<For>()->body, point(parts->seq[1].as<For>()->loop_var, false)));
}

TEST_F(LoopPartition, tests_once_in_each_iteration_of_a_parallel_loop) {
  const Expr at = io * 8 + ii;
  const Stmt result = partitioned(for_loop(
      io, 0, ceildiv(n, 8), for_loop(ii, 0, 8, if_then(at < n, set(a, at))), ForKind::parallel));
  const auto* loop = result.as<For>();
  ASSERT_TRUE(loop);
  const auto* branch = loop->body.as<IfThenElse>();
  ASSERT_TRUE(branch);
  EXPECT_TRUE(same(branch->condition, io < floordiv(n, 8)));
  EXPECT_TRUE(same(branch->then_case, for_loop(ii, 0, 8, set(a, at))));
  EXPECT_TRUE(branch->else_case.as<For>()->body.is<IfThenElse>());
}

/// Of few iterations, too: in the last one alone, some lanes work and others do not.
TEST_F(LoopPartition, cuts_the_last_vector_off_a_short_loop) {
  const auto vectors = [&](int extent) {
    const Expr at = io * 8 + ii;
    const Stmt body = if_then(at < extent, set(a, at));
    return partitioned(
        for_loop(io, 0, (extent + 7) / 8, for_loop(ii, 0, 8, body, ForKind::vectorized)));
  };
  const Stmt result = vectors(29);
  const auto* parts = result.as<SeqStmt>();
  ASSERT_TRUE(parts);
  EXPECT_TRUE(
      same(parts->seq[0],
           for_loop(io, 0, 3, for_loop(ii, 0, 8, set(a, io * 8 + ii), ForKind::vectorized))));
  EXPECT_TRUE(is_const_int(parts->seq[1].as<For>()->extent, 1));
}

TEST_F(LoopPartition, ends_the_last_task_where_no_lane_has_anything_to_do) {
  const Expr at = io * 4096 + ii * 8 + ji;
  const Stmt body = if_then(at < 5003, set(a, at));
  const Stmt task = for_loop(ii, 0, 512, for_loop(ji, 0, 8, body, ForKind::vectorized));
  const Stmt result = partitioned(for_loop(io, 0, 3, task, ForKind::parallel));
  const auto* branch = result.as<For>()->body.as<IfThenElse>();
  ASSERT_TRUE(branch);
  const auto* last = branch->else_case.as<SeqStmt>();
  ASSERT_TRUE(last);
  ASSERT_EQ(last->seq.size(), 2);
  const auto iterations = [&](std::size_t part, int tasks_before) {
    const Expr& extent = last->seq[part].as<For>()->extent;
    return *as_int(Analyzer().simplify(substitute(extent, {{io, tasks_before}})));
  };
  EXPECT_EQ(iterations(0, 1), 113);  // (5003 - 4096) // 8
  EXPECT_EQ(iterations(1, 1), 1);
  EXPECT_EQ(iterations(0, 2) + iterations(1, 2), 0);
}

TEST_F(LoopPartition, unrolls_a_last_iteration_whose_conditions_are_known) {
  const auto rest_of = [&](const Expr& extent) {
    const Expr at = io * 8 + ii;
    const Stmt body = for_loop(ii, 0, 8, if_then(at < extent, set(a, at)), ForKind::unrolled);
    const Stmt result = partitioned(for_loop(io, 0, ceildiv(extent, 8), body));
    return result.as<SeqStmt>()->seq[1].as<For>()->body;
  };
  EXPECT_EQ(rest_of(29).as<For>()->kind, ForKind::unrolled);
  EXPECT_EQ(rest_of(n).as<For>()->kind, ForKind::serial);
}

TEST_F(LoopPartition, cuts_the_loops_of_the_last_task_as_those_of_others) {
  const auto task = [&](int statements) {
    const Expr at = jo * 8 + ji;
    std::vector<Stmt> body(static_cast<std::size_t>(statements), set(a, at));
    const Stmt row = for_loop(jo, 0, 4, for_loop(ji, 0, 8, if_then(at < 29, seq(body))));
    const Stmt rows = for_loop(ii, 0, 8, if_then(io * 8 + ii < n, row));
    return partitioned(for_loop(io, 0, ceildiv(n, 8), rows, ForKind::parallel))
        .as<For>()
        ->body.as<IfThenElse>()
        ->else_case;
  };
  const auto row_of = [](const Stmt& rows) {
    return rows.as<For>()->body.as<IfThenElse>()->then_case;
  };
  EXPECT_TRUE(row_of(task(1)).is<SeqStmt>());
  EXPECT_TRUE(row_of(task(99)).is<For>());
}

TEST_F(LoopPartition, leaves_a_short_window_to_the_masks_of_its_lanes) {
  const auto window = [&](int extent, ForKind kind) {
    const Expr at = io + ii;
    return for_loop(io, 0, extent, for_loop(ii, 0, 8, if_then(9 < at, set(a, at - 9)), kind));
  };
  EXPECT_TRUE(partitioned(window(5, ForKind::vectorized)).is<For>());
  EXPECT_TRUE(partitioned(window(5, ForKind::serial)).is<For>());  // The condition never holds.
  EXPECT_TRUE(partitioned(window(14, ForKind::vectorized)).is<For>());
  EXPECT_TRUE(partitioned(window(14, ForKind::serial)).is<SeqStmt>());
  EXPECT_TRUE(partitioned(window(15, ForKind::vectorized)).is<For>());
  EXPECT_TRUE(partitioned(window(40, ForKind::vectorized)).is<SeqStmt>());
}

/// True when something runs without a condition.
bool is_cut(const Stmt& loops) {
  return loops.is<SeqStmt>() || !contains<IfThenElse>(loops);
}

TEST_F(LoopPartition, leaves_what_lanes_around_would_cut_apart) {
  const auto in_lanes = [&](Expr at, Expr begin, Expr extent) {
    const Stmt inner = for_loop(io, begin, extent, if_then(io < at, set(a, io)));
    return partitioned(for_loop(ji, 0, 32, inner, ForKind::vectorized)).as<For>()->body;
  };
  EXPECT_TRUE(is_cut(in_lanes(20, 0, 32)));
  EXPECT_FALSE(is_cut(in_lanes(ji, 0, 32)));
  EXPECT_FALSE(is_cut(in_lanes(20, ji, 32)));
  EXPECT_FALSE(is_cut(in_lanes(20, 0, ji + 24)));
}

TEST_F(LoopPartition, leaves_bounds_that_overflow_for_some_data) {
  const Ptr<Var> last = var("last");
  const auto of = [&](const Expr& condition) {
    const Stmt body = for_loop(io, 0, 64, if_then(condition, set(a, io)));
    return loop_partition(function({a, b}, body, {last}))->body;
  };
  EXPECT_TRUE(is_cut(of(io < last)));
  EXPECT_FALSE(is_cut(of(io + 3 < last)));  // last - 3 overflows for the smallest number
  EXPECT_TRUE(is_cut(of(io + 3 < n)));
  const auto under_let = [&](const Expr& value) {
    const Stmt loop = for_loop(io, 0, 64, if_then(io + 3 < last, set(a, io)));
    return partitioned(make(LetStmt{.value = value, .var = last, .body = loop}))
        .as<LetStmt>()
        ->body;
  };
  EXPECT_TRUE(is_cut(under_let(n * 2)));
  EXPECT_FALSE(is_cut(under_let(load(decl_buffer({1}, i32, "L"), {0}))));
}

TEST_F(LoopPartition, leaves_conditions_on_memory_and_on_other_loops) {
  const Stmt on_memory = for_loop(io, 0, 100, if_then(load(b, {io}) > f(0), set(a, io)));
  EXPECT_TRUE(same(partitioned(on_memory), on_memory));
  const Stmt quadratic = for_loop(io, 0, 100, if_then(io * io < n, set(a, io)));
  EXPECT_TRUE(same(partitioned(quadratic), quadratic));
}

TEST_F(LoopPartition, leaves_loops_that_are_left_early) {
  const Stmt loop =
      for_loop(io, 0, 100, seq({if_then(io < n, set(a, io)), if_then(n < io, make(Break{}))}));
  EXPECT_TRUE(same(partitioned(loop), loop));
}

TEST_F(LoopPartition, cuts_large_bodies_where_a_pragma_asks_for_it) {
  Stmt body = if_then(io < n, set(a, io));
  for (int depth = 0; depth < 9; ++depth) body = for_loop(var("k"), 0, n, body);
  const Stmt loop = for_loop(io, 0, n + 8, body);
  EXPECT_TRUE(same(partitioned(loop), loop));
  const auto hinted = [&](int value) {
    return partitioned(
        make(AttrStmt{.attr_key = "pragma_loop_partition_hint", .value = value, .body = loop}));
  };
  EXPECT_TRUE(same(hinted(0), loop));
  EXPECT_TRUE(is_cut(hinted(1)));
}

TEST_F(LoopPartition, leaves_loops_whole_where_a_pragma_says_so) {
  const Stmt loop = for_loop(io, 0, n + 8, if_then(io < n, set(a, io)));
  EXPECT_FALSE(same(partitioned(loop), loop));
  EXPECT_TRUE(same(partitioned(make(AttrStmt{
                       .attr_key = "pragma_loop_partition_hint", .value = 0, .body = loop})),
                   loop));
  const Stmt branch = if_then(io < n, set(a, io));
  const Stmt hinted =
      make(AttrStmt{.attr_key = "pragma_loop_partition_hint", .value = 0, .body = branch});
  EXPECT_TRUE(same(partitioned(for_loop(io, 0, n + 8, hinted)), for_loop(io, 0, n + 8, branch)));
}

TEST_F(LoopPartition, tests_once_for_an_unrolled_loop_where_a_pragma_asks_for_it) {
  const Ptr<Buffer> tile = decl_buffer({32}, f32, "tile", "local");
  const auto rows = [&](ForKind kind, const Ptr<Var>& row, const Ptr<Var>& lane, Expr condition) {
    const Expr at = row * 8 + lane;
    const Stmt copy = store(a, load(tile, {at}), {at});
    const Stmt body = condition.defined() ? if_then(condition, copy) : copy;
    return for_loop(row, 0, 4, for_loop(lane, 0, 8, body, ForKind::vectorized), kind);
  };
  const auto hinted = [&](const Expr& condition) {
    return partitioned(make(AttrStmt{.attr_key = "pragma_loop_partition_hint",
                                     .value = 1,
                                     .body = rows(ForKind::unrolled, io, ii, condition)}));
  };
  const Stmt by_rows = hinted(io + 5 < n);
  const auto* branch = by_rows.as<IfThenElse>();
  ASSERT_TRUE(branch);
  EXPECT_TRUE(same(branch->condition, 8 < n));
  EXPECT_TRUE(same(branch->then_case, rows(ForKind::unrolled, io, ii, nullptr)));
  EXPECT_TRUE(same(branch->else_case, rows(ForKind::unrolled, jo, ji, jo + 5 < n)));

  // Where vectors are cut off, what is left is a loop, which has a copy of the tile.
  const Stmt by_lanes = hinted(io * 8 + ii < n);
  branch = by_lanes.as<IfThenElse>();
  ASSERT_TRUE(branch);
  EXPECT_TRUE(same(branch->condition, 31 < n));
  EXPECT_TRUE(same(branch->then_case, rows(ForKind::unrolled, io, ii, nullptr)));
  const auto* memory = branch->else_case.as<Allocate>();
  ASSERT_TRUE(memory);
  const auto* parts = memory->body.as<DeclBuffer>()->body.as<SeqStmt>();
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->seq[0].as<For>()->kind, ForKind::unrolled);
  const auto* rest = parts->seq[1].as<For>();
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->kind, ForKind::serial);
  const auto* vector = rest->body.as<IfThenElse>();
  ASSERT_TRUE(vector);
  EXPECT_TRUE(vector->then_case.as<For>()->body.is<BufferStore>());
  EXPECT_TRUE(vector->else_case.as<For>()->body.is<IfThenElse>());

  // What memory decides may change from one iteration to the next.
  const Expr on_memory = load(b, {io}) > f(0);
  EXPECT_TRUE(same(hinted(on_memory), rows(ForKind::unrolled, io, ii, on_memory)));
}

TEST_F(LoopPartition, skips_vectors_that_are_left_over_and_combine_what_is_neutral) {
  const Ptr<Buffer> sums = decl_buffer({16}, f32, "sums", "local");
  const auto chains = [&](const Expr& otherwise) {
    const Expr place = jo * 8 + ji, at = io * 16 + place;
    const Expr element = if_then_else(at < n, load(a, {at}), otherwise);
    const Stmt step = store(sums, load(sums, {place}) + element, {place});
    const Stmt vector = for_loop(ji, 0, 8, step, ForKind::vectorized);
    return partitioned(for_loop(io, 0, ceildiv(n, 16),
                                for_loop(jo, 0, 2, vector, ForKind::unrolled), ForKind::serial));
  };
  const Stmt result = chains(neutral_element(Combiner::sum, f32));
  const auto* parts = result.as<SeqStmt>();
  ASSERT_TRUE(parts);
  // One iteration at most is left over.
  const auto* rest = parts->seq[1].as<IfThenElse>();
  ASSERT_TRUE(rest);
  const auto* first = rest->then_case.as<IfThenElse>();
  ASSERT_TRUE(first);
  const auto* inside = first->then_case.as<SeqStmt>();
  ASSERT_TRUE(inside);
  EXPECT_TRUE(inside->seq[0].is<For>());
  const auto* second = inside->seq[1].as<IfThenElse>();
  ASSERT_TRUE(second);
  EXPECT_TRUE(same(Analyzer().simplify(second->condition), 8 < floormod(n, 16)));
  // What is no number without effect is added in any case.
  EXPECT_TRUE(chains(f(1)).as<SeqStmt>()->seq[1].as<For>()->body.is<For>());
}

}  // namespace
}  // namespace loopsmith
