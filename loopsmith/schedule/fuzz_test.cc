// SPDX-License-Identifier: Apache-2.0
// Random steps on several programs: what is accepted computes the same, what is refused leaves no
// trace, and each schedule replays.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string_view>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/schedule_error.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/support/testing/fuzz_cases.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

/// Programs of the kinds that are scheduled: with blocks and without, in place, scans, conditions,
/// loops that start elsewhere or have a step.
constexpr const char* programs[] = {
    R"(@T.prim_func
def main(A: T.Buffer((12, 8), "float32"), B: T.Buffer((8, 10), "float32"), C: T.Buffer((12, 10), "float32")):
    for i, j, k in T.grid(12, 10, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj])",
    R"(@T.prim_func
def main(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i in range(1, 100):
        with T.block("block"):
            vi = T.axis.remap("S", [i])
            B[vi] = A[vi] + T.float32(1))",
    R"(@T.prim_func
def main(A: T.Buffer((100,), "float32"), B: T.Buffer((101,), "float32")):
    B[0] = T.float32(0)
    for i in range(99):
        with T.block("block"):
            vi = T.axis.remap("R", [i])
            B[vi + 1] = B[vi] + A[vi + 1])",
    R"(@T.prim_func
def main(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i in range(100):
        with T.block("block"):
            vi = T.axis.remap("S", [i])
            B[vi] = B[vi] + A[vi])",
    R"(@T.prim_func
def main(A: T.Buffer((20, 20), "float32")):
    for i in range(20):
        if i % 2 == 0:
            for j in range(20):
                with T.block("block1"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    A[vi, vj] = T.float32(1)
        else:
            for j in range(20):
                with T.block("block2"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    A[vi, vj] = T.float32(2))",
    R"(@T.prim_func
def main(A: T.Buffer((30, 20), "float32"), C: T.Buffer((30,), "float32")):
    for i in range(2, 30, 3):
        C[i] = T.float32(0)
        for j in range(20):
            C[i] = C[i] + A[i, j] * A[i - 2, j])",
    R"(@T.prim_func
def main(A: T.Buffer((12, 14), "float32")):
    for i in range(1, 11):
        for j in range(1, 13):
            A[i, j] = A[i - 1, j] + A[i, j - 1] + A[i + 1, j + 1])",
    R"(@T.prim_func
def main(A: T.Buffer((16, 18), "float32"), D: T.Buffer((16, 18), "float32")):
    B = T.alloc_buffer((16, 18))
    for i, j in T.grid(16, 18):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(16, 18):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, 17 - vj] = B[vi, vj] + B[15 - vi, vj])",
};

class Fuzzer {
 public:
  Fuzzer(std::uint32_t seed, const Ptr<PrimFunc>& func) : random_(seed), sch_(func, 1) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
  }
  const Schedule& schedule() const { return sch_; }
  int accepted() const { return accepted_; }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  Handles<LoopRV> loops() {
    Handles<LoopRV> found;
    collect(sch_.root(0), found);
    return found;
  }
  void collect(NodeId node, Handles<LoopRV>& found) {
    if (sch_.as<For>(node)) found.push_back(sch_.loop_at(node));
    for (NodeId child = sch_.at(node).first_child; child != no_node; child = sch_.at(child).next) {
      collect(child, found);
    }
  }

  void step() {
    const auto all = loops();
    if (all.empty()) return;
    const LoopRV loop = all[static_cast<std::size_t>(below(static_cast<int>(all.size())))];
    const auto before = structural_hash(sch_.func());
    const std::size_t steps = sch_.steps().size();
    try {
      apply(loop);
      ++accepted_;
    } catch (const ScheduleError& error) {
      EXPECT_EQ(structural_hash(sch_.func()), before) << error.what();
      EXPECT_EQ(sch_.steps().size(), steps);
    }
    sch_.check_tree();
  }

  void apply(LoopRV loop) {
    Handles<LoopRV> nest = loops_around(sch_, sch_.node(loop));
    nest.push_back(loop);
    switch (below(8)) {
      case 0: split(sch_, loop, {infer, 1 + below(6)}); return;
      case 1: split(sch_, loop, {1 + below(4), infer, 1 + below(3)}, {}, below(2) == 0); return;
      case 2:
      case 3: {
        if (nest.size() < 2) return;
        fuse(sch_, {nest[nest.size() - 2], nest.back()});
        return;
      }
      case 4:
      case 5: {
        std::ranges::shuffle(nest, random_);
        nest.resize(std::min<std::size_t>(nest.size(), 3));
        reorder(sch_, nest);
        return;
      }
      case 6:
        switch (below(4)) {
          case 0: parallel(sch_, loop); return;
          case 1: vectorize(sch_, loop); return;
          case 2: bind(sch_, loop, "threadIdx.x"); return;
          default: bind(sch_, loop, "blockIdx.x"); return;
        }
      default:
        below(2) ? unroll(sch_, loop)
                 : static_cast<Nothing>((add_unit_loop(sch_, loop), Nothing{}));
        return;
    }
  }

  std::mt19937 random_;
  Schedule sch_;
  int accepted_ = 0;
};

TEST(schedule_fuzz, accepted_steps_keep_what_a_program_computes) {
  int accepted = 0;
  std::set<std::string_view> taken;
  const auto first = static_cast<std::uint32_t>(testing::first_fuzz_seed());
  const auto cases = static_cast<std::uint32_t>(testing::fuzz_cases(180));
  for (std::uint32_t seed = first; seed < first + cases; ++seed) {
    const Ptr<PrimFunc> func = parse_function(programs[seed % std::size(programs)]);
    Fuzzer fuzzer(seed, func);
    fuzzer.run(8);
    accepted += fuzzer.accepted();
    for (const Step& step : fuzzer.schedule().steps()) taken.insert(step.primitive->name);
    const auto verdict = interp::compare(func, fuzzer.schedule().func());
    ASSERT_TRUE(verdict.answer == interp::Answer::same)
        << "seed " << seed << ": " << verdict.reason << "\n"
        << script(fuzzer.schedule().func());
  }
  EXPECT_GT(accepted, 400);
  EXPECT_EQ(taken, (std::set<std::string_view>{"add_unit_loop", "bind", "fuse", "parallel",
                                               "reorder", "split", "unroll", "vectorize"}));
}

}  // namespace
}  // namespace loopsmith
