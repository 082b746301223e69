// SPDX-License-Identifier: Apache-2.0
// Each question about random programs, against plain enumeration of their runs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "loopsmith/arith/dependence/oracle_test.h"
#include "loopsmith/ir/script_printer.h"

namespace loopsmith {
namespace {

using namespace testing;

bool are_under(const RecordedAccess& a, const RecordedAccess& b, const Ptr<Var>& loop) {
  return iteration_of(a, loop) >= 0 && iteration_of(b, loop) >= 0;
}

/// Iterations of the loops in front of `loop` are the same.
bool are_equal_outside(const RecordedAccess& a, const RecordedAccess& b, const Ptr<Var>& loop) {
  for (std::size_t i = 0; i < std::min(a.steps.size(), b.steps.size()); ++i) {
    if (a.steps[i].loop == loop.get()) return true;
    if (a.steps[i].iteration != b.steps[i].iteration) return false;
  }
  return false;
}

Breaks run_concurrently(const Ptr<Var>& loop) {
  return [=](const RecordedAccess& a, const RecordedAccess& b) {
    return are_under(a, b, loop) && are_equal_outside(a, b, loop) &&
           iteration_of(a, loop) != iteration_of(b, loop);
  };
}

Breaks run_in_lanes(const Ptr<Var>& loop) {
  return [=](const RecordedAccess& a, const RecordedAccess& b) {
    if (!run_concurrently(loop)(a, b)) return false;
    const auto without = [&](const RecordedAccess& access) {
      Times result;
      for (const testing::Step& step : access.steps) {
        if (step.loop != loop.get()) result.push_back(step.iteration);
      }
      return result;
    };
    const Times before = without(a), after = without(b);
    // Within one step of a statement, reads come first, and an earlier lane writes first.
    if (before == after) return !(a.statement == b.statement && b.writes);
    return after < before;
  };
}

Breaks run_reordered(const Loops& order) {
  return [=](const RecordedAccess& a, const RecordedAccess& b) {
    for (const Ptr<Var>& loop : order) {
      if (!are_under(a, b, loop)) return false;
    }
    const auto times = [&](const RecordedAccess& access) {
      Times result = times_of(access);
      std::size_t next = 0;
      for (std::size_t i = 0; i < access.steps.size(); ++i) {
        const bool is_moved = std::any_of(order.begin(), order.end(), [&](const Ptr<Var>& loop) {
          return loop.get() == access.steps[i].loop;
        });
        if (is_moved) result[i] = iteration_of(access, order[next++]);
      }
      return result;
    };
    return times(b) < times(a);
  };
}

Breaks run_merged(const Loops& first, const Loops& second) {
  return [=](const RecordedAccess& a, const RecordedAccess& b) {
    Times before, after;
    for (std::size_t i = 0; i < first.size(); ++i) {
      before.push_back(iteration_of(a, first[i]));
      after.push_back(iteration_of(b, second[i]));
    }
    return before.front() >= 0 && after.front() >= 0 && after < before;
  };
}

/// The statements of a nest's innermost body are in its sequence's order; the cut is before `part`.
Breaks run_distributed(const Ptr<Var>& loop, const Loops& nest, std::int64_t part) {
  return [=](const RecordedAccess& a, const RecordedAccess& b) {
    if (!are_under(a, b, loop) || !are_equal_outside(a, b, loop)) return false;
    const auto position = [&](const RecordedAccess& access) {
      for (std::size_t i = 0; i + 1 < access.steps.size(); ++i) {
        if (access.steps[i].loop == nest.back().get()) return access.steps[i + 1].iteration;
      }
      return std::int64_t{-1};
    };
    return position(a) >= part && position(b) < part;
  };
}

TEST(dependence_fuzz, answers_agree_with_enumeration) {
  int proved = 0, violated = 0;
  for (unsigned seed = 0; seed < 100 && !::testing::Test::HasFailure(); ++seed) {
    RandomProgram program(seed);
    Checker checker(program);
    Dependences& dependences = checker.dependences();
    for (const auto* nest : {&program.first, &program.second}) {
      if (!nest->root.defined()) continue;
      for (const Ptr<Var>& loop : nest->loops) {
        checker.check("parallel " + loop->name, dependences.parallelizable(loop),
                      run_concurrently(loop));
        checker.check("vector " + loop->name, dependences.vectorizable(loop), run_in_lanes(loop));
      }
      Loops order = nest->loops;
      std::rotate(order.begin(), order.begin() + 1, order.end());
      checker.check("rotate", dependences.permutable(order), run_reordered(order));
      order = {nest->loops.back(), nest->loops.front()};
      checker.check("swap ends", dependences.permutable(order), run_reordered(order));
      for (std::size_t part = 1; part < nest->parts.size(); ++part) {
        const Ptr<Var>& loop = nest->loops[seed % 2];
        checker.check("cut", dependences.distributable(loop, nest->parts[part]),
                      run_distributed(loop, nest->loops, static_cast<std::int64_t>(part)));
      }
    }
    if (program.second.root.defined()) {
      for (const std::size_t depth : {1, 2}) {
        const Loops a(program.first.loops.begin(), program.first.loops.begin() + depth);
        const Loops b(program.second.loops.begin(), program.second.loops.begin() + depth);
        checker.check("merge", dependences.mergeable(a, b), run_merged(a, b));
      }
    }
    proved += checker.proved;
    violated += checker.violated;
  }
  EXPECT_GT(proved, 300);
  EXPECT_GT(violated, 300);
}

}  // namespace
}  // namespace loopsmith
