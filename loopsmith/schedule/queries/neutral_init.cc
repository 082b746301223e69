// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/neutral_init.h"

#include <algorithm>

#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/block_axes.h"

namespace loopsmith {

Stmt neutral_init_of(const Schedule& schedule, BlockRV handle) {
  const Block& block = schedule.get(handle);
  const auto* update = block.body.as<BufferStore>();
  if (block.init || !update || update->predicate.defined()) return {};
  const auto accumulation = accumulation_of(*update);
  const DataType dtype = update->buffer->dtype;
  if (!accumulation || dtype.is_float8()) return {};
  const bool is_reduction = std::ranges::all_of(block.iter_vars, [&](const auto& axis) {
    if (axis->iter_type != IterType::comm_reduce) return axis->iter_type == IterType::data_par;
    return std::ranges::none_of(update->indices,
                                [&](const Expr& index) { return uses_variable(index, axis->var); });
  });
  if (!is_reduction || !writes_are_injective(schedule, handle)) return {};
  return store(update->buffer, neutral_element(accumulation->combiner, dtype), update->indices);
}

}  // namespace loopsmith
