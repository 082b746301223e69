// SPDX-License-Identifier: Apache-2.0
// Random steps of schedules, lowered: what a program computes stays the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/schedule/analysis.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/support/fuzz_cases.h"
#include "loopsmith/transform/pipeline.h"

namespace loopsmith {
namespace {

constexpr const char* scheduled_programs[] = {
    R"(@T.prim_func
def main(A: T.Buffer((8, 12), "float32"), B: T.Buffer((12, 6), "float32"), C: T.Buffer((8, 6), "float32")):
    for i, j, k in T.grid(8, 6, 12):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj])",
    R"(@T.prim_func
def main(A: T.Buffer((14, 10), "float32"), D: T.Buffer((12, 10), "float32")):
    B = T.alloc_buffer((14, 10))
    for i, j in T.grid(14, 10):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(12, 10):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, 9 - vj] + B[vi + 2, vj] + A[vi // 2 + vj // 3, vj])",
    R"(@T.prim_func
def main(A: T.Buffer((9, 8), "float32"), C: T.Buffer((9, 8), "float32")):
    B = T.alloc_buffer((9, 8))
    S = T.alloc_buffer((9,))
    for i, j in T.grid(9, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, k in T.grid(9, 8):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + B[vi, vk]
    for i, j in T.grid(9, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * S[vi])",
};

/// Takes random steps, of which many are refused.
class RandomScheduler {
 public:
  RandomScheduler(std::uint32_t seed, const Ptr<PrimFunc>& func) : random_(seed), sch_(func, 1) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      collect();
      try {
        step();
      } catch (const ScheduleError&) {
        // Refused, as it should be.
      }
    }
    annotate_bodies();
  }
  const Schedule& schedule() const { return sch_; }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  template <class T>
  T any(const Handles<T>& handles) {
    return handles[static_cast<std::size_t>(below(static_cast<int>(handles.size())))];
  }

  void collect() {
    loops_.clear();
    blocks_.clear();
    visit(sch_.root(0));
    blocks_.erase(blocks_.begin());  // The root.
  }
  void visit(NodeId node) {
    if (sch_.as<For>(node)) loops_.push_back(sch_.loop_at(node));
    if (sch_.as<BlockRealize>(node)) blocks_.push_back(sch_.block_at(node));
    for (NodeId child = sch_.at(node).first_child; child != no_node; child = sch_.at(child).next) {
      visit(child);
    }
  }

  void step() {
    const LoopRV loop = any(loops_);
    const BlockRV block = any(blocks_);
    const char* memory = below(2) ? "shared" : "local";
    switch (below(21)) {
      case 0:
      case 1: split(sch_, loop, {infer, 1 + below(5)}); return;
      case 2: cache_read(sch_, block, below(2), memory); return;
      case 3: cache_write(sch_, block, 0, memory); return;
      case 4:
      case 5: compute_at(sch_, block, loop); return;
      case 6: reverse_compute_at(sch_, block, loop); return;
      case 7: read_at(sch_, loop, block, below(2), memory); return;
      case 8: write_at(sch_, loop, block, 0, memory); return;
      case 9: loop_partition(sch_, loop, {1 + below(4), infer}); return;
      case 10: cache_index(sch_, block, memory, below(3)); return;
      case 11: rfactor(sch_, loop, below(2)); return;
      case 12: decompose_reduction(sch_, block, loop); return;
      case 13: compute_inline(sch_, block); return;
      case 14: bind(sch_, loop, "vthread.x"); return;
      case 15: reorder_some(loop); return;
      case 16: unroll(sch_, loop); return;
      case 17: parallel(sch_, loop); return;
      case 18: vectorize(sch_, loop); return;
      case 19: bind(sch_, loop, below(2) ? "threadIdx.x" : "blockIdx.x"); return;
      default: annotate(sch_, loop, "pragma_auto_unroll_max_step", below(32)); return;
    }
  }

  void reorder_some(LoopRV loop) {
    Handles<LoopRV> nest = loops_around(sch_, sch_.node(loop));
    nest.push_back(loop);
    std::ranges::shuffle(nest, random_);
    nest.resize(std::min<std::size_t>(nest.size(), 3));
    reorder(sch_, nest);
  }

  /// Pipelines loops whose body is a sequence, and doubles what a block in it writes.
  void annotate_bodies() {
    collect();
    for (const LoopRV loop : loops_) {
      const For& node = sch_.get(loop);
      const auto* body = node.body.as<SeqStmt>();
      if (!body || node.kind != ForKind::serial || below(3) == 0) continue;
      List stages, order;
      std::int64_t stage = 0;
      for (std::size_t k = 0; k < body->seq.size(); ++k) {
        stage += below(2);
        stages.items.push_back(int_imm(i32, stage));
        order.items.push_back(int_imm(i32, static_cast<std::int64_t>(k)));
      }
      if (below(2)) std::ranges::reverse(order.items);
      annotate(sch_, loop, "software_pipeline_stage", Annotation(Ref(make(std::move(stages)))));
      annotate(sch_, loop, "software_pipeline_order", Annotation(Ref(make(std::move(order)))));
    }
    const BlockRV block = any(blocks_);
    if (!sch_.get(block).writes.empty()) annotate(sch_, block, "double_buffer_scope", 0);
  }

  std::mt19937 random_;
  Schedule sch_;
  Handles<LoopRV> loops_;
  Handles<BlockRV> blocks_;
};

TEST(random_schedules, compute_the_same_after_lowering) {
  int lowered = 0;
  const int cases = testing::fuzz_cases(120);
  for (int seed = 0; seed < cases && !::testing::Test::HasFailure(); ++seed) {
    const Ptr<PrimFunc> func = parse_function(
        scheduled_programs[static_cast<unsigned>(seed) % std::size(scheduled_programs)]);
    RandomScheduler random(static_cast<std::uint32_t>(seed), func);
    random.run(10);
    const Ptr<PrimFunc> scheduled = random.schedule().func();
    const auto verdict = interp::compare(func, scheduled);
    EXPECT_EQ(verdict.answer, interp::Answer::same)
        << "seed " << seed << ": " << verdict.reason << "\n"
        << script(scheduled);
    Ptr<PrimFunc> after;
    try {
      after = lower_function(scheduled, {.verify = true});
    } catch (const UserError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::lower) << error.what();
      continue;
    } catch (const InternalError& error) {
      FAIL() << "seed " << seed << ": " << error.what() << "\n" << script(scheduled);
    }
    ++lowered;
    const auto final = interp::compare(func, after);
    EXPECT_EQ(final.answer, interp::Answer::same) << "seed " << seed << ": " << final.reason << "\n"
                                                  << script(scheduled);
  }
  EXPECT_GT(lowered, 40);
}

}  // namespace
}  // namespace loopsmith
