// SPDX-License-Identifier: Apache-2.0
// Random steps of schedules, lowered: what a program computes stays the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string_view>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/schedule_error.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/support/testing/fuzz_cases.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/testing/scheduled_programs.h"

namespace loopsmith {
namespace {

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
    using Side = BufferSelector::Side;
    const LoopRV loop = any(loops_);
    const BlockRV block = any(blocks_);
    // Mostly one around the block.
    const Handles<LoopRV> nest = loops_around(sch_, sch_.node(block));
    const LoopRV around = nest.empty() || below(4) == 0 ? loop : any(nest);
    const char* memory = below(2) ? "shared" : "local";
    const int number = below(2);
    switch (below(41)) {
      case 0:
      case 1: split(sch_, loop, {infer, 1 + below(5)}); return;
      case 2: cache_read(sch_, block, number, memory); return;
      case 3: cache_write(sch_, block, 0, memory); return;
      case 4:
      case 5: compute_at(sch_, block, loop); return;
      case 6:
      case 7: reverse_compute_at(sch_, block, loop); return;
      case 8: read_at(sch_, around, block, number, memory); return;
      case 9: write_at(sch_, around, block, 0, memory); return;
      case 10: loop_partition(sch_, loop, {1 + below(4), infer}); return;
      case 11: cache_index(sch_, block, memory, below(3)); return;
      case 12:
      case 13: rfactor(sch_, around, number); return;
      case 14: decompose_reduction(sch_, block, around); return;
      case 15: compute_inline(sch_, block); return;
      case 16: bind(sch_, loop, "vthread.x"); return;
      case 17: reorder_some(loop); return;
      case 18: unroll(sch_, loop); return;
      case 19: parallel(sch_, loop); return;
      case 20: vectorize(sch_, loop); return;
      case 21: bind(sch_, loop, below(2) ? "threadIdx.x" : "blockIdx.x"); return;
      case 22: annotate(sch_, loop, "pragma_auto_unroll_max_step", below(32)); return;
      case 23: fuse_some(around); return;
      case 24: merge_some(); return;
      case 25:
      case 26: reverse_compute_inline(sch_, block); return;
      case 27:
      case 28: fuse_epilogue_some(); return;
      case 29: store_at(sch_, block, around); return;
      case 30: rolling_buffer(sch_, block, 0); return;
      case 31:
      case 32: decompose_padding(sch_, block, around); return;
      case 33: pad_einsum(sch_, block, axes_of(block, 1 + below(5))); return;
      case 34: cache_inplace_some(memory); return;
      case 35: reindex(sch_, block, BufferSelector(0, below(2) ? Side::read : Side::write)); return;
      case 36: set_scope(sch_, block, 0, memory); return;
      case 37: storage_align(sch_, block, 0, number, 8, 1 + below(3)); return;
      case 38: transform_inner(block); return;
      case 39: blockize(sch_, around); return;
      default: transform_block_layout(sch_, block, one_axis(axes_of(block, 1).size())); return;
    }
  }

  std::vector<std::int64_t> axes_of(BlockRV block, std::int64_t each) {
    return std::vector<std::int64_t>(sch_.get(block).iter_vars.size(), each);
  }

  /// i, j, ... -> the number of the iteration of loops of 8.
  static Ptr<IndexMap> one_axis(std::size_t axes) {
    IndexMap map;
    Expr number = 0;
    for (std::size_t i = 0; i < axes; ++i) {
      map.initial_indices.push_back(var(fmt::format("i{}", i)));
      number = number * 8 + map.initial_indices.back();
    }
    map.final_indices = {number};
    return make(std::move(map));
  }

  /// Turns over a buffer that callers do not see, or cuts its last dimension.
  void transform_inner(BlockRV block) {
    const auto& writes = sch_.get(block).writes;
    if (writes.empty() || writes[0]->buffer->shape.size() != 2) return;
    const auto& given = sch_.func()->buffer_map;
    const auto is_same = [&](const Ptr<Buffer>& other) { return other.same_as(writes[0]->buffer); };
    if (std::ranges::any_of(given, is_same)) return;
    const auto i = var("i"), j = var("j");
    const std::vector<Expr> turned{j, i}, cut{i, floordiv(j, 4), floormod(j, 4)};
    transform_layout(
        sch_, block, 0,
        make(IndexMap{.initial_indices = {i, j}, .final_indices = below(2) ? turned : cut}),
        Annotation(0.0));
  }

  /// What a block updates, if there is one that does.
  void cache_inplace_some(const char* memory) {
    for (const BlockRV block : blocks_) {
      const Block& node = sch_.get(block);
      for (const auto& read : node.reads) {
        const bool is_updated = std::ranges::any_of(node.writes, [&](const auto& written) {
          return !node.init && written->buffer.same_as(read->buffer);
        });
        if (is_updated) return (void)cache_inplace(sch_, block, read->buffer, memory);
      }
    }
  }

  /// A reduction and the block behind it.
  void fuse_epilogue_some() {
    for (std::size_t i = 0; i + 1 < blocks_.size(); ++i) {
      const bool is_last = i + 2 == blocks_.size();
      if (sch_.get(blocks_[i]).init && (is_last || below(2))) {
        return (void)fuse_reduction_epilogue(sch_, blocks_[i], blocks_[i + 1]);
      }
    }
  }

  /// The nests of two blocks that follow each other.
  void merge_some() {
    const auto first = static_cast<std::size_t>(below(static_cast<int>(blocks_.size())));
    std::vector<LoopRV> outermost;
    for (std::size_t i = first; i < std::min(first + 2, blocks_.size()); ++i) {
      const Handles<LoopRV> nest = loops_around(sch_, sch_.node(blocks_[i]));
      if (!nest.empty()) outermost.push_back(nest[0]);
    }
    merge(sch_, outermost);
  }

  void fuse_some(LoopRV inner) {
    const Handles<LoopRV> nest = loops_around(sch_, sch_.node(inner));
    if (!nest.empty()) fuse(sch_, {nest.back(), inner});
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
  std::set<std::string_view> taken;
  const int first = testing::first_fuzz_seed(), cases = testing::fuzz_cases(280);
  for (int seed = first; seed < first + cases && !::testing::Test::HasFailure(); ++seed) {
    const Ptr<PrimFunc> func =
        parse_function(testing::scheduled_programs[static_cast<unsigned>(seed) %
                                                   std::size(testing::scheduled_programs)]);
    RandomScheduler random(static_cast<std::uint32_t>(seed), func);
    random.run(10);
    const Ptr<PrimFunc> scheduled = random.schedule().func();
    for (const Step& step : random.schedule().steps()) taken.insert(step.primitive->name);
    const auto verdict = interp::compare(func, scheduled);
    EXPECT_EQ(verdict.answer, interp::Answer::same)
        << "seed " << seed << ": " << verdict.reason << "\n"
        << random.schedule().trace().text() << script(scheduled);
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
  // Each of them is taken now and then.
  const std::set<std::string_view> drawn{"annotate",
                                         "bind",
                                         "blockize",
                                         "cache_index",
                                         "cache_inplace",
                                         "cache_read",
                                         "cache_write",
                                         "compute_at",
                                         "compute_inline",
                                         "decompose_padding",
                                         "decompose_reduction",
                                         "fuse",
                                         "fuse_reduction_epilogue",
                                         "loop_partition",
                                         "merge",
                                         "pad_einsum",
                                         "parallel",
                                         "read_at",
                                         "reindex",
                                         "reorder",
                                         "reverse_compute_at",
                                         "reverse_compute_inline",
                                         "rfactor",
                                         "rolling_buffer",
                                         "set_scope",
                                         "split",
                                         "storage_align",
                                         "store_at",
                                         "transform_block_layout",
                                         "transform_layout",
                                         "unroll",
                                         "vectorize",
                                         "write_at"};
  EXPECT_EQ(taken, drawn);
}

}  // namespace
}  // namespace loopsmith
