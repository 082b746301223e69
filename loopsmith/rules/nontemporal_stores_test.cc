// SPDX-License-Identifier: Apache-2.0
// Outputs that go past the caches, and data that is fetched ahead.
#include <gtest/gtest.h>

#include "loopsmith/ir/walk.h"
#include "loopsmith/rules/testing/scheduled.h"
#include "loopsmith/te/te.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/testing/functions.h"
#include "loopsmith/transform/testing/programs.h"

namespace loopsmith {
namespace {

using te::compute;
using te::placeholder;
using te::reduce_axis;
using te::Tensor;
using testing::checked_schedule;
using testing::numbers;

constexpr CpuModel wide_machine{.vector_bytes = 64, .vector_registers = 32, .cores = 2};
constexpr CpuModel streaming{.vector_bytes = 64,
                             .vector_registers = 32,
                             .cores = 2,
                             .cache_bytes = 1 << 10,
                             .streamed_bytes = 64,
                             .prefetch_bytes = 256};

TEST(nontemporal_stores, go_past_the_caches_where_outputs_are_large) {
  const auto marks_in = [](const Ptr<PrimFunc>& func) {
    int marks = 0;
    pre_order_visit(func->body, [&](const Ref& ref) {
      const auto* loop = ref.as<For>();
      marks += loop && loop->annotations.get_int("pragma_nontemporal", -1) >= 0;
      return true;
    });
    return marks;
  };
  const auto copy_of = [](int count) {
    const Tensor a = placeholder({count}, f32, "A");
    return te::create_prim_func({a, compute({count}, [&](Expr i) { return a(i) + 1; }, "B")});
  };
  CpuModel large = wide_machine;
  large.streamed_bytes = 64;
  EXPECT_EQ(marks_in(with_default_schedule(copy_of(1 << 24), large)), 1);
  EXPECT_EQ(marks_in(with_default_schedule(copy_of(1 << 20), large)), 0);
  EXPECT_EQ(marks_in(with_default_schedule(copy_of(1 << 24), wide_machine)), 0);
  CpuModel small = large;
  small.cache_bytes = 1 << 10;
  EXPECT_EQ(marks_in(checked_schedule(copy_of(1000), {numbers({1000}), numbers({1000})}, small)),
            1);
}

TEST(nontemporal_stores, start_where_they_are_aligned_and_read_ahead) {
  const auto calls_in = [](const Ptr<PrimFunc>& func, Op op) {
    int calls = 0;
    pre_order_visit(func->body, [&](const Ref& ref) {
      const auto* call = ref.as<Call>();
      calls += call && call->op == op;
      return true;
    });
    return calls;
  };
  for (const int columns : {64, 50, 33, 17}) {  // Rows that start anywhere in a line.
    const Tensor a = placeholder({20, columns}, f32, "A");
    const te::IterVar k = reduce_axis(0, columns, "k");
    const Tensor total = compute({20}, [&](Expr i) { return te::sum(a(i, k), {k}); }, "total");
    const Tensor out =
        compute({20, columns}, [&](Expr i, Expr j) { return a(i, j) + total(i); }, "out");
    const auto func = checked_schedule(te::create_prim_func({a, out}),
                                       {numbers({20, columns}), numbers({20, columns})}, streaming);
    EXPECT_GT(calls_in(lower_function(func), op("reinterpret")), 0);
  }
  for (const int count : {1000, 257, 300}) {
    const Tensor a = placeholder({count}, f32, "A");
    const Tensor b = compute({count}, [&](Expr i) { return a(i) + 1; }, "B");
    const auto func = checked_schedule(te::create_prim_func({a, b}),
                                       {numbers({count}), numbers({count})}, streaming);
    EXPECT_GT(calls_in(lower_function(func), op("prefetch")), 0);
  }
}

TEST(nontemporal_stores, keep_what_random_programs_compute) {
  for (std::uint64_t seed = 2000; seed < 2060; ++seed) {
    const testing::Program program = testing::random_program(seed);
    SCOPED_TRACE(seed);
    checked_schedule(program.func, program.arguments, streaming);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(nontemporal_stores, compute_no_point_twice_that_reads_its_results) {
  // Of two results one is read again, so that a second time would add twice.
  const int count = 1000;
  const auto a = decl_buffer({count}, f32, "A"), b = decl_buffer({count}, f32, "B");
  const auto out = decl_buffer({count}, f32, "out");
  const Ptr<Var> i = var("i"), v = var("v");
  const Stmt body =
      seq({store(b, load(b, {v}) + load(a, {v}), {v}), store(out, load(a, {v}), {v})});
  const Stmt nest = for_loop(i, 0, count, testing::block({testing::axis(v, count)}, {i}, body));
  const Stmt root = testing::block({}, {}, nest);
  checked_schedule(testing::function({a, b, out}, root),
                   {numbers({count}), numbers({count}, 2), numbers({count})}, streaming);
}

}  // namespace
}  // namespace loopsmith
