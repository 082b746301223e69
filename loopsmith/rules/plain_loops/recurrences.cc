// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/recurrences.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/plain_loops/statements.h"
#include "loopsmith/schedule/queries/recurrence.h"

namespace loopsmith::plain_loops {
namespace {

/// Of a tile of a sweep, which is to stay in the first cache, with the row above it and the texts
/// or weights that it reads; a row of a strip is a column behind the one above.
constexpr std::int64_t rows_of_tile = 32, columns_of_tile = 64, rows_of_strip = 8;
/// How many tiles a sweep has along each dimension at least.
constexpr std::int64_t least_tiles = 8;
/// How often threads could be woken in the time of a recurrence at least; of a sweep, as often as
/// they are.
constexpr double starts_of_recurrence = 4;

/// True of sums and extremes: totals of linear recurrences are as long to make as their values.
bool is_scan(const For& loop) {
  const auto body = stored_body_of(loop.body);
  const auto recurrence = body ? recurrence_of(loop, body->stores, body->reducer) : std::nullopt;
  return recurrence && recurrence->composition && recurrence->composition->commutes;
}

bool run_in_parts(Steps& steps, LoopRV loop) {
  const bool allowed = steps.schedule().allows_reassociation();
  steps.allow_reassociation(false);
  const bool is_done = steps.parallel_scan(loop);
  steps.allow_reassociation(allowed);
  return is_done;
}

/// True where an element needs no neighbours but those just before it, along rows, columns or both:
/// vectors of a strip then have computed what the next one needs, but for the row above.
bool needs_what_is_before(const For& inner) {
  const std::vector<Statement> statements = statements_in(inner.body);
  if (statements.size() != 1) return false;
  Analyzer analyzer;
  const Reference& stored = statements[0].references[0];
  const auto is_just_before = [&](const Expr& load, const Expr& store) {
    const Expr distance = analyzer.simplify(store - load);
    return is_const_int(distance, 0) || is_const_int(distance, 1);
  };
  return std::ranges::all_of(statements[0].references, [&](const Reference& each) {
    return !each.buffer.same_as(stored.buffer) ||
           std::ranges::equal(each.indices, stored.indices, is_just_before);
  });
}

bool run_along_diagonals(Steps& steps, LoopRV outer, LoopRV inner) {
  const bool is_table = needs_what_is_before(steps.get(inner));
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
         steps.peel(columns[1], rows_of_strip - 1, rows_of_strip - 1) &&
         (is_table ? steps.vectorize(strips[1]) : steps.unroll(strips[1])) &&
         steps.parallel(rows[0]);
}

}  // namespace

std::vector<std::int64_t> least_sizes_of_sweep() {
  return {least_tiles * rows_of_tile, least_tiles * columns_of_tile};
}

double least_cycles_of_recurrence(const Machine& machine) {
  return starts_of_recurrence * machine.least_cycles_for_threads();
}

void parallelize_recurrence(Steps& steps, LoopRV nest, double cycles, const Machine& machine) {
  if (machine.cores < 2 || cycles < least_cycles_of_recurrence(machine)) return;
  const std::vector<LoopRV> band = band_of(steps.schedule(), nest);
  if (!steps.inside(band.back()).empty()) return;
  Steps::Snapshot as_written = steps.snapshot();
  bool is_done = false;
  if (band.size() == 1 && is_scan(steps.get(nest))) {
    is_done = run_in_parts(steps, nest);
  } else if (band.size() == 2) {
    const For &outer = steps.get(band[0]), &inner = steps.get(band[1]);
    const double rows = trip_count(outer, {}, machine) / rows_of_tile;
    const double columns = trip_count(inner, {&outer}, machine) / columns_of_tile;
    const auto is_long = [](double tiles) { return tiles >= static_cast<double>(least_tiles); };
    // A guess is not enough: threads would wait for each other more often than a small sweep has
    // work for.
    const bool is_known = machine.asks_sizes || (as_int(outer.extent) && as_int(inner.extent));
    if (is_known && inner.kind == ForKind::serial && is_long(rows) && is_long(columns) &&
        cycles >= (rows + columns) * machine.thread_start_cycles) {
      is_done = run_along_diagonals(steps, band[0], band[1]);
    }
  }
  if (!is_done) steps.restore(std::move(as_written));
}

}  // namespace loopsmith::plain_loops
