// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "loopsmith/interp/testing/call.h"
#include "loopsmith/script/parse.h"

namespace loopsmith::interp {
namespace threads_test {

using testing::Call;
using testing::function;

Expr f(double value) {
  return float_imm(f32, value);
}

Ptr<IterVar> thread(const Ptr<Var>& variable, const std::string& tag) {
  return make(IterVar{.var = variable, .iter_type = IterType::thread_index, .thread_tag = tag});
}

/// `body` in each of `extent` threads: an attribute, as after lowering.
Stmt launched(const Ptr<Var>& variable, const std::string& tag, Expr extent, Stmt body) {
  return make(AttrStmt{.node = thread(variable, tag),
                       .attr_key = "thread_extent",
                       .value = extent,
                       .body = std::move(body)});
}

/// The same as a loop, as schedules make them.
Stmt bound(const Ptr<Var>& variable, const std::string& tag, Expr extent, Stmt body) {
  return make(For{.loop_var = variable,
                  .min = 0,
                  .extent = extent,
                  .kind = ForKind::thread_binding,
                  .thread_binding = thread(var(variable->name), tag),
                  .body = std::move(body)});
}

Stmt barrier() {
  return make(Evaluate{.value = call(i32, op("tvm_storage_sync"), {string_imm("shared")})});
}

Stmt allocated(const Ptr<Buffer>& buffer, Stmt body) {
  return make(Allocate{.dtype = buffer->dtype,
                       .extents = buffer->shape,
                       .condition = true,
                       .buffer_var = buffer->data,
                       .body = make(DeclBuffer{.buffer = buffer, .body = std::move(body)})});
}

const auto a = decl_buffer({64}, f32, "A");

std::vector<float> counting(std::size_t count) {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0.F);
  return numbers;
}

/// Reverses each eight elements through shared memory.
Ptr<PrimFunc> reversal(bool has_barrier, bool is_allocated_inside) {
  const auto shared = decl_buffer({8}, f32, "S", "shared");
  const auto bx = var("bx"), tx = var("tx");
  const Expr mine = bx * 8 + tx;
  Stmt body = seq({store(shared, load(a, {mine}), {tx}), has_barrier ? barrier() : no_op(),
                   store(a, load(shared, {7 - Expr(tx)}), {mine})});
  if (is_allocated_inside) body = allocated(shared, body);
  body = launched(tx, "threadIdx.x", 8, body);
  if (!is_allocated_inside) body = allocated(shared, body);
  return function({a}, launched(bx, "blockIdx.x", 8, body));
}

TEST(threads, meet_at_barriers) {
  for (const bool is_allocated_inside : {false, true}) {
    std::vector<float> x = counting(64);
    Call(reversal(true, is_allocated_inside)).tensor(x).run();
    EXPECT_EQ(x[0], 7);
    EXPECT_EQ(x[63], 56);
    EXPECT_EQ(Call(reversal(false, is_allocated_inside)).tensor(x).error().substr(0, 39),
              "InterpError: element_was_written: load ");
  }
}

TEST(threads, race_without_a_barrier) {
  const auto tx = var("tx");
  const auto shift =
      function({a}, launched(tx, "threadIdx.x", 8, store(a, load(a, {Expr(tx) + 1}), {tx})));
  std::vector<float> x = counting(64);
  EXPECT_EQ(Call(shift).tensor(x).error(),
            "InterpError: no_race: race on A[1]: tx = 0 reads it, tx = 1 writes it, and nothing "
            "orders the two");
}

TEST(threads, have_memory_that_may_be_private_to_iterations_around_them) {
  const auto i = var("i"), tx = var("tx");
  const auto own = decl_buffer({1}, f32, "own", "local");
  const Expr mine = Expr(i) * 8 + Expr(tx);
  const Stmt write = store(own, load(a, {mine}) + f(1), {0});
  const Stmt read = store(a, load(own, {0}), {mine});
  const auto run = [&](Stmt body) {
    const Stmt loop =
        for_loop(i, 0, 8, bound(tx, "threadIdx.x", 8, std::move(body)), ForKind::parallel);
    std::vector<float> x = counting(64);
    return Call(function({a}, make(BlockRealize{
                                  .block = make(Block{.alloc_buffers = {own}, .body = loop})})))
        .tensor(x)
        .error();
  };
  EXPECT_EQ(run(seq({write, read})), "");
  EXPECT_EQ(run(seq({make(IfThenElse{.condition = Expr(i) == 0, .then_case = write}), read})),
            "InterpError: no_race: race on own[0]: i = 0 writes it, i = 1 reads it, and nothing "
            "orders the two");
}

TEST(threads, must_not_part_at_a_barrier) {
  const auto tx = var("tx");
  const Stmt body =
      make(IfThenElse{.condition = Expr(tx) < 3, .then_case = barrier(), .else_case = barrier()});
  std::vector<float> x(64);
  EXPECT_EQ(Call(function({a}, launched(tx, "threadIdx.x", 8, body))).tensor(x).error(),
            "InterpError: barriers_meet: thread 0 waits at one barrier, thread 3 at another");
  EXPECT_EQ(Call(function({a}, barrier())).tensor(x).error(),
            "InterpError: inside_threads: a barrier stands where there is only one thread");
  const auto i = var("i");
  const Stmt loop = for_loop(i, 0, 2, barrier(), ForKind::vectorized);
  EXPECT_EQ(Call(function({a}, launched(tx, "threadIdx.x", 8, loop))).tensor(x).error(),
            "InterpError: barrier_in_parallel_loop: a barrier stands in a parallel loop, whose "
            "iterations have no order");
}

TEST(threads, exchange_values_in_a_warp) {
  const auto tx = var("tx");
  const auto shuffle = [&](const char* name, Expr lane) {
    const Op how = op_of(find_op(name));
    return call(f32, how, {-1, load(a, {tx}), lane, 32, 32});
  };
  const auto result_of = [&](const Expr& value) {
    const auto out = decl_buffer({64}, f32, "out");
    std::vector<float> x = counting(64), y(64);
    Call(function({a, out}, launched(tx, "threadIdx.x", 64, store(out, value, {tx}))))
        .tensor(x)
        .tensor(y)
        .run();
    return y;
  };
  EXPECT_EQ(result_of(shuffle("tvm_warp_shuffle", 5))[40], 37);
  EXPECT_EQ(result_of(shuffle("tvm_warp_shuffle_down", 2))[10], 12);
  EXPECT_EQ(result_of(shuffle("tvm_warp_shuffle_down", 2))[31], 31);
  EXPECT_EQ(result_of(shuffle("tvm_warp_shuffle_up", 1))[32], 32);
  EXPECT_EQ(result_of(shuffle("tvm_warp_shuffle_up", 1))[33], 32);
}

TEST(threads, sum_up_by_shuffles) {
  const auto tx = var("tx");
  const auto out = decl_buffer({1}, f32, "out"), t = decl_buffer({1}, f32, "T", "local");
  std::vector<Stmt> steps{store(t, load(a, {tx}), {0})};
  for (const int distance : {16, 8, 4, 2, 1}) {
    const Expr other = call(f32, op("tvm_warp_shuffle_down"), {-1, load(t, {0}), distance, 32, 32});
    steps.push_back(store(t, load(t, {0}) + other, {0}));
  }
  steps.push_back(
      make(IfThenElse{.condition = Expr(tx) == 0, .then_case = store(out, load(t, {0}), {0})}));
  std::vector<float> x = counting(64), y(1);
  Call(function({a, out}, launched(tx, "threadIdx.x", 32, allocated(t, seq(steps)))))
      .tensor(x)
      .tensor(y)
      .run();
  EXPECT_EQ(y[0], 496);
}

TEST(threads, reduce_over_one_axis_of_the_block) {
  const auto tx = var("tx"), ty = var("ty"), x = var("x", f32), y = var("y", f32);
  const auto out = decl_buffer({4}, f32, "out"), r = decl_buffer({1}, f32, "R", "local");
  const Ptr<CommReducer> largest = make(CommReducer{
      .lhs = {x}, .rhs = {y}, .result = {max(x, y)}, .identity_element = {min_value(f32)}});
  const Expr reduce =
      call(i32, op("tvm_thread_allreduce"),
           {int_imm(u32, 1), load(a, {ty * 16 + tx}), Expr(tx) < 15, load(r, {0}), tx});
  Stmt body = make(AttrStmt{.node = largest,
                            .attr_key = "reduce_scope",
                            .value = 0,
                            .body = make(Evaluate{.value = reduce})});
  body = seq({body, make(IfThenElse{.condition = Expr(tx) == 0,
                                    .then_case = store(out, load(r, {0}), {ty})})});
  body = launched(ty, "threadIdx.y", 4, launched(tx, "threadIdx.x", 16, allocated(r, body)));
  std::vector<float> in = counting(64), result(4);
  Call(function({a, out}, body)).tensor(in).tensor(result).run();
  EXPECT_EQ(result, (std::vector<float>{14, 30, 46, 62}));
}

/// A block, as schedules have them.
Stmt block(Stmt body) {
  return make(BlockRealize{.block = make(Block{.body = std::move(body)})});
}

TEST(threads, of_schedules_wait_for_what_they_share) {
  const auto shared = decl_buffer({8}, f32, "S", "shared");
  const auto bx = var("bx"), tx = var("tx"), ty = var("ty"), k = var("k");
  const auto mine = [&](const Expr& t) { return bx * 8 + t; };
  // Threads of one tag in one another are the same ones.
  const Stmt nested = bound(
      tx, "threadIdx.x", 8,
      for_loop(k, 0, 3,
               seq({bound(ty, "threadIdx.x", 8, block(store(shared, load(a, {mine(ty)}), {ty}))),
                    block(store(a, load(shared, {7 - Expr(tx)}), {mine(tx)}))})));
  // One after the other, too.
  const Stmt siblings =
      seq({bound(tx, "threadIdx.x", 8, block(store(shared, load(a, {mine(tx)}), {tx}))),
           bound(ty, "threadIdx.x", 8, block(store(a, load(shared, {7 - Expr(ty)}), {mine(ty)})))});
  for (const Stmt& body : {nested, siblings}) {
    const Stmt root =
        make(BlockRealize{.block = make(Block{.alloc_buffers = {shared}, .body = body})});
    std::vector<float> x = counting(64);
    Call(function({a}, bound(bx, "blockIdx.x", 8, root))).tensor(x).run();
    EXPECT_EQ(x[0], 7);
    EXPECT_EQ(x[63], 56);
  }
}

TEST(threads, have_local_memory_of_their_own) {
  const auto local = decl_buffer({1}, f32, "L", "local");
  const auto tx = var("tx"), ty = var("ty");
  const Stmt body =
      seq({bound(tx, "threadIdx.x", 8, block(store(local, load(a, {tx}) * f(2), {0}))),
           bound(ty, "threadIdx.x", 8, block(store(a, load(local, {0}), {ty})))});
  std::vector<float> x = counting(64);
  Call(function({a},
                make(BlockRealize{.block = make(Block{.alloc_buffers = {local}, .body = body})})))
      .tensor(x)
      .run();
  EXPECT_EQ(x[7], 14);
  EXPECT_EQ(x[8], 8);
}

TEST(threads, the_first_of_an_axis_run_what_stands_beside_its_loops) {
  const auto func = parse_function(R"(
@T.prim_func
def main(A: T.Buffer((64,)), X: T.Buffer((4,))):
    S = T.alloc_buffer((4, 16), scope="shared")
    for ty in T.thread_binding(4, thread="threadIdx.y"):
        L = T.alloc_buffer((1,), scope="local")
        for k in range(2):
            L[0] = A[ty * 16 + k]
            for tx in T.thread_binding(16, thread="threadIdx.x"):
                with T.block("S"):
                    vy, vx = T.axis.remap("SS", [ty, tx])
                    S[vy, vx] = A[vy * 16 + vx] + L[0]
            for j in range(16):
                with T.block("X"):
                    vy, vj = T.axis.remap("SR", [ty, j])
                    X[vy] = X[vy] + S[vy, vj]
)");
  std::vector<float> x = counting(64), y(4);
  Call(func).tensor(x).tensor(y).run();
  for (int row = 0; row < 4; ++row) {
    const int first = row * 16;
    const int total = first * 16 + 120;
    EXPECT_EQ(y[row], 2 * total + 16 * (first + first + 1)) << row;
  }
}

TEST(threads, beyond_a_smaller_loop_have_no_part_in_it) {
  const auto tx = var("tx"), ty = var("ty");
  const Stmt body = seq({bound(ty, "threadIdx.x", 2, store(a, f(-1), {ty})), barrier(),
                         store(a, load(a, {tx}) * f(2), {tx})});
  std::vector<float> x = counting(64);
  Call(function({a}, bound(tx, "threadIdx.x", 4, body))).tensor(x).run();
  EXPECT_EQ(std::vector<float>(x.begin(), x.begin() + 5), (std::vector<float>{-2, -2, 4, 6, 4}));
}

TEST(threads, are_limited_in_number) {
  const auto tx = var("tx");
  std::vector<float> x(64);
  EXPECT_EQ(Call(function({a}, bound(tx, "threadIdx.x", 100'000, store(a, f(0), {tx}))))
                .tensor(x)
                .error(),
            "InterpError: thread_limit: a block has more than 65536 threads");
}

TEST(threads, add_atomically) {
  const auto tx = var("tx");
  const auto out = decl_buffer({1}, f32, "out");
  const Expr address = call(op("address_of"), {load(out, {0})});
  const Stmt add = make(Evaluate{.value = call(f32, op("atomic_add"), {address, load(a, {tx})})});
  std::vector<float> x = counting(64), y{0};
  Call(function({a, out}, launched(tx, "threadIdx.x", 64, add))).tensor(x).tensor(y).run();
  EXPECT_EQ(y[0], 2016);
}

/// What is said about threads that run these lines, of which the first has number 7.
std::string said_of(std::string_view lines, int count = 64) {
  const auto func = parse_function(fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((64,)), X: T.Buffer((64,))):
    S = T.alloc_buffer((64,), scope="shared")
    for tx in T.thread_binding({}, thread="threadIdx.x"):
        V = T.alloc_buffer((1,), scope="local")
{}
)",
                                               count, lines));
  // Without blocks, so that barriers are where they are written alone.
  const auto* realize = func->body.as<BlockRealize>();
  PrimFunc plain = *func;
  Stmt body = realize->block->body;
  for (const Ptr<Buffer>& buffer : realize->block->alloc_buffers) body = allocated(buffer, body);
  plain.body = body;
  std::vector<float> x = counting(64), y(64);
  return Call(make(plain)).tensor(x).tensor(y).error();
}

TEST(threads, a_missing_barrier_is_reported_with_both_lines) {
  const std::string_view reversal = R"(
        S[tx] = A[tx]
        {}
        X[tx] = S[63 - tx])";
  const auto with = [&](std::string_view middle) {
    return said_of(fmt::format(fmt::runtime(reversal), middle));
  };
  EXPECT_EQ(with("T.tvm_storage_sync(\"shared\")"), "");
  // An exchange of values is no barrier, and neither is one of a warp.
  for (const char* middle :
       {"T.evaluate(T.tvm_warp_shuffle(-1, A[tx], 0, 32, 32))", "T.tvm_storage_sync(\"warp\")"}) {
    EXPECT_EQ(with(middle),
              "InterpError: no_race: race on S[63]: tx = 63 writes it (line 8), tx = 0 reads it "
              "(line 10), and nothing orders the two");
  }
}

TEST(threads, memory_is_used_again_after_a_barrier) {
  const std::string_view rounds = R"(
        for k in range(3):
            S[tx] = A[tx] + T.float32(1)
            T.tvm_storage_sync("shared")
            X[tx] = S[63 - tx]
            {})";
  const auto with = [&](std::string_view end) {
    return said_of(fmt::format(fmt::runtime(rounds), end));
  };
  EXPECT_EQ(with("T.tvm_storage_sync(\"shared\")"), "");
  EXPECT_EQ(
      with("pass"),
      "InterpError: no_race: race on S[31]: tx = 31 writes it (line 9), tx = 32 reads it (line "
      "11), and nothing orders the two");
}

TEST(threads, a_barrier_of_a_warp_orders_its_threads) {
  const std::string_view pairs = R"(
        S[tx] = A[tx]
        T.tvm_storage_sync("warp")
        X[tx] = S[tx // 32 * 32 + 31 - tx % 32])";
  EXPECT_EQ(said_of(pairs), "");
}

TEST(threads, fill_memory_alike_while_others_read_it) {
  EXPECT_EQ(said_of(R"(
        S[0] = A[5]
        X[tx] = S[0])"),
            "");
  EXPECT_NE(said_of(R"(
        S[0] = A[tx]
        X[tx] = S[0])"),
            "");
  // A thread that has not written it itself may read what was there before.
  EXPECT_NE(said_of(R"(
        if tx > 0:
            S[0] = A[5]
        if tx == 1:
            X[tx] = S[0]
        S[0] = A[6])"),
            "");
}

TEST(threads, a_barrier_that_some_never_reach_is_named) {
  EXPECT_EQ(said_of(R"(
        if tx < 3:
            T.tvm_storage_sync("shared"))"),
            "InterpError: barrier_is_reached: thread 0 waits at a barrier (line 9) that thread 3 "
            "never reaches");
  EXPECT_EQ(said_of(R"(
        for k in range(tx):
            T.tvm_storage_sync("shared"))"),
            "InterpError: barrier_is_reached: thread 1 waits at a barrier (line 9) that thread 0 "
            "never reaches");
  EXPECT_EQ(
      said_of(R"(
        if tx < 3:
            T.evaluate(T.tvm_warp_shuffle(-1, A[tx], 0, 32, 32))
        else:
            T.tvm_storage_sync("shared"))"),
      "InterpError: barriers_meet: thread 0 waits at an exchange of values (line 9), thread 3 "
      "at another (line 11)");
}

/// What is said about a program of one 2 x 2 tensor that is not lowered yet.
std::string said_before_lowering(std::string_view lines, bool implies_barriers) {
  const auto func = parse_function(fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((2, 2))):
{}
)",
                                               lines));
  std::vector<float> values(4);
  return Call(func).tensor(values, {2, 2}).error({.implies_barriers = implies_barriers});
}

TEST(threads, wait_where_lowering_lets_them) {
  constexpr std::string_view transposition = R"(
    for i in range(2):
        for tx in T.thread_binding(2, thread="threadIdx.x"):
            A[tx, i] = A[i, tx])";
  EXPECT_EQ(said_before_lowering(transposition, false), "");
  constexpr std::string_view inside = R"(
    for ty in T.thread_binding(1, thread="threadIdx.y"):
        for i in range(2):
            for tx in T.thread_binding(2, thread="threadIdx.x"):
                A[tx, i] = A[i, tx])";
  EXPECT_EQ(said_before_lowering(inside, true), "");
  EXPECT_NE(said_before_lowering(inside, false), "");
  // What stands beside the threads runs once.
  constexpr std::string_view beside = R"(
    for ty in T.thread_binding(1, thread="threadIdx.y"):
        for tx in T.thread_binding(2, thread="threadIdx.x"):
            A[0, tx] = T.float32(1)
        A[0, 1] = T.float32(2))";
  EXPECT_EQ(said_before_lowering(beside, true), "");
  EXPECT_NE(said_before_lowering(beside, false), "");
  // Not where some do not get.
  EXPECT_EQ(said_before_lowering(R"(
    for tx in T.thread_binding(2, thread="threadIdx.x"):
        for i in T.thread_binding(tx, thread="vthread.x"):
            A[i, tx] = T.float32(1))",
                                 true),
            "");
}

}  // namespace threads_test
}  // namespace loopsmith::interp
