// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/schedule_few_rows.h"

#include <fmt/format.h>
#include <algorithm>
#include <functional>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/loop_steps.h"
#include "loopsmith/rules/task_sizes.h"
#include "loopsmith/schedule/primitives/cache_read.h"
#include "loopsmith/schedule/primitives/cache_write.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/prefetch.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/primitives/transform_layout.h"

namespace loopsmith {
namespace {

/// Rows of the matrix that are read side by side, and how many vectors ahead they are asked for.
constexpr std::int64_t rows_side_by_side = 16, vectors_ahead = 4;
/// Registers that sums leave for what is loaded.
constexpr std::int64_t other_registers = 8;
/// Smaller matrices pass from the second cache to the first as fast in tiles.
constexpr std::int64_t caches_of_matrix = 8;

/// C[i, j] = sum of A[i, k] * B[k, j], by its loops.
struct FewRows {
  LoopRV row, column, step;
  std::int64_t rows = 0, columns = 0, steps = 0;
  Ptr<Buffer> few, matrix;
  bool has_steps_last = true;  ///< Whether A is stored by its rows, not by its columns.
};

std::optional<FewRows> few_rows_in(Schedule& schedule, const Nest& nest) {
  const std::vector<Axis> axes = nest.spatial(), sums = nest.reduction();
  if (axes.size() != 2 || sums.size() != 1 || !nest.streamed.empty()) return {};
  const Axis &row = axes[0], &column = axes[1], &step = sums[0];
  const auto moves = [&](const NestAccess& access, const Axis& axis) {
    return stride_along(access, axis.var);
  };
  FewRows found;
  for (const NestAccess& access : accesses_in(nest)) {
    const bool is_of_row = moves(access, row) != Stride::none;
    const bool is_of_step = moves(access, step) != Stride::none;
    const Stride along = moves(access, column);
    if (is_of_row && !is_of_step && along == Stride::one) continue;  // A result.
    Ptr<Buffer>& operand = is_of_row ? found.few : found.matrix;
    const bool is_operand = is_of_step && along == (is_of_row ? Stride::none : Stride::one);
    if (!is_operand || access.is_store || operand || access.buffer->shape.size() != 2) return {};
    operand = access.buffer;
    if (is_of_row) found.has_steps_last = moves(access, step) == Stride::one;
  }
  const auto rows = constant_extent(row), columns = constant_extent(column),
             steps = constant_extent(step);
  const auto results = written_buffers(nest);
  if (!found.few || !found.matrix || !rows || !columns || !steps || results.size() != 1 ||
      results[0]->shape.size() != 2) {
    return {};
  }
  const DataType type = results[0]->dtype;
  if (!type.is_float() || type.bits < 32 || found.few->dtype != type ||
      found.matrix->dtype != type) {
    return {};
  }
  found.rows = *rows;
  found.columns = *columns;
  found.steps = *steps;
  const auto loops = look_up_loops(schedule, nest);
  if (!loops || loops->size() != 3) return {};
  for (const NestLoop& each : *loops) {
    if (each.axis.var.same_as(row.var)) found.row = each.loop;
    if (each.axis.var.same_as(column.var)) found.column = each.loop;
    if (each.axis.var.same_as(step.var)) found.step = each.loop;
  }
  return found;
}

/// Strips of columns, each a task; none where they would not be whole, or short.
std::optional<std::int64_t> strips_of(const FewRows& product, std::int64_t lanes,
                                      std::int64_t bytes, std::int64_t threads) {
  for (std::int64_t strips = threads; strips < 2 * threads; ++strips) {
    const bool is_whole = product.columns % (strips * lanes) == 0;
    if (is_whole && product.columns / strips * bytes >= min_strip_bytes) return strips;
  }
  return {};
}

Ptr<IndexMap> map_of(const std::function<std::vector<Expr>(const Expr&, const Expr&)>& indices,
                     const Buffer& buffer) {
  IndexMap map;
  for (std::size_t d = 0; d < 2; ++d) {
    map.initial_indices.push_back(var(fmt::format("i{}", d), buffer.shape[d].dtype()));
  }
  map.final_indices = indices(map.initial_indices[0], map.initial_indices[1]);
  return make(std::move(map));
}

}  // namespace

bool schedule_few_rows(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  if (subject.nests.size() != 1) return false;
  const Nest& nest = subject.nests[0];
  const CpuModel& machine = context.machine;
  const auto product = few_rows_in(schedule, nest);
  if (!product) return false;
  const std::int64_t bytes = product->matrix->dtype.bytes();
  const std::int64_t lanes = machine.vector_bytes / bytes;
  const bool is_few =
      product->rows >= 2 && product->rows <= machine.vector_registers - other_registers;
  const bool is_beyond_caches =
      product->steps * product->columns > caches_of_matrix * machine.core_cache_bytes / bytes;
  const bool has_threads = context.has_threads();
  const auto strips = strips_of(*product, lanes, bytes, has_threads ? machine.cores : 1);
  if (!is_few || !is_beyond_caches || !strips || lanes < 2) return false;
  const BlockRV block = nest.block;
  if (product->has_steps_last) {
    const BlockRV copy = cache_read(schedule, block, BufferSelector(product->few->name), "global");
    transform_layout(schedule, copy, BufferSelector(0),
                     map_of([](const Expr& i, const Expr& k) { return std::vector<Expr>{k, i}; },
                            *product->few));
  }
  const BlockRV write = cache_write(schedule, block, BufferSelector(0), "global");
  const int width = static_cast<int>(lanes);
  const Ptr<Buffer> sums = schedule.get(block).writes[0]->buffer;
  transform_layout(schedule, block, BufferSelector(0),
                   map_of(
                       [&](const Expr& i, const Expr& j) {
                         return std::vector<Expr>{floordiv(j, width), i, floormod(j, width)};
                       },
                       *sums));
  const auto [step, row] = split(schedule, product->step, {infer, rows_side_by_side}).take<2>();
  const auto [strip, column, lane] =
      split(schedule, product->column, {*strips, infer, lanes}).take<3>();
  reorder(schedule, {strip, step, column, row, product->row, lane});
  prefetch(schedule, block, BufferSelector(product->matrix->name), column, vectors_ahead);
  const BlockRV start = decompose_reduction(schedule, block, step);
  if (has_threads) {
    const For& loop = schedule.get(strip);
    parallelize(schedule, {{strip, {loop.loop_var, loop.min, loop.extent}}}, context);
  }
  unroll(schedule, product->row);
  vectorize(schedule, lane);
  vectorize(schedule, get_loops(schedule, start).back());
  vectorize(schedule, split(schedule, get_loops(schedule, write).back(), {infer, lanes})[1]);
  return true;
}

}  // namespace loopsmith
