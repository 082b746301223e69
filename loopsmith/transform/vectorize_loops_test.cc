// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/vectorize_loops.h"

#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct VectorizeLoops : ::testing::Test {
  Ptr<Buffer> a = decl_buffer({64}, f32, "A"), b = decl_buffer({64}, f32, "B");
  Ptr<Var> i = var("i"), j = var("j"), n = size_var("n"), x = var("x", f32);
  Expr lanes = ramp(0, 1, 8);

  Stmt vectorized(Stmt body, Expr extent = 8, Expr min = 0) {
    const Stmt loop = for_loop(i, min, extent, body, ForKind::vectorized);
    return vectorize_loops(function({a, b}, loop, {n, x}), 512)->body;
  }
  static Expr masked_load(const Ptr<Buffer>& buffer, Expr index, Expr mask) {
    return make(BufferLoad{.buffer = buffer, .indices = {index}, .predicate = mask});
  }
  static Stmt masked_store(const Ptr<Buffer>& buffer, Expr value, Expr index, Expr mask) {
    return make(
        BufferStore{.buffer = buffer, .value = value, .indices = {index}, .predicate = mask});
  }
  static Expr splat(Expr value) { return broadcast(value, 8); }
};

TEST_F(VectorizeLoops, makes_ramps_of_indices_and_broadcasts_of_scalars) {
  EXPECT_TRUE(same(vectorized(store(b, load(a, {i + 3}) * x, {i})),
                   store(b, load(a, {ramp(3, 1, 8)}) * splat(x), {lanes})));
  EXPECT_TRUE(same(vectorized(store(b, load(a, {n}), {i * 2}), 8, 4),
                   store(b, splat(load(a, {n})), {ramp(8, 2, 8)})));
}

TEST_F(VectorizeLoops, loads_without_a_clamp_that_no_lane_needs) {
  const auto loaded = [&](const Expr& index) { return load(a, {index}); };
  EXPECT_TRUE(
      same(vectorized(store(b, load(a, {min(n * 8 + i, 39)}), {i})),
           store(b, if_then_else(n * 8 + 7 <= 39, loaded(ramp(n * 8, 1, 8)), splat(loaded(39))),
                 {lanes})));
  // What is no vector in memory even so stays as it is.
  EXPECT_TRUE(same(vectorized(store(b, load(a, {min(n + i * 2, 40)}), {i})),
                   store(b, loaded(min(ramp(n, 2, 8), splat(40))), {lanes})));
}

TEST_F(VectorizeLoops, updates_lanes_that_are_surely_apart) {
  const auto update = [&](Expr least) {
    const Expr index = i * n;
    const Stmt loop =
        for_loop(i, 0, 8, store(b, load(b, {index}) * x + f(1), {index}), ForKind::vectorized);
    return vectorize_loops(function({a, b}, if_then(n >= least, loop), {n, x}), 512)->body;
  };
  const Expr apart = ramp(0, n, 8);
  EXPECT_TRUE(same(update(1),
                   if_then(n >= 1, store(b, load(b, {apart}) * splat(x) + splat(f(1)), {apart}))));
  EXPECT_TRUE(contains<For>(update(0)));
}

TEST_F(VectorizeLoops, makes_masks_of_guards) {
  const Expr mask = lanes < splat(n);
  EXPECT_TRUE(same(vectorized(if_then(i < n, store(b, load(a, {i}), {i}))),
                   masked_store(b, masked_load(a, lanes, mask), lanes, mask)));
}

TEST_F(VectorizeLoops, asks_whether_any_lane_works_before_it_loads_for_all) {
  const Expr mask = lanes < splat(n);
  EXPECT_TRUE(same(vectorized(if_then(i < n, store(b, load(a, {n - 1}), {i}))),
                   if_then(0 < n, masked_store(b, splat(load(a, {n - 1})), lanes, mask))));
}

TEST_F(VectorizeLoops, evaluates_a_condition_on_memory_once) {
  const Stmt result =
      vectorized(if_then(load(a, {i}) > f(0), store(a, f(1), {i}), store(b, f(2), {i})));
  const auto* let = result.as<LetStmt>();
  ASSERT_TRUE(let);
  EXPECT_TRUE(same(let->value, load(a, {lanes}) > splat(f(0))));
  const Expr mask = let->var;
  EXPECT_TRUE(same(let->body, seq({masked_store(a, splat(f(1)), lanes, mask),
                                   masked_store(b, splat(f(2)), lanes, !mask)})));
}

TEST_F(VectorizeLoops, stores_once_what_all_branches_store) {
  const Expr first = load(a, {i}) > f(2), second = load(a, {i}) > f(0);
  const auto put = [&](int value) { return store(b, f(value), {i}); };
  const auto choose = [](const Expr& condition, const Expr& yes, const Expr& no) {
    return make(Select{.condition = condition, .true_value = yes, .false_value = no});
  };
  const Expr wide = load(a, {lanes}) > splat(f(2));
  const Expr inner = masked_load(a, lanes, !wide) > splat(f(0));
  EXPECT_TRUE(
      same(vectorized(if_then(first, put(1), if_then(second, put(2), put(3)))),
           store(b, choose(wide, splat(f(1)), choose(inner, splat(f(2)), splat(f(3)))), {lanes})));
}

TEST_F(VectorizeLoops, stores_for_all_lanes_what_each_iteration_stores) {
  const auto choose = [](const Expr& condition, const Expr& yes, const Expr& no) {
    return make(Select{.condition = condition, .true_value = yes, .false_value = no});
  };
  const Expr wide = load(a, {lanes}) > splat(f(0)), old = load(b, {lanes});
  const auto put = [&](int value) { return store(b, f(value), {i}); };
  const Stmt before = vectorized(seq({put(1), if_then(load(a, {i}) > f(0), put(2))}));
  const auto* parts = before.as<SeqStmt>();
  ASSERT_TRUE(parts && parts->seq[1].is<LetStmt>());
  const auto* under = parts->seq[1].as<LetStmt>();
  EXPECT_TRUE(same(under->value, wide));
  EXPECT_TRUE(same(under->body, store(b, choose(under->var, splat(f(2)), old), {lanes})));
  // Or in both branches, beside what one of them stores alone.
  const Stmt both =
      vectorized(if_then(load(a, {i}) > f(0), seq({store(a, f(3), {i}), put(1)}), put(2)));
  const auto* let = both.as<LetStmt>();
  ASSERT_TRUE(let);
  const Expr mask = let->var;
  EXPECT_TRUE(same(let->body, seq({masked_store(a, splat(f(3)), lanes, mask),
                                   store(b, choose(mask, splat(f(1)), old), {lanes}),
                                   store(b, choose(!mask, splat(f(2)), old), {lanes})})));
}

TEST_F(VectorizeLoops, loads_both_values_of_a_choice_under_masks) {
  const Expr choice = if_then_else(0 < i, load(a, {i - 1}), f(0));
  const Expr mask = splat(0) < lanes;
  EXPECT_TRUE(same(vectorized(store(b, choice, {i})),
                   store(b,
                         make(Select{.condition = mask,
                                     .true_value = masked_load(a, ramp(-1, 1, 8), mask),
                                     .false_value = splat(f(0))}),
                         {lanes})));
}

TEST_F(VectorizeLoops, keeps_loops_inside_serial) {
  const Stmt update = store(b, load(b, {i}) + load(a, {j}), {i});
  EXPECT_TRUE(same(vectorized(for_loop(j, 0, n, update)),
                   for_loop(j, 0, n, store(b, load(b, {lanes}) + splat(load(a, {j})), {lanes}))));
}

TEST_F(VectorizeLoops, reduces_lanes_that_go_into_one_element) {
  const Expr sum = call(f32, op("vector_reduce_add"), {load(a, {lanes})});
  EXPECT_TRUE(same(vectorized(store(b, load(b, {n}) + load(a, {i}), {n})),
                   store(b, load(b, {n}) + sum, {n})));
  const Expr mask = lanes < splat(n);
  const Expr value = make(Select{.condition = mask,
                                 .true_value = masked_load(a, lanes, mask),
                                 .false_value = splat(-infinity(f32))});
  EXPECT_TRUE(same(vectorized(if_then(i < n, store(b, max(load(b, {0}), load(a, {i})), {0}))),
                   store(b, max(load(b, {0}), call(f32, op("vector_reduce_max"), {value})), {0})));
}

TEST_F(VectorizeLoops, does_lane_by_lane_what_has_no_form_for_vectors) {
  const Stmt call_it = make(Evaluate{.value = call(i32, op("call_extern"), {string_imm("f"), i})});
  EXPECT_TRUE(same(vectorized(seq({store(b, load(a, {i}), {i}), call_it})),
                   seq({store(b, load(a, {lanes}), {lanes}), for_loop(i, 0, 8, call_it)})));
  const Stmt last_wins = store(b, load(a, {i}), {0});
  EXPECT_TRUE(same(vectorized(last_wins), for_loop(i, 0, 8, last_wins)));
  const Stmt leaves = seq({store(b, f(0), {i}), if_then(load(a, {i}) > f(0), make(Break{}))});
  EXPECT_TRUE(same(vectorized(leaves), for_loop(i, 0, 8, leaves)));
}

TEST_F(VectorizeLoops, vectorizes_the_inner_of_two_loops) {
  const Stmt inner =
      for_loop(j, 0, 8, store(b, load(a, {i * 8 + j}), {i * 8 + j}), ForKind::vectorized);
  const Expr at = ramp(i * 8, 1, 8);
  EXPECT_TRUE(same(vectorized(inner), for_loop(i, 0, 8, store(b, load(a, {at}), {at}))));
}

TEST_F(VectorizeLoops, gives_each_lane_its_own_memory) {
  const Ptr<Buffer> t = decl_buffer({2}, f32, "T");
  Buffer wide = *t;
  wide.shape = {16};
  const Ptr<Buffer> u = make(std::move(wide));
  EXPECT_TRUE(same(
      vectorized(allocated(t, seq({store(t, load(a, {i}), {1}), store(b, load(t, {1}), {i})}))),
      allocated(u, seq({store(u, load(a, {lanes}), {ramp(8, 1, 8)}),
                        store(b, load(u, {ramp(8, 1, 8)}), {lanes})}))));
}

TEST_F(VectorizeLoops, widens_names) {
  const Ptr<Var> y = var("y", f32), wide = var("y", f32.with_lanes(8));
  const auto let = [](const Ptr<Var>& v, Expr value, Stmt body) {
    return make(LetStmt{.value = value, .var = v, .body = body});
  };
  EXPECT_TRUE(same(vectorized(let(y, load(a, {i}), store(b, y * y, {i}))),
                   let(wide, load(a, {lanes}), store(b, wide * wide, {lanes}))));
}

TEST_F(VectorizeLoops, cuts_long_loops_into_vectors) {
  const Ptr<Var> chunk = var("chunk");
  const auto copy = [&](Expr at) { return store(b, load(a, {at}), {at}); };
  // 134 iterations of 32 bits: eight vectors of 512 bits and a shorter one.
  EXPECT_TRUE(
      same(vectorized(copy(i), 134),
           seq({for_loop(chunk, 0, 8, copy(ramp(chunk * 16, 1, 16))), copy(ramp(128, 1, 6))})));
  const auto cut = [&](const Expr& extent, const Expr& full) {
    const Expr rest = ramp(full * 16, 1, 16), mask = rest < broadcast(extent, 16);
    return seq({for_loop(chunk, 0, full, copy(ramp(chunk * 16, 1, 16))),
                masked_store(b, masked_load(a, rest, mask), rest, mask)});
  };
  EXPECT_TRUE(same(vectorized(copy(i), n), cut(n, floordiv(n, 16))));
  const Ptr<Var> any = var("m");
  EXPECT_TRUE(same(vectorized(copy(i), any), cut(any, max(floordiv(any, 16), 0))));
}

TEST_F(VectorizeLoops, makes_no_vectors_of_which_no_lane_works) {
  const Ptr<Buffer> c = decl_buffer({4096}, f32, "C");
  const Stmt body = if_then(i + 40 < 240, store(c, x, {i}));
  const Stmt loop = for_loop(i, 0, 4096, body, ForKind::vectorized);
  const Stmt result = vectorize_loops(function({c}, loop, {x}), 512)->body;
  int masked = 0;
  std::int64_t vectors = 0;
  pre_order_visit(result, [&](const Ref& ref) {
    if (const auto* over = ref.as<For>()) vectors = *as_int(over->extent);
    const auto* stored = ref.as<BufferStore>();
    masked += stored && stored->predicate.defined() ? 1 : 0;
    return true;
  });
  EXPECT_EQ(vectors, 12) << "of 16 lanes, and half of one";
  EXPECT_EQ(masked, 0);
}

TEST_F(VectorizeLoops, cuts_long_loops_where_a_branch_changes) {
  const auto put = [&](int value, const Expr& at) {
    return store(b, broadcast(f(value), at.dtype().lanes), {at});
  };
  const auto chunks = [&](int first, int count, int value) {
    const Ptr<Var> chunk = var("chunk");
    return for_loop(chunk, 0, count, put(value, ramp(first + chunk * 16, 1, 16)));
  };
  const Stmt expected = seq(
      {chunks(0, 10, 1), put(1, ramp(160, 1, 4)), chunks(164, 10, 2), put(2, ramp(324, 1, 12))});
  for (const Expr& condition : {Expr(i + 1 < 165), Expr(i <= 163)}) {
    const Stmt branch = if_then(condition, store(b, f(1), {i}), store(b, f(2), {i}));
    EXPECT_TRUE(same(vectorized(branch, 336), expected));
  }
  const Stmt other = if_then(i >= 164, store(b, f(2), {i}), store(b, f(1), {i}));
  EXPECT_TRUE(same(vectorized(other, 336), expected));
}

TEST_F(VectorizeLoops, cuts_vectors_into_powers_of_two) {
  const auto copy = [&](int first, int count) {
    return store(b, load(a, {ramp(first, 1, count)}), {ramp(first, 1, count)});
  };
  const Stmt body = store(b, load(a, {i}), {i});
  EXPECT_TRUE(same(vectorized(body, 48), seq({copy(0, 32), copy(32, 16)})));
  EXPECT_TRUE(same(vectorized(body, 57),
                   seq({copy(0, 32), copy(32, 16), copy(48, 8), store(b, load(a, {56}), {56})})));
  EXPECT_TRUE(same(vectorized(body, 128), seq({copy(0, 64), copy(64, 64)})));
  // What fits into one vector stays one.
  EXPECT_TRUE(same(vectorized(body, 12), copy(0, 12)));
}

TEST_F(VectorizeLoops, goes_lane_by_lane_through_views_that_differ) {
  Buffer form = *decl_buffer({Expr(i) + 8}, f32, "view");
  form.data = a->data;
  const Ptr<Buffer> view = make(std::move(form));
  const Stmt body = make(DeclBuffer{.buffer = view, .body = store(b, load(view, {n}), {i})});
  EXPECT_TRUE(same(vectorized(body), for_loop(i, 0, 8, body)));
}

TEST_F(VectorizeLoops, adds_what_is_the_same_in_all_lanes_for_each) {
  const Stmt add = store(a, load(a, {1}) + load(b, {n}), {1});
  EXPECT_TRUE(same(vectorized(add), for_loop(i, 0, 8, add)));
  const Stmt set = store(a, load(b, {n}), {1});
  EXPECT_TRUE(same(vectorized(set), set));
}

TEST_F(VectorizeLoops, loads_for_a_second_condition_only_where_the_first_leaves_it_open) {
  const Expr first = i<n, second = load(a, {i})> f(0);
  const auto loaded_under = [&](const Expr& condition) {
    Expr mask;
    pre_order_visit(vectorized(if_then(condition, store(b, f(1), {i}))), [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      if (load && load->buffer.same_as(a)) mask = load->predicate;
      return true;
    });
    return mask;
  };
  const Expr wide = lanes < splat(n);
  EXPECT_TRUE(same(loaded_under(first && second), wide));
  EXPECT_TRUE(same(loaded_under(first || second), !wide));
  EXPECT_FALSE(loaded_under(second && first).defined());
}

}  // namespace
}  // namespace loopsmith
