// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/recurrences.h"

#include "loopsmith/rules/plain_loops/statements.h"
#include "loopsmith/schedule/queries/recurrence.h"

namespace loopsmith::plain_loops {
namespace {

/// Of a tile of a sweep; a row of a strip is a column behind the one above.
constexpr std::int64_t rows_of_tile = 64, columns_of_tile = 256, rows_of_strip = 8;
/// How many tiles a sweep has along each dimension at least.
constexpr double least_tiles = 4;
/// How often threads have to be woken for a scan, and more than that for a sweep.
constexpr double starts_of_scan = 4;

/// True of sums and extremes: totals of linear recurrences are as long to make as their values.
bool is_scan(const For& loop) {
  const auto stores = stores_of(loop.body);
  const auto recurrence = stores ? recurrence_of(loop, *stores) : std::nullopt;
  return recurrence && recurrence->combiner;
}

bool run_in_parts(Steps& steps, LoopRV loop) {
  const bool allowed = steps.schedule().allows_reassociation();
  steps.allow_reassociation(false);
  const bool is_done = steps.parallel_scan(loop);
  steps.allow_reassociation(allowed);
  return is_done;
}

bool run_along_diagonals(Steps& steps, LoopRV outer, LoopRV inner) {
  const auto rows = steps.split(outer, {infer, rows_of_tile});
  if (rows.empty()) return false;
  const auto columns = steps.split(inner, {infer, columns_of_tile});
  if (columns.empty() || !steps.reorder({rows[0], columns[0], rows[1], columns[1]}) ||
      !steps.skew(rows[0], columns[0]) || !steps.reorder({columns[0], rows[0]})) {
    return false;
  }
  const auto strips = steps.split(rows[1], {infer, rows_of_strip});
  return !strips.empty() && steps.skew(strips[1], columns[1]) &&
         steps.reorder({columns[1], strips[1]}) &&
         steps.peel(columns[1], rows_of_strip - 1, rows_of_strip - 1) && steps.unroll(strips[1]) &&
         steps.parallel(rows[0]);
}

}  // namespace

void parallelize_recurrence(Steps& steps, LoopRV nest, double cycles, const Machine& machine) {
  const double starts = cycles / machine.thread_start_cycles;
  if (starts < starts_of_scan) return;
  const std::vector<LoopRV> band = band_of(steps.schedule(), nest);
  if (!steps.inside(band.back()).empty()) return;
  Steps::Snapshot as_written = steps.snapshot();
  bool is_done = false;
  if (band.size() == 1 && is_scan(steps.get(nest))) {
    is_done = run_in_parts(steps, nest);
  } else if (band.size() == 2) {
    const For &outer = steps.get(band[0]), &inner = steps.get(band[1]);
    const double rows = trip_count(outer, {}) / rows_of_tile;
    const double columns = trip_count(inner, {&outer}) / columns_of_tile;
    if (inner.kind == ForKind::serial && rows >= least_tiles && columns >= least_tiles &&
        starts >= rows + columns) {
      is_done = run_along_diagonals(steps, band[0], band[1]);
    }
  }
  if (!is_done) steps.restore(std::move(as_written));
}

}  // namespace loopsmith::plain_loops
