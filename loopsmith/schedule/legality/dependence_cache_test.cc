// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/dependence_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/schedule/legality/legality.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/schedule_error.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/support/testing/fuzz_cases.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

/// Rows are independent, columns are not, and intervals alone do not see it.
Ptr<PrimFunc> rows() {
  return program(R"(A: T.Buffer((12, 300), "float32"), B: T.Buffer((12, 300), "float32"))", R"(
for i in range(12):
    for j in range(1, 150):
        A[i, 2 * j] = A[i, 2 * j - 2] + T.float32(1)
        B[i, j] = A[i, 2 * j] + A[11 - (11 - i), 2 * j + 1]
)");
}

TEST(axes_are_injective, is_asked_again_when_a_loop_inside_changed) {
  const auto func = program(R"(A: T.Buffer((7, 6), "float32"), B: T.Buffer((7, 6), "float32"))", R"(
for i in range(7):
    with T.block("B"):
        v = T.axis.spatial(7, i)
        for x, y in T.grid(1, 6):
            B[v + x, y] = A[v + x, y]
)");
  Schedule sch(func);
  const BlockRV block = get_block(sch, "B");
  EXPECT_TRUE(axes_are_injective(sch, block));
  split(sch, get_loop(sch, "x"), {3, infer});
  Schedule other(func);
  sch.trace().apply_to(other);
  // What a schedule can do is not up to what it was asked before.
  EXPECT_EQ(axes_are_injective(sch, block), axes_are_injective(other, get_block(other, "B")));
}

/// Whether the loop may be parallel, and whether that is known of the nest of `outermost` without
/// another analysis, which would leave other facts.
struct CachedVerdict {
  bool is_parallel, is_cached;
  bool operator==(const CachedVerdict&) const = default;
};
CachedVerdict ask_parallel(const Schedule& sch, LoopRV outermost, LoopRV loop) {
  const auto facts = [&] { return sch.known_facts().dependences(sch, sch.node(outermost)); };
  const auto before = facts();
  const bool is_parallel = parallel.can_apply(sch, {.loop = loop});
  return {is_parallel, before && facts() == before};
}

TEST(dependence_cache, answer_the_same_question_once) {
  Schedule sch(rows());
  const LoopRV i = get_loop(sch, "i"), j = get_loop(sch, "j");
  EXPECT_EQ(ask_parallel(sch, i, j), (CachedVerdict{false, false}));
  EXPECT_EQ(ask_parallel(sch, i, j), (CachedVerdict{false, true}));
  // What was found out is true of a copy, and stays so through what changes no order.
  Schedule copy = sch.copy();
  annotate(copy, i, "note", Annotation(1));
  unroll(copy, i);
  EXPECT_EQ(ask_parallel(copy, i, j), (CachedVerdict{false, true}));
  EXPECT_EQ(ask_parallel(sch, i, j), (CachedVerdict{false, true}));
}

TEST(dependence_cache, prove_from_distances_after_steps) {
  const auto func = rows();
  Schedule sch(func);
  const LoopRV i = get_loop(sch, "i"), j = get_loop(sch, "j");
  EXPECT_FALSE(parallel.can_apply(sch, {.loop = j}));
  const auto [i_0, i_1] = split(sch, i, {infer, 4}).take<2>();
  const auto [j_0, j_1] = split(sch, j, {infer, 16}).take<2>();
  reorder(sch, {j_0, i_1});
  const LoopRV both = fuse(sch, {j_0, i_1});
  EXPECT_EQ(ask_parallel(sch, i_0, i_0), (CachedVerdict{true, true}));
  parallel(sch, i_0);
  // They only prove: a closer look finds what stands against it.
  EXPECT_EQ(ask_parallel(sch, i_0, both), (CachedVerdict{false, false}));
  EXPECT_EQ(error_of([&] { parallel(sch, both); }).substr(0, 18), "step_keeps_results");
  expect_result(sch, func);
}

TEST(dependence_cache, say_anew_what_conflicts_when_another_loop_is_split) {
  Schedule sch(rows());
  const LoopRV i = get_loop(sch, "i"), j = get_loop(sch, "j");
  const std::string before = error_of([&] { parallel(sch, j); });
  EXPECT_EQ(before.substr(before.rfind(": iteration")),
            ": iteration i=0, j=1 writes A[0, 2], iteration i=0, j=2 reads it");
  split(sch, i, {infer, 4}, std::vector<std::string>{"io", "ii"});
  EXPECT_EQ(ask_parallel(sch, get_loop(sch, "io"), j), (CachedVerdict{false, true}));
  const std::string after = error_of([&] { parallel(sch, j); });
  EXPECT_EQ(after.substr(after.rfind(": iteration")),
            ": iteration io=0, ii=0, j=1 writes A[0, 2], iteration io=0, ii=0, j=2 reads it");
}

TEST(dependence_cache, are_forgotten_where_accesses_change) {
  Schedule sch(program(R"(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"))", R"(
for i in range(1, 64):
    with T.block("A"):
        vi = T.axis.opaque(63, i - 1)
        A[vi + 1] = A[vi] + T.float32(1)
for k in range(1, 64):
    with T.block("B"):
        vk = T.axis.opaque(63, k - 1)
        B[vk + 1] = B[vk] + T.float32(1)
)"));
  const LoopRV i = get_loop(sch, "i"), k = get_loop(sch, "k");
  EXPECT_EQ(ask_parallel(sch, i, i), (CachedVerdict{false, false}));
  EXPECT_EQ(ask_parallel(sch, k, k), (CachedVerdict{false, false}));
  // One nest changes, the other is still known.
  const LoopRV part = loop_partition(sch, i, {7, infer})[0];
  EXPECT_EQ(ask_parallel(sch, k, k), (CachedVerdict{false, true}));
  EXPECT_EQ(ask_parallel(sch, part, part), (CachedVerdict{false, false}));
}

TEST(dependence_cache, see_that_updates_may_come_in_another_order) {
  Schedule sch(program(R"(A: T.Buffer((8, 8), "float32"), S: T.Buffer((16,), "float32"))", R"(
for i, k in T.grid(8, 8):
    S[i + k] = S[i + k] + A[i, k]
)"));
  const LoopRV i = get_loop(sch, "i"), k = get_loop(sch, "k");
  reorder(sch, {k, i});
  EXPECT_TRUE(carried_by(sch, k).is_reduction);
  EXPECT_TRUE(carried_by(sch, i).verdict.is_proved());
}

constexpr const char* nests[] = {
    R"(@T.prim_func
def main(A: T.Buffer((12, 14), "float32")):
    for i in range(1, 11):
        for j in range(1, 13):
            A[i, j] = A[i - 1, j] + A[i, j - 1] + A[i + 1, j + 1])",
    R"(@T.prim_func
def main(A: T.Buffer((6, 40), "float32"), B: T.Buffer((6, 40), "float32"), S: T.Buffer((6,), "float32")):
    for i in range(6):
        S[i] = T.float32(0)
        for j in range(1, 20):
            A[i, 2 * j] = A[i, 2 * j - 1] + T.float32(1)
            for k in range(3):
                S[i] = S[i] + A[i, j + k]
        for j2 in range(20):
            B[i, j2] = S[i] * A[5 - i, j2 + 20])",
    R"(@T.prim_func
def main(A: T.Buffer((9, 8, 10), "float32"), S: T.Buffer((20,), "float32")):
    for i, j, k in T.grid(9, 8, 10):
        S[i + k] = S[i + k] + A[i, j, k]
        A[i, j, k] = A[8 - i, j, k] * T.float32(2))",
    R"(@T.prim_func
def main(A: T.Buffer((4, 12), "float32"), B: T.Buffer((4, 12), "float32")):
    for i in range(4):
        for j in range(12):
            if A[i, j] > T.float32(3):
                break
            for k in range(3):
                B[i, (j + k) % 12] = B[i, (j + 2 * k) % 12] + A[3 - i, j])",
};

class KnowingScheduler {
 public:
  KnowingScheduler(std::uint32_t seed, const Ptr<PrimFunc>& func) : random_(seed), sch_(func, 1) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      compare();
      try {
        step();
      } catch (const ScheduleError&) {
        // Refused, as it should be.
      }
    }
    compare();
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  void step() {
    const auto all = all_loops(sch_);
    const LoopRV loop = all[static_cast<std::size_t>(below(static_cast<int>(all.size())))];
    Handles<LoopRV> nest = loops_around(sch_, sch_.node(loop));
    nest.push_back(loop);
    switch (below(7)) {
      case 0:
      case 1: split(sch_, loop, {infer, 1 + below(5)}); return;
      case 2: split(sch_, loop, {1 + below(3), infer, 1 + below(3)}); return;
      case 3:
        if (nest.size() > 1) fuse(sch_, {nest[nest.size() - 2], nest.back()});
        return;
      case 4:
      case 5:
        std::ranges::shuffle(nest, random_);
        reorder(sch_, nest);
        return;
      default: unroll(sch_, loop); return;
    }
  }

  /// Compares what the schedule knows with what one that knows nothing finds out.
  void compare() {
    Schedule fresh(sch_.func(), 1);
    const auto known = all_loops(sch_), found = all_loops(fresh);
    ASSERT_EQ(known.size(), found.size());
    for (std::size_t i = 0; i < known.size(); ++i) {
      for (const Concurrency how : {Concurrency::in_threads, Concurrency::in_lanes}) {
        expect_agreement(carried_by(sch_, known[i], how), carried_by(fresh, found[i], how));
      }
    }
  }

  void expect_agreement(const CarriedDependences& known, const CarriedDependences& found) const {
    // Distances may prove what is too much for a closer look, and so may a witness stay known.
    if (known.verdict.is_proved() && !found.verdict.witness && !found.is_reduction) return;
    const bool is_unknown = found.verdict.kind == OrderAnswer::Kind::unknown;
    if (known.verdict.witness && is_unknown && !found.is_reduction) return;
    EXPECT_EQ(known.verdict.kind, found.verdict.kind) << script(sch_.func());
    EXPECT_EQ(known.is_reduction, found.is_reduction) << script(sch_.func());
  }

  std::mt19937 random_;
  Schedule sch_;
};

TEST(dependence_cache_fuzz, agree_with_a_fresh_look) {
  // Each case takes as long as eight of other fuzzers.
  const auto cases = static_cast<std::uint32_t>(testing::fuzz_cases(192)) / 8;
  for (std::uint32_t seed = 0; seed < cases && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    KnowingScheduler(seed, parse_function(nests[seed % std::size(nests)])).run(6);
  }
}

}  // namespace
}  // namespace loopsmith
