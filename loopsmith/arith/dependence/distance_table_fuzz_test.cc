// SPDX-License-Identifier: Apache-2.0
// Tables of distances while loops are transformed, against plain enumeration.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "loopsmith/arith/dependence/oracle_test.h"
#include "loopsmith/ir/script_printer.h"

namespace loopsmith {
namespace {

using namespace testing;

/// No loop of a random program has more iterations.
constexpr std::int64_t max_iterations = 8;

/// The loops of a perfect nest while they are transformed: what each iteration becomes.
class Coordinates {
 public:
  explicit Coordinates(const Loops& loops)
      : loops_(loops), nest_(loops), extents_(loops.size(), max_iterations) {}

  const Loops& loops() const { return loops_; }
  /// What the iterations of a loop are below.
  std::int64_t extent(std::size_t at) const { return extents_[at]; }

  void split(std::size_t at, const Ptr<Var>& outer, const Ptr<Var>& inner, std::int64_t factor) {
    steps_.push_back([=](Times& times) {
      const std::int64_t value = times[at];
      times[at] = value / factor;
      times.insert(times.begin() + static_cast<std::ptrdiff_t>(at) + 1, value % factor);
    });
    const auto next = static_cast<std::ptrdiff_t>(at) + 1;
    loops_[at] = outer;
    loops_.insert(loops_.begin() + next, inner);
    extents_[at] = (extents_[at] + factor - 1) / factor;
    extents_.insert(extents_.begin() + next, factor);
  }

  void fuse(std::size_t at, const Ptr<Var>& fused) {
    const std::int64_t inner_extent = extents_[at + 1];
    steps_.push_back([=](Times& times) {
      times[at] = times[at] * inner_extent + times[at + 1];
      times.erase(times.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    });
    const auto next = static_cast<std::ptrdiff_t>(at) + 1;
    loops_[at] = fused;
    loops_.erase(loops_.begin() + next);
    extents_[at] *= inner_extent;
    extents_.erase(extents_.begin() + next);
  }

  void swap(std::size_t a, std::size_t b) {
    steps_.push_back([=](Times& times) { std::swap(times[a], times[b]); });
    std::swap(loops_[a], loops_[b]);
    std::swap(extents_[a], extents_[b]);
  }

  Times operator()(const RecordedAccess& access) const {
    Times result;
    for (const Ptr<Var>& loop : nest_) result.push_back(iteration_of(access, loop));
    for (const auto& step : steps_) step(result);
    return result;
  }

  bool is_inside(const RecordedAccess& access) const {
    return iteration_of(access, nest_.front()) >= 0;
  }

 private:
  Loops loops_;
  Loops nest_;
  std::vector<std::int64_t> extents_;
  std::vector<std::function<void(Times&)>> steps_;
};

/// Iterations of the loop at `level` of the transformed nest run concurrently.
Breaks run_level_at_once(const Coordinates& coordinates, std::size_t level) {
  return [&coordinates, level](const RecordedAccess& a, const RecordedAccess& b) {
    if (!coordinates.is_inside(a) || !coordinates.is_inside(b)) return false;
    const Times before = coordinates(a), after = coordinates(b);
    const auto parted = std::mismatch(before.begin(), before.end(), after.begin()).first;
    return parted - before.begin() == static_cast<std::ptrdiff_t>(level);
  };
}

Breaks run_swapped(const Coordinates& coordinates, std::size_t x, std::size_t y) {
  return [&coordinates, x, y](const RecordedAccess& a, const RecordedAccess& b) {
    if (!coordinates.is_inside(a) || !coordinates.is_inside(b)) return false;
    Times before = coordinates(a), after = coordinates(b);
    std::swap(before[x], before[y]);
    std::swap(after[x], after[y]);
    return after < before;
  };
}

TEST(distance_table_fuzz, tables_stay_sound_through_split_fuse_and_reorder) {
  int proved = 0, legal = 0;
  for (unsigned seed = 0; seed < 20 && !::testing::Test::HasFailure(); ++seed) {
    RandomProgram program(seed);
    Checker checker(program);
    DistanceTable table = checker.dependences().distances();
    Coordinates coordinates(program.first.loops);
    std::mt19937 random(seed);
    const auto pick = [&](std::size_t count) { return random() % count; };
    // As if it were symbolic, half of the time.
    const auto known = [&](std::int64_t extent) { return pick(2) ? INT64_MAX : extent; };
    std::string done;
    for (int step = 0; step < 5; ++step) {
      const Loops loops = coordinates.loops();
      const std::size_t at = pick(loops.size());
      const auto fresh = [&](const char* name) { return var(name + std::to_string(step)); };
      const auto kind = pick(3);
      if (kind == 0) {
        const auto outer = fresh("o"), inner = fresh("s");
        const auto factor = static_cast<std::int64_t>(1 + pick(4));
        coordinates.split(at, outer, inner, factor);
        table.split(loops[at], outer, inner, factor, known(coordinates.extent(at)));
        done += fmt::format(" split {} by {};", at, factor);
      } else if (kind == 1 && at + 1 < loops.size()) {
        const auto fused = fresh("f");
        table.fuse(loops[at], loops[at + 1], fused, known(coordinates.extent(at + 1)));
        coordinates.fuse(at, fused);
        done += fmt::format(" fuse {};", at);
      } else if (kind == 2 && loops.size() > 1) {
        const std::size_t other = (at + 1 + pick(loops.size() - 1)) % loops.size();
        const std::size_t x = std::min(at, other), y = std::max(at, other);
        const Loops order{loops[y], loops[x]};
        const bool is_broken = checker.is_broken(run_swapped(coordinates, x, y));
        legal += is_broken ? 0 : 1;
        if (!table.can_reorder(order)) continue;
        done += fmt::format(" swap {} and {};", x, y);
        EXPECT_FALSE(is_broken) << done << "\n" << script(program.root);
        ++proved;
        table.reorder(order);
        coordinates.swap(x, y);
      }
      for (std::size_t level = 0; level < coordinates.loops().size(); ++level) {
        const bool is_broken = checker.is_broken(run_level_at_once(coordinates, level));
        legal += is_broken ? 0 : 1;
        if (!table.is_parallel(coordinates.loops()[level])) continue;
        EXPECT_FALSE(is_broken) << done << " parallel " << level << "\n" << script(program.root);
        ++proved;
      }
    }
  }
  // Of what enumeration finds legal at small sizes, they prove most.
  EXPECT_GT(proved, legal * 2 / 3) << proved << " of " << legal;
}

}  // namespace
}  // namespace loopsmith
