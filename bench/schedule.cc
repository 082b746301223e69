// SPDX-License-Identifier: Apache-2.0
// How many schedule steps are applied in a second, with all checks, from C++.
//
//   schedule [milliseconds a row] [text]      the default is 200; only rows with that text
//
// Blocks are elementwise nests; time is processor time. The goals: 300 k cheap
// steps a second on 5 blocks, as fast on 1,000 blocks, at most linear in depth.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <vector>

#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/te/te.h"

using namespace loopsmith;

namespace {

double now() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Elementwise stages one after another, each of `depth` loops: 4 of 64, the others of 2.
Ptr<PrimFunc> chain(int blocks, int depth) {
  std::vector<Expr> shape(static_cast<std::size_t>(depth), Expr(2));
  for (std::size_t i = 0; i < 4; ++i) shape[i] = 64;
  const te::Tensor input = te::placeholder(shape, f32, "A");
  te::Tensor last = input;
  for (int i = 0; i < blocks; ++i) {
    const te::Tensor before = last;
    last = te::compute(
        shape, [&](const std::vector<Expr>& indices) { return before(indices) + 1; },
        fmt::format("B{}", i));
  }
  return te::create_prim_func({input, last});
}

Ptr<PrimFunc> matmul() {
  using namespace te;
  const te::Tensor A = placeholder({1024, 1024}, f32, "A"), B = placeholder({1024, 1024}, f32, "B");
  const te::IterVar k = reduce_axis(0, 1024, "k");
  return create_prim_func(
      {A, B,
       compute({1024, 1024}, [&](Expr i, Expr j) { return sum(A(i, k) * B(k, j), k); }, "C")});
}

double budget = 0.2;
std::string only;

bool is_wanted(const std::string& name) {
  return name.find(only) != std::string::npos;
}

/// The loops around each of some blocks.
using Nests = std::vector<Handles<LoopRV>>;
constexpr int max_nests = 10;

/// Prints the time of one of `count` steps that `round` does on a schedule of its own. What a copy
/// takes, and the first change of each nest, which makes lists its own, is left out.
void row(const std::string& name, const Ptr<PrimFunc>& func, int blocks, int count,
         const std::function<void(Schedule&, BlockRV, Nests&)>& round) {
  if (!is_wanted(name)) return;
  Schedule fresh(func, 1);
  double spent = 0;
  long rounds = 0;
  while (spent < budget) {
    Schedule sch = fresh.copy();
    const BlockRV block = get_block(sch, "B2");
    Nests nests;
    for (int b = 0; b < std::min(blocks, max_nests); ++b) {
      nests.push_back(get_loops(sch, get_block(sch, fmt::format("B{}", b))));
      unroll(sch, nests.back()[0]);
    }
    const double start = now();
    round(sch, block, nests);
    spent += now() - start;
    ++rounds;
  }
  const double each = spent / static_cast<double>(rounds * count);
  fmt::print("{:<34} {:>8.2f} us {:>10.0f} a second\n", name, each * 1e6, 1 / each);
}

void steps(int blocks, int depth) {
  const auto func = chain(blocks, depth);
  const std::string where = fmt::format(", {} blocks, {} loops", blocks, depth);
  constexpr int count = 20;
  row("get_loops" + where, func, blocks, count, [](Schedule& sch, BlockRV block, Nests&) {
    for (int i = 0; i < count; ++i) get_loops(sch, block);
  });
  row("annotate" + where, func, blocks, count, [](Schedule& sch, BlockRV, Nests& nests) {
    for (int i = 0; i < count; ++i) annotate(sch, nests[2][1], i % 2 ? "a" : "b", Annotation(1));
  });
  row("reorder" + where, func, blocks, count, [](Schedule& sch, BlockRV, Nests& nests) {
    const Handles<LoopRV>& loops = nests[2];
    for (int i = 0; i < count; ++i) {
      i % 2 ? reorder(sch, {loops[1], loops[2]}) : reorder(sch, {loops[2], loops[1]});
    }
  });
  // Loops of several blocks once each: a loop that is split on and on is no schedule.
  const int splits = 3 * std::min(blocks, max_nests);
  row("split" + where, func, blocks, splits, [](Schedule& sch, BlockRV, Nests& nests) {
    for (const Handles<LoopRV>& loops : nests) {
      for (std::size_t i = 1; i < 4; ++i) split(sch, loops[i], {infer, 2});
    }
  });
  row("split and fuse" + where, func, blocks, count, [](Schedule& sch, BlockRV, Nests& nests) {
    LoopRV loop = nests[2][1];
    for (int i = 0; i < count / 2; ++i) loop = fuse(sch, split(sch, loop, {infer, 8}));
  });
  const int inner = std::min(blocks, max_nests);
  row("parallel" + where, func, blocks, inner, [](Schedule& sch, BlockRV, Nests& nests) {
    for (const Handles<LoopRV>& loops : nests) parallel(sch, loops[1]);
  });
}

void tile(Schedule& sch) {
  const BlockRV block = get_block(sch, "C");
  const auto [i, j, k] = get_loops(sch, block).take<3>();
  const auto [i0, i1, i2, i3] = split(sch, i, {infer, 4, 8, 2}).take<4>();
  const auto [j0, j1, j2, j3] = split(sch, j, {infer, 2, 4, 16}).take<4>();
  const auto [k0, k1] = split(sch, k, {infer, 8}).take<2>();
  reorder(sch, {i0, j0, i1, j1, k0, i2, j2, k1, i3, j3});
  const LoopRV outer = fuse(sch, {i0, j0});
  parallel(sch, outer);
  vectorize(sch, j3);
  unroll(sch, i3);
  unroll(sch, k1);
  annotate(sch, outer, "pragma_auto_unroll_max_step", 64);
}

void whole_traces() {
  const auto func = matmul();
  Schedule once(func, 1);
  tile(once);
  const Trace trace = once.trace();
  const auto time = [&](const std::string& name, const auto& fn) {
    if (!is_wanted(name)) return;
    const double start = now();
    long rounds = 0;
    while (now() - start < budget) fn(), ++rounds;
    const double each = (now() - start) / static_cast<double>(rounds);
    fmt::print("{:<34} {:>8.2f} us {:>10.0f} a second\n", name, each * 1e6, 1 / each);
  };
  time("Schedule(matmul)", [&] { Schedule sch(func, 1); });
  time(fmt::format("tile a matmul, {} steps", trace.steps().size()), [&] {
    Schedule sch(func, 1);
    tile(sch);
  });
  time("replay it", [&] {
    Schedule sch(func, 1);
    trace.apply_to(sch);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) budget = std::atof(argv[1]) * 1e-3;
  if (argc > 2) only = argv[2];
  steps(5, 4);
  steps(10, 4);
  steps(1000, 4);
  steps(5, 15);
  steps(5, 30);
  whole_traces();
}
