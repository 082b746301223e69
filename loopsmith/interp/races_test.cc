// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "loopsmith/interp/testing/call.h"

namespace loopsmith::interp {
namespace races_test {

using testing::Call;
using testing::function;

Expr f(double value) {
  return float_imm(f32, value);
}

TEST(races, two_iterations_that_write_one_element) {
  const auto a = decl_buffer({4}, f32, "A");
  const auto i = var("i");
  const auto func =
      function({a}, for_loop(i, 0, 4, store(a, f(1), {floordiv(i, 2)}), ForKind::parallel));
  std::vector<float> x(4);
  EXPECT_EQ(Call(func).tensor(x).error(),
            "InterpError: no_race: race on A[0]: i = 0 writes it, i = 1 writes it, and nothing "
            "orders the two");
  EXPECT_EQ(Call(func).tensor(x).error({.check_races = false}), "");
}

TEST(races, a_read_of_what_another_iteration_writes) {
  const auto a = decl_buffer({9}, f32, "A");
  const auto i = var("i");
  const auto shift = [&](ForKind kind) {
    return function({a}, for_loop(i, 3, 4, store(a, load(a, {Expr(i) + 1}), {i}), kind));
  };
  std::vector<float> x(9);
  EXPECT_EQ(Call(shift(ForKind::parallel)).tensor(x).error(),
            "InterpError: no_race: race on A[4]: i = 3 reads it, i = 4 writes it, and nothing "
            "orders the two");
  EXPECT_EQ(Call(shift(ForKind::vectorized)).tensor(x).error(), "");
  EXPECT_EQ(Call(shift(ForKind::serial)).tensor(x).error(), "");
}

TEST(races, lanes_of_a_vector_go_in_step) {
  const auto a = decl_buffer({9}, f32, "A"), b = decl_buffer({9}, f32, "B");
  const auto i = var("i"), k = var("k");
  const auto error = [&](Stmt body) {
    std::vector<float> x(9), y(9);
    return Call(function({a, b}, for_loop(i, 0, 8, body, ForKind::vectorized)))
        .tensor(x)
        .tensor(y)
        .error();
  };
  const Expr next = Expr(i) + 1;
  const Stmt write = store(a, f(1), {next}), read = store(b, load(a, {i}), {i});
  EXPECT_EQ(error(seq({write, read})), "");
  EXPECT_EQ(error(seq({read, write})),
            "InterpError: no_race: race on A[1]: i = 0 writes it, i = 1 reads it, and nothing "
            "orders the two");
  EXPECT_NE(error(store(a, load(a, {i}), {next})), "");
  EXPECT_NE(error(for_loop(k, 0, 2, seq({write, read}))), "");
  EXPECT_EQ(error(seq({for_loop(k, 0, 2, write), read})), "");
  // A vector inside a lane takes its turns between what stands before and after it.
  const auto inner = [](Stmt stmt) {
    return for_loop(var("j"), 0, 1, std::move(stmt), ForKind::vectorized);
  };
  EXPECT_EQ(error(seq({for_loop(k, 0, 2, write), inner(read)})), "");
  EXPECT_EQ(error(seq({inner(for_loop(k, 0, 2, write)), read})), "");
  EXPECT_EQ(error(seq({inner(for_loop(k, 0, 2, read)), write})),
            "InterpError: no_race: race on A[1]: i = 0 writes it, i = 1 reads it, and nothing "
            "orders the two");
}

TEST(races, buffers_of_a_block_may_be_private_to_iterations) {
  const auto a = decl_buffer({4}, f32, "A"), t = decl_buffer({1}, f32, "T");
  const auto i = var("i");
  const auto error = [&](Stmt body, Stmt after = no_op()) {
    const Stmt loop = for_loop(i, 0, 4, std::move(body), ForKind::parallel);
    std::vector<float> x(4);
    return Call(function({a}, make(BlockRealize{.block = make(Block{.alloc_buffers = {t},
                                                                    .body = seq({loop, after})})})))
        .tensor(x)
        .error();
  };
  const Stmt write = store(t, load(a, {i}), {0}), read = store(a, load(t, {0}), {i});
  EXPECT_EQ(error(seq({write, read, write, read})), "");
  EXPECT_EQ(error(seq({write, read}), store(t, f(0), {0})), "");
  EXPECT_EQ(error(seq({write, read}), store(a, load(t, {0}), {0})),
            "InterpError: no_race: race on T: several iterations of a parallel loop write an "
            "element that is read after the loop");
  const Stmt first = make(IfThenElse{.condition = Expr(i) == 0, .then_case = write});
  EXPECT_EQ(error(seq({first, read})),
            "InterpError: no_race: race on T[0]: i = 0 writes it, i = 1 reads it, and nothing "
            "orders the two");
}

TEST(races, memory_of_a_block_is_private_where_its_scope_lets_it_be) {
  const auto a = decl_buffer({4}, f32, "A");
  const auto i = var("i");
  const auto error = [&](const char* scope, const char* how) {
    const auto t = decl_buffer({1}, f32, "T", scope);
    const Stmt use = seq({store(t, load(a, {i}), {0}), store(a, load(t, {0}), {i})});
    For loop{.loop_var = i, .min = 0, .extent = 4, .kind = ForKind::vectorized, .body = use};
    if (how[0] != 'v') {
      loop.kind = ForKind::thread_binding;
      loop.thread_binding =
          make(IterVar{.var = var(how), .iter_type = IterType::thread_index, .thread_tag = how});
    }
    std::vector<float> x = {1, 2, 3, 4};
    return Call(function({a},
                         make(BlockRealize{.block = make(Block{.alloc_buffers = {t},
                                                               .body = make(std::move(loop))})})))
        .tensor(x)
        .error();
  };
  const std::string race = "InterpError: no_race: race on T[0]: i = 0 ";
  for (const auto* scope : {"global", "local"}) EXPECT_EQ(error(scope, "vectorized"), "");
  for (const auto* scope : {"local", "shared", "warp"}) EXPECT_EQ(error(scope, "blockIdx.x"), "");
  EXPECT_EQ(error("local", "threadIdx.x"), "");
  EXPECT_EQ(error("shared", "vectorized").substr(0, race.size()), race);
  EXPECT_EQ(error("global", "blockIdx.x").substr(0, race.size()), race);
  EXPECT_EQ(error("shared", "threadIdx.x").substr(0, race.size()), race);
  EXPECT_EQ(error("global", "threadIdx.x").substr(0, race.size()), race);
}

TEST(races, threads_may_store_one_value_into_shared_memory) {
  const auto error = [](const char* scope, bool differs) {
    const auto a = decl_buffer({4}, f32, "A"), t = decl_buffer({1}, f32, "T", scope);
    const auto i = var("i");
    const Expr value = differs ? cast(f32, i) : float_imm(f32, 5);
    For loop{.loop_var = i, .min = 0, .extent = 4, .kind = ForKind::thread_binding};
    loop.body = seq({store(t, value, {0}), store(a, load(t, {0}), {i})});
    loop.thread_binding = make(IterVar{.var = var("threadIdx.x"),
                                       .iter_type = IterType::thread_index,
                                       .thread_tag = "threadIdx.x"});
    std::vector<float> x(4);
    const Stmt body = make(
        BlockRealize{.block = make(Block{.alloc_buffers = {t}, .body = make(std::move(loop))})});
    return Call(function({a}, body)).tensor(x).error();
  };
  EXPECT_EQ(error("shared", false), "");
  const std::string race = "InterpError: no_race: race on T[0]: i = 0 writes it";
  EXPECT_EQ(error("shared", true).substr(0, race.size()), race);
  EXPECT_EQ(error("global", false).substr(0, race.size()), race);
}

TEST(races, memory_of_a_thread_may_be_private_to_lanes_inside) {
  const auto a = decl_buffer({8, 4}, f32, "A");
  const auto i = var("i"), j = var("j");
  for (const auto* scope : {"global", "local"}) {
    const auto t = decl_buffer({1}, f32, "T", scope);
    const Stmt use = seq({store(t, load(a, {i, j}), {0}), store(a, load(t, {0}), {i, j})});
    const Stmt lanes = for_loop(j, 0, 4, use, ForKind::vectorized);
    For threads{.loop_var = i, .min = 0, .extent = 8, .kind = ForKind::thread_binding};
    threads.thread_binding = make(IterVar{
        .var = var("tx"), .iter_type = IterType::thread_index, .thread_tag = "threadIdx.x"});
    threads.body = make(BlockRealize{.block = make(Block{.alloc_buffers = {t}, .body = lanes})});
    std::vector<float> x(32);
    EXPECT_EQ(Call(function({a}, make(std::move(threads)))).tensor(x, {8, 4}).error(), "");
  }
}

TEST(races, nested_loops_name_the_one_that_does_not_order) {
  const auto a = decl_buffer({4, 4}, f32, "A");
  const auto i = var("i"), j = var("j");
  const auto nest = [&](ForKind outer, ForKind inner) {
    const Stmt body = store(a, f(1), {0, j});
    return function({a}, for_loop(i, 0, 3, for_loop(j, 0, 4, body, inner), outer));
  };
  std::vector<float> x(16);
  EXPECT_EQ(Call(nest(ForKind::parallel, ForKind::parallel)).tensor(x, {4, 4}).error(),
            "InterpError: no_race: race on A[0, 0]: i = 0 writes it, i = 1 writes it, and nothing "
            "orders the two");
  EXPECT_EQ(Call(nest(ForKind::serial, ForKind::parallel)).tensor(x, {4, 4}).error(), "");
}

TEST(races, what_an_iteration_allocates_is_its_own) {
  const auto a = decl_buffer({4}, f32, "A"), t = decl_buffer({1}, f32, "T");
  const auto i = var("i");
  const Stmt use = seq({store(t, load(a, {i}), {0}), store(a, load(t, {0}) * f(2), {i})});
  const auto allocate = [&](Stmt body) -> Stmt {
    return make(Allocate{.dtype = f32,
                         .extents = {1},
                         .condition = true,
                         .buffer_var = t->data,
                         .body = std::move(body)});
  };
  std::vector<float> x{1, 2, 3, 4};
  Call(function({a}, for_loop(i, 0, 4, allocate(use), ForKind::parallel))).tensor(x).run();
  EXPECT_EQ(x, (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(
      Call(function({a}, allocate(for_loop(i, 0, 4, use, ForKind::parallel)))).tensor(x).error(),
      "InterpError: no_race: race on T[0]: i = 0 writes it, i = 1 writes it, and nothing "
      "orders the two");
}

TEST(races, sums_may_run_in_parallel) {
  const auto a = decl_buffer({4}, f32, "A"), s = decl_buffer({1}, f32, "S");
  const auto i = var("i");
  const auto func = [&](const Expr& value) {
    return function({a, s}, for_loop(i, 0, 4, store(s, value, {0}), ForKind::parallel));
  };
  std::vector<float> x{1, 2, 3, 4}, y{0};
  Call(func(load(s, {0}) + load(a, {i}))).tensor(x).tensor(y).run();
  EXPECT_EQ(y[0], 10);
  EXPECT_NE(Call(func(load(s, {0}) * f(2) + load(a, {i}))).tensor(x).tensor(y).error(), "");
}

TEST(races, what_others_add_to_is_not_read_meanwhile) {
  const auto a = decl_buffer({4}, f32, "A"), s = decl_buffer({1}, f32, "S");
  const auto t = decl_buffer({1}, f32, "T");
  const auto i = var("i");
  std::vector<float> x{1, 2, 3, 4}, y{0};
  const Stmt add = store(t, load(t, {0}) + load(a, {i}), {0});
  const Stmt last = make(IfThenElse{.condition = i == 3, .then_case = store(s, load(t, {0}), {0})});
  const auto error = [&](const Stmt& body, bool is_set_inside) {
    const Stmt set = store(t, f(0), {0});
    const Stmt inside = is_set_inside ? seq({set, body}) : body;
    const Stmt loop = for_loop(i, 0, 4, inside, ForKind::parallel);
    Block root{.alloc_buffers = {t}, .body = is_set_inside ? loop : seq({set, loop})};
    const Stmt all = make(BlockRealize{.block = make(std::move(root))});
    return Call(function({a, s}, all)).tensor(x).tensor(y).error();
  };
  // The last iteration reads what the others add to; each of them reads what others added to.
  EXPECT_EQ(error(seq({add, last}), false).substr(0, 30), "InterpError: no_race: race on ");
  EXPECT_EQ(error(seq({add, store(a, load(t, {0}), {i})}), false).substr(0, 30),
            "InterpError: no_race: race on ");
  // Memory of its own.
  EXPECT_EQ(error(seq({add, store(a, load(t, {0}), {i})}), true), "");
}

/// T[()] = `value` in a block whose axis of reduction is j - i, where j starts at i * `factor`, and
/// A[i] = T[()] behind it; parallel over i.
Ptr<PrimFunc> skewed(bool is_sum, const Expr& value, const Ptr<Buffer>& a, const Ptr<Buffer>& t,
                     const Ptr<Var>& i) {
  const auto j = var("j"), vj = var("vj");
  const Expr sum = load(t, {0}) + value;
  Block block{
      .iter_vars = {make(IterVar{.dom = make(Range{.min = 0, .extent = 2}),
                                 .var = vj,
                                 .iter_type = IterType::comm_reduce})},
      .writes = {make(BufferRegion{.buffer = t, .region = {make(Range{.min = 0, .extent = 1})}})},
      .body = store(t, is_sum ? sum : value, {0})};
  if (is_sum) block.init = store(t, f(0), {0});
  const Stmt realize = make(BlockRealize{.iter_values = {j - i}, .block = make(std::move(block))});
  For inner{.loop_var = j, .min = i, .extent = 2, .body = realize};
  const Stmt loop = for_loop(i, 0, 4, seq({make(std::move(inner)), store(a, load(t, {0}), {i})}),
                             ForKind::parallel);
  return function({a},
                  make(BlockRealize{.block = make(Block{.alloc_buffers = {t}, .body = loop})}));
}

TEST(races, reductions_of_a_skewed_loop_are_those_of_its_iteration) {
  const auto a = decl_buffer({4}, f32, "A"), t = decl_buffer({1}, f32, "T");
  const auto i = var("i");
  for (const bool is_sum : {false, true}) {
    std::vector<float> x(4);
    Call(skewed(is_sum, cast(f32, i), a, t, i)).tensor(x).run();
    EXPECT_EQ(x, is_sum ? (std::vector<float>{0, 2, 4, 6}) : (std::vector<float>{0, 1, 2, 3}));
  }
}

TEST(races, an_overwriting_store_reduces_nothing) {
  const auto a = decl_buffer({4}, f32, "A"), s = decl_buffer({1}, f32, "S");
  const auto k = var("k"), vk = var("vk");
  const auto error = [&](const Expr& value) {
    Block block{
        .iter_vars = {make(IterVar{.dom = make(Range{.min = 0, .extent = 4}),
                                   .var = vk,
                                   .iter_type = IterType::comm_reduce})},
        .writes = {make(BufferRegion{.buffer = s, .region = {make(Range{.min = 0, .extent = 1})}})},
        .body = store(s, value, {0})};
    const Stmt realize = make(BlockRealize{.iter_values = {k}, .block = make(std::move(block))});
    std::vector<float> x{1, 2, 3, 4}, y{0};
    return Call(function({a, s}, for_loop(k, 0, 4, realize, ForKind::parallel)))
        .tensor(x)
        .tensor(y)
        .error();
  };
  EXPECT_EQ(error(load(s, {0}) + load(a, {vk})), "");
  EXPECT_EQ(error(load(a, {vk})).substr(0, 30), "InterpError: no_race: race on ");
}

/// S[vi] = sum over vk, with the loop over `kind` parallel.
Ptr<PrimFunc> reduction(ForKind spatial, ForKind reduced, const Expr& element) {
  const auto a = decl_buffer({4, 4}, f32, "A"), s = decl_buffer({4}, f32, "S");
  const auto i = var("i"), k = var("k"), vi = var("vi"), vk = var("vk");
  Block block{
      .iter_vars = {make(IterVar{.dom = range(0, 4), .var = vi}),
                    make(IterVar{
                        .dom = range(0, 4), .var = vk, .iter_type = IterType::comm_reduce})},
      .writes = {point_region(s, {vi})},
      .init = store(s, f(0), {vi}),
      // No operator that is known to commute: the axis says it.
      .body = store(s, call(op("pow"), {load(s, {vi}), load(a, {vi, vk})}), {vi})};
  const Stmt realize = make(BlockRealize{.iter_values = {element.defined() ? element : Expr(i), k},
                                         .block = make(block)});
  return function({a, s}, for_loop(i, 0, 4, for_loop(k, 0, 4, realize, reduced), spatial));
}

TEST(races, declared_reductions_may_run_in_parallel) {
  std::vector<float> x(16), y(4);
  const auto error = [&](const Ptr<PrimFunc>& func) {
    return Call(func).tensor(x, {4, 4}).tensor(y).error();
  };
  EXPECT_EQ(error(reduction(ForKind::serial, ForKind::parallel, {})), "");
  EXPECT_EQ(error(reduction(ForKind::parallel, ForKind::vectorized, {})), "");
  EXPECT_EQ(error(reduction(ForKind::parallel, ForKind::serial, 0)),
            "InterpError: no_race: race on S[0]: i = 0 writes it, i = 1 writes it, and nothing "
            "orders the two");
}

TEST(races, name_both_lines) {
  const auto a = decl_buffer({4}, f32, "A");
  const auto i = var("i");
  const std::uint32_t source = source_id("race.py", "one\ntwo\nthree\n");
  Stmt read, write;
  {
    const SpanScope scope({.source = source, .line = 1, .column = 1, .length = 3});
    write = store(a, f(1), {0});
  }
  {
    const SpanScope scope({.source = source, .line = 2, .column = 1, .length = 3});
    read = store(a, load(a, {0}), {Expr(i) + 1});
  }
  const auto func = function(
      {a},
      for_loop(i, 0, 2,
               make(IfThenElse{.condition = Expr(i) == 0, .then_case = write, .else_case = read}),
               ForKind::parallel));
  std::vector<float> x(4);
  EXPECT_EQ(Call(func).tensor(x).error(),
            "InterpError: no_race: race on A[0]: i = 0 writes it (line 1), i = 1 reads it (line "
            "2), and nothing orders the two");
}

TEST(races, break_does_not_leave_a_parallel_loop) {
  const auto a = decl_buffer({4}, f32, "A");
  const auto i = var("i");
  std::vector<float> x(4);
  EXPECT_EQ(
      Call(function({a}, for_loop(i, 0, 4, make(Break{}), ForKind::parallel))).tensor(x).error(),
      "InterpError: break_in_loop: break leaves a parallel loop");
}

}  // namespace races_test
}  // namespace loopsmith::interp
