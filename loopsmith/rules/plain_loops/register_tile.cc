// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/register_tile.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/plain_loops/iteration_cost.h"
#include "loopsmith/rules/plain_loops/products.h"

namespace loopsmith::plain_loops {
namespace {

/// Vectors of a row of the tile: enough columns to share a load of A, few enough for many rows.
constexpr std::int64_t vectors_of_row = 2;
constexpr std::int64_t max_tile_rows = 8;
/// Sums of fewer terms do not pay for loading and storing the tile.
constexpr double min_terms = 4;

/// Iterations whose number is known to be this, or about this.
struct Trips {
  double count = 0;
  bool is_exact = false;

  bool are_divided_by(std::int64_t factor) const {
    return is_exact && static_cast<std::int64_t>(count) % factor == 0;
  }
};

Trips trips_of(const Schedule& schedule, LoopRV loop, const Machine& machine) {
  const For& node = schedule.get(loop);
  return {trip_count(node, nest_around(schedule, loop), machine), as_int(node.extent) != nullptr};
}

/// The largest number up to `most` that divides the trips, where one does that is at least half of
/// it; `most` elsewhere, with a rest at the end.
std::int64_t tile_size(const Trips& trips, std::int64_t most) {
  for (std::int64_t size = most; 2 * size > most; --size) {
    if (trips.are_divided_by(size)) return size;
  }
  return most;
}

bool tile_product(Steps& steps, const std::vector<LoopRV>& band, const Machine& machine) {
  const Schedule& schedule = steps.schedule();
  if (band.size() < 3 || !steps.get(band.back()).body.is<BufferStore>()) return false;
  Statement statement = statements_in(steps.get(band.back()).body).at(0);
  statement.loops = nest_around(schedule, band.back());
  statement.loops.push_back(&steps.get(band.back()));
  const std::size_t first = statement.loops.size() - band.size();
  const auto product = product_of(statement, first, machine);
  if (!product || product->columns + 1 != statement.loops.size()) return false;
  const LoopRV rows = band[product->rows - first], sum = band[product->sum - first];
  const LoopRV columns = band.back();
  const Trips row_trips = trips_of(schedule, rows, machine),
              sum_trips = trips_of(schedule, sum, machine),
              column_trips = trips_of(schedule, columns, machine);
  const std::int64_t lanes = lanes_of(statement, machine);
  const std::int64_t bytes = statement.store->buffer->dtype.bytes();
  // Beside the sums: a row of B, and an element of A in all lanes.
  const std::int64_t max_height =
      std::min((machine.vector_registers - vectors_of_row - 2) / vectors_of_row, max_tile_rows);
  const std::int64_t width = vectors_of_row * lanes;
  const bool is_small = row_trips.count < 2 || sum_trips.count < min_terms ||
                        column_trips.count < static_cast<double>(width);
  if (is_small) return false;
  const std::int64_t height = tile_size(row_trips, max_height);
  const std::int64_t deepest = std::max<std::int64_t>(
      machine.first_cache_bytes / 2 / (width * bytes), static_cast<std::int64_t>(min_terms));
  const std::int64_t depth = tile_size(sum_trips, deepest);
  const std::int64_t block = machine.core_cache_bytes / 2 / (depth * bytes) / height * height;

  Steps::Snapshot before = steps.snapshot();
  std::vector<LoopRV> order;
  for (const LoopRV loop : band) {
    if (loop != rows && loop != sum && loop != columns) order.push_back(loop);
  }
  std::vector<LoopRV> row_parts, sum_parts;
  const bool blocks_rows = row_trips.count > 1.5 * static_cast<double>(block) && block > height;
  if (blocks_rows) {
    row_parts = steps.split(rows, {infer, block / height, height});
  } else {
    row_parts = steps.split(rows, {infer, height});
  }
  if (sum_trips.count > 1.5 * static_cast<double>(depth)) {
    sum_parts = steps.split(sum, {infer, depth});
  } else {
    sum_parts = {sum};
  }
  const std::vector<LoopRV> column_parts = steps.split(columns, {infer, width});
  bool is_done = !row_parts.empty() && !sum_parts.empty() && !column_parts.empty();
  if (is_done) {
    if (blocks_rows) order.push_back(row_parts.front());
    if (sum_parts.size() > 1) order.push_back(sum_parts.front());
    const LoopRV inner_rows = row_parts.back(), inner_columns = column_parts.back();
    order.insert(order.end(), {column_parts.front(), row_parts[row_parts.size() - 2],
                               sum_parts.back(), inner_rows, inner_columns});
    is_done = steps.reorder(order) && steps.vectorize(inner_columns) && steps.unroll(inner_rows);
  }
  if (!is_done) steps.restore(std::move(before));
  return is_done;
}

}  // namespace

bool tile_products(Steps& steps, LoopRV loop, const Machine& machine) {
  const std::vector<LoopRV> band = band_of(steps.schedule(), loop);
  if (tile_product(steps, band, machine)) return true;
  bool any = false;
  for (const LoopRV inner : steps.inside(band.back())) {
    any = tile_products(steps, inner, machine) || any;
  }
  return any;
}

}  // namespace loopsmith::plain_loops
