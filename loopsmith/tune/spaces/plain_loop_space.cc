// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/spaces/plain_loop_space.h"

#include <algorithm>

#include "loopsmith/schedule/primitives/distribute.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/merge_siblings.h"
#include "loopsmith/schedule/primitives/normalize_nest.h"
#include "loopsmith/schedule/primitives/parallel_scan.h"
#include "loopsmith/schedule/primitives/peel.h"
#include "loopsmith/schedule/primitives/relatives.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/skew.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/tune/spaces/block_axes.h"
#include "loopsmith/tune/spaces/choices.h"

namespace loopsmith::tune {
namespace {

using Loops = std::vector<LoopRV>;

constexpr std::size_t max_parts = 8;

bool make_parallel(Schedule& schedule, LoopRV loop) {
  return parallel.attempt(schedule, loop).has_value();
}

/// Makes vectors of a loop, or not: what is left of it, and the vectors inside.
Loops make_vectors(Schedule& schedule, LoopRV loop) {
  if (schedule.get(loop).kind != ForKind::serial) return {loop};
  Candidates candidates{0};
  candidates.insert(candidates.end(), std::begin(lane_counts), std::end(lane_counts));
  const ExprRV lanes = sample(schedule, std::move(candidates));
  if (schedule.get(lanes) == 0) return {loop};
  const auto parts = split.attempt(schedule, loop, {infer, lanes});
  if (!parts) return {loop};
  vectorize.attempt(schedule, (*parts)[1]);
  return *parts;
}

/// Runs some iterations of a loop together, inside of all loops but vectors: what they have in
/// common is loaded once. `inner` is the loop inside of it, and vectors inside of that.
void jam(Schedule& schedule, LoopRV outer, const Loops& inner) {
  const std::int64_t factor = choose(schedule, {1, 1, 2, 4, 8});
  if (factor == 1) return;
  const auto parts = split.attempt(schedule, outer, {infer, factor});
  if (!parts) return;
  const LoopRV together = (*parts)[1];
  if (schedule.get(inner[0]).kind == ForKind::serial) {
    Loops order = inner;
    order.insert(order.begin() + 1, together);
    if (!reorder.attempt(schedule, order)) return;
  }
  unroll.attempt(schedule, together);
}

bool serial(Schedule&, LoopRV) {
  return false;
}

bool parallel_chunks(Schedule& schedule, LoopRV loop) {
  const ExprRV chunk = sample(schedule, {4, 16, 64, 256, 1024});
  const auto parts = split.attempt(schedule, loop, {infer, chunk});
  if (!parts) return false;
  const bool is_parallel = make_parallel(schedule, (*parts)[0]);
  if (get_child_loops(schedule, (*parts)[1]).empty()) make_vectors(schedule, (*parts)[1]);
  return is_parallel;
}

/// Lets a thread run several parts in turns: where one waits for its last sum, the others go on.
void run_in_turns(Schedule& schedule, LoopRV parts, std::int64_t streams) {
  const auto groups = split.attempt(schedule, parts, {infer, streams});
  if (!groups) return;
  LoopRV part = (*groups)[1];
  const auto apart = distribute.attempt(schedule, part);  // From what each part starts with.
  if (apart && !apart->empty()) part = apart->back();
  const Handles<LoopRV> inner = get_child_loops(schedule, part);
  if (inner.size() == 1) reorder.attempt(schedule, {inner[0], part});
  unroll.attempt(schedule, part);
  make_parallel(schedule, (*groups)[0]);
}

bool scan(Schedule& schedule, LoopRV loop) {
  if (!parallel_scan.can_apply(schedule, {.loop = loop})) return false;
  const std::int64_t length = choose(schedule, {512, 1024, 2048, 4096, 8192, 16384, 65536});
  // Iterations whose values stay in a cache until they are read again.
  const std::int64_t block = choose(schedule, {0, 1 << 16, 1 << 18});
  const std::int64_t streams = choose(schedule, {1, 2, 4, 8});
  const auto blocks = block == 0 ? std::nullopt : split.attempt(schedule, loop, {infer, block});
  const auto made = parallel_scan.attempt(schedule, blocks ? (*blocks)[1] : loop, length);
  if (!made) return false;
  if (streams > 1) {
    if (happens(schedule, 1, 2)) run_in_turns(schedule, made->front(), streams);
    run_in_turns(schedule, made->back(), streams);
  }
  return true;
}

/// A loop, and loops down to the innermost, each alone inside of the one before.
Loops chain_from(Schedule& schedule, LoopRV loop) {
  Loops chain{loop};
  for (;;) {
    const Handles<LoopRV> inner = get_child_loops(schedule, chain.back());
    if (inner.size() != 1) return chain;
    chain.push_back(inner[0]);
  }
}

/// Loops that follow each other as one.
std::optional<LoopRV> merged(Schedule& schedule, const Loops& loops) {
  if (loops.empty()) return {};
  return loops.size() > 1 ? merge_siblings.attempt(schedule, loops) : loops[0];
}

/// Moves blocks of the innermost loops, which are vectors, outside of the loop: columns that do not
/// need each other. Returns the loop over these.
std::optional<LoopRV> move_columns_outside(Schedule& schedule, LoopRV loop, std::int64_t lanes) {
  Loops columns;
  for (const LoopRV each : get_child_loops(schedule, loop)) {
    Loops chain = chain_from(schedule, each);
    const auto parts = split.attempt(schedule, chain.back(), {infer, lanes});
    if (!parts) return {};
    vectorize.attempt(schedule, (*parts)[1]);
    columns.push_back((*parts)[0]);
    if (chain.size() == 1) continue;
    chain.back() = columns.back();
    std::ranges::rotate(chain, chain.end() - 1);
    if (!reorder.attempt(schedule, chain)) return {};
  }
  const auto column = merged(schedule, columns);
  if (!column || !reorder.attempt(schedule, {*column, loop})) return {};
  return column;
}

bool columns_outside(Schedule& schedule, LoopRV loop) {
  const std::int64_t lanes = choose(schedule, {8, 16, 32, 64});
  const auto column = move_columns_outside(schedule, loop, lanes);
  return column && make_parallel(schedule, *column);
}

/// Lets a loop end at a multiple of a number: it, and a loop over what is left.
std::optional<Handles<LoopRV>> end_aligned(Schedule& schedule, LoopRV loop, std::int64_t multiple) {
  if (!peel.can_apply(schedule, {.loop = loop, .first = 0, .align_end = multiple})) return {};
  return peel(schedule, loop, 0, 0, 0, multiple);
}

/// Runs rows in blocks: what lies before a block updates all of its rows at once, then they need
/// each other. Columns go outside of that, or stay.
bool blocks_of_rows(Schedule& schedule, LoopRV loop) {
  const std::int64_t height = choose(schedule, {2, 4, 8});
  const std::int64_t lanes = choose(schedule, {0, 8, 16, 32});
  const auto peeled = end_aligned(schedule, loop, height);
  if (!peeled) return false;
  const auto blocks = split.attempt(schedule, peeled->front(), {infer, height});
  if (!blocks) return false;
  for (const LoopRV each : get_child_loops(schedule, (*blocks)[1])) {
    end_aligned(schedule, each, height);
  }
  const auto apart = distribute.attempt(schedule, (*blocks)[1]);
  if (!apart || apart->empty()) return false;
  Loops columns;
  for (const LoopRV rows : *apart) {
    if (lanes > 0) {
      const auto column = move_columns_outside(schedule, rows, lanes);
      if (!column) return false;
      columns.push_back(*column);
    }
    const Handles<LoopRV> inner = get_child_loops(schedule, rows);
    if (inner.size() != 1 || !reorder.attempt(schedule, {inner[0], rows})) continue;
    unroll.attempt(schedule, rows);
  }
  if (lanes == 0) return false;
  auto column = merged(schedule, columns);
  if (!column || !reorder.attempt(schedule, Loops{*column, (*blocks)[0]})) return false;
  if (peeled->size() > 1) {
    const auto rest = move_columns_outside(schedule, peeled->back(), lanes);
    if (rest) column = merged(schedule, {*column, *rest});
  }
  return column && make_parallel(schedule, *column);
}

/// Runs rows of a tile in strips: each row of a strip is a column behind the one above, and
/// elements of a column of the strip do not need each other. Borders where not all rows have a
/// column are apart.
void run_in_strips(Schedule& schedule, LoopRV row, LoopRV column) {
  const std::int64_t height = choose(schedule, {1, 4, 8, 16});
  if (height == 1) return;
  const auto strips = split.attempt(schedule, row, {infer, height});
  if (!strips || !skew.attempt(schedule, (*strips)[1], column)) return;
  if (!reorder.attempt(schedule, {column, (*strips)[1]})) return;
  peel.attempt(schedule, column, height - 1, height - 1);
  unroll.attempt(schedule, (*strips)[1]);
}

/// Lets diagonals follow each other, of elements or of tiles, and what is on one run concurrently.
bool wavefront(Schedule& schedule, LoopRV loop) {
  const Handles<LoopRV> inner = get_child_loops(schedule, loop);
  if (inner.size() != 1) return false;
  LoopRV row = loop, column = inner[0];
  const std::int64_t rows = choose(schedule, {1, 16, 32, 64, 128});
  if (rows > 1) {
    const ExprRV columns = sample(schedule, {32, 64, 128, 256});
    const auto row_parts = split.attempt(schedule, row, {infer, rows});
    const auto column_parts = split.attempt(schedule, column, {infer, columns});
    if (!row_parts || !column_parts) return false;
    const LoopRV row_inside = (*row_parts)[1], column_inside = (*column_parts)[1];
    row = (*row_parts)[0], column = (*column_parts)[0];
    if (!reorder.attempt(schedule, {row, column, row_inside, column_inside})) return false;
    run_in_strips(schedule, row_inside, column_inside);
  }
  skew.attempt(schedule, row, column);
  reorder.attempt(schedule, {column, row});
  return make_parallel(schedule, row);
}

bool interchanged(Schedule& schedule, LoopRV loop) {
  const Handles<LoopRV> inner = get_child_loops(schedule, loop);
  if (inner.size() != 1) return false;
  reorder.attempt(schedule, {inner[0], loop});
  return make_parallel(schedule, inner[0]);
}

using Strategy = bool (*)(Schedule&, LoopRV);
constexpr Strategy strategies[] = {serial,    make_parallel, parallel_chunks, scan,
                                   wavefront, interchanged,  columns_outside, blocks_of_rows};

/// The loop, or what it is made into first.
Loops parts_of_loop(Schedule& schedule, LoopRV loop) {
  Loops parts{loop};
  const std::int64_t way = choose(schedule, {0, 0, 1, 2});
  if (way == 1) {
    const auto apart = distribute.attempt(schedule, loop);
    if (apart && !apart->empty()) parts = *apart;
  } else if (way == 2) {
    normalize_nest.attempt(schedule, loop);
    if (schedule.refuse(loop)) parts = get_child_loops(schedule);
  }
  parts.resize(std::min(parts.size(), max_parts));
  return parts;
}

void vectorize_inside(Schedule& schedule, LoopRV loop) {
  const auto inner = get_child_loops.attempt(schedule, loop);
  if (!inner) return;
  for (const LoopRV each : *inner) {
    if (is_of_block(schedule, each)) continue;
    if (get_child_loops(schedule, each).empty()) {
      const Loops parts = make_vectors(schedule, each);
      if (inner->size() == 1) jam(schedule, loop, parts);
    } else {
      vectorize_inside(schedule, each);
    }
  }
}

}  // namespace

void plain_loop_space(Schedule& schedule, LoopRV loop) {
  for (const LoopRV part : parts_of_loop(schedule, loop)) {
    if (is_of_block(schedule, part)) continue;
    const auto number = static_cast<std::size_t>(choose_below(schedule, std::size(strategies)));
    if (!strategies[number](schedule, part)) {
      const auto inner = get_child_loops.attempt(schedule, part);
      for (const LoopRV each : inner.value_or(Handles<LoopRV>())) {
        if (!is_of_block(schedule, each)) plain_loop_space(schedule, each);
      }
    }
    vectorize_inside(schedule, part);
  }
}

}  // namespace loopsmith::tune
