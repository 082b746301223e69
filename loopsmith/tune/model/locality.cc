// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/model/locality.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace loopsmith::tune {
namespace {

/// Of what a cache holds, the share that a statement has for itself.
constexpr double usable_share = 0.75;

/// A cache has so many places for lines whose addresses differ by a multiple of a page.
constexpr double ways = 8;
constexpr std::int64_t page_bytes = 4096;

/// How much more room lines take that compete for the same places.
double conflicts(const Statement& statement, const Access& access, std::size_t depth) {
  double factor = 1;
  for (std::size_t i = depth; i < statement.loops.size(); ++i) {
    const Motion& motion = access.motions[i];
    const std::int64_t step = motion.stride * access.bytes;
    if (step != 0 && step % page_bytes == 0) factor *= std::max(motion.distinct / ways, 1.0);
  }
  return std::min(factor, ways);
}

/// Whether another access of the statement before this one accesses the same elements, but for a
/// shift: the taps of a stencil, a load and a store.
bool is_repeated(const Statement& statement, std::size_t which) {
  const Access& access = statement.accesses[which];
  return std::any_of(statement.accesses.begin(),
                     statement.accesses.begin() + static_cast<std::ptrdiff_t>(which),
                     [&](const Access& other) {
                       return other.buffer == access.buffer &&
                              std::ranges::equal(other.motions, access.motions, {}, &Motion::stride,
                                                 &Motion::stride);
                     });
}

double whole_footprint(const Statement& statement, std::size_t depth) {
  double bytes = 0;
  for (std::size_t i = 0; i < statement.accesses.size(); ++i) {
    const Access& access = statement.accesses[i];
    if (is_repeated(statement, i)) continue;
    bytes += footprint(statement, access, depth) * conflicts(statement, access, depth);
  }
  return bytes;
}

double iterations_outside(const Statement& statement, std::size_t depth) {
  double count = 1;
  for (std::size_t i = 0; i < depth; ++i) count *= statement.loops[i].extent;
  return count;
}

}  // namespace

double footprint(const Statement& statement, const Access& access, std::size_t depth) {
  // Loops by their strides: runs of neighbours first.
  std::vector<Motion> moving;
  for (std::size_t i = depth; i < statement.loops.size(); ++i) {
    if (access.motions[i].distinct > 1) moving.push_back(access.motions[i]);
  }
  std::ranges::sort(moving, {}, [](const Motion& motion) {
    return motion.is_known ? std::llabs(motion.stride) : INT64_MAX;
  });
  double run = access.bytes;  // Bytes from the first element to the end of the last, no gaps.
  double runs = 1;
  for (const Motion& motion : moving) {
    const double step = static_cast<double>(std::llabs(motion.stride)) * access.bytes;
    const bool continues = motion.is_known && step <= std::max(run, line_bytes / 2);
    if (continues && runs == 1) {
      run = std::max(run, step * motion.distinct);
    } else {
      runs *= motion.distinct;
    }
  }
  const double lines = std::ceil(run / line_bytes) * runs;
  return std::min(lines * line_bytes, std::max(access.buffer_bytes, line_bytes));
}

double traffic(const Statement& statement, double cache_bytes, double program_bytes) {
  const double usable = cache_bytes * usable_share;
  std::size_t depth = statement.loops.size();
  while (depth > 0 && whole_footprint(statement, depth - 1) <= usable) --depth;
  if (depth == 0 && program_bytes <= usable) return 0;
  double bytes = 0;
  for (std::size_t i = 0; i < statement.accesses.size(); ++i) {
    if (is_repeated(statement, i)) continue;
    const Access& access = statement.accesses[i];
    const bool stays = depth == 0 && !access.is_parameter && access.buffer_bytes <= usable;
    if (stays) continue;
    const std::size_t outer = depth == 0 ? 0 : depth - 1;
    const double writes_back = access.is_store ? 2 : 1;
    bytes +=
        writes_back * footprint(statement, access, outer) * iterations_outside(statement, outer);
  }
  return bytes;
}

}  // namespace loopsmith::tune
