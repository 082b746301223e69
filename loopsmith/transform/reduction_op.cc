// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/reduction_op.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith {

std::optional<Op> lane_reduction(Combiner combiner) {
  switch (combiner) {
    case Combiner::sum: return op("vector_reduce_add");
    case Combiner::product: return op("vector_reduce_mul");
    case Combiner::smaller:
    case Combiner::minimum: return op("vector_reduce_min");
    case Combiner::larger:
    case Combiner::maximum: return op("vector_reduce_max");
    default: return {};
  }
}

std::optional<Accumulation> accumulation_of_lanes(const BufferStore& store) {
  auto accumulation = accumulation_of(store);
  if (!accumulation || !lane_reduction(accumulation->combiner)) return {};
  return accumulation;
}

Expr without_nans(Combiner combiner, const Expr& operand) {
  const bool leaves_out = combiner == Combiner::smaller || combiner == Combiner::larger;
  if (!leaves_out) return operand;
  const DataType type = operand.dtype();
  const Expr neutral = neutral_element(combiner, type.element());
  return combined(combiner, type.is_scalar() ? neutral : broadcast(neutral, type.lanes), operand);
}

bool is_without_nans(Combiner combiner, const Expr& operand) {
  const auto* selected = operand.as<Select>();
  const Expr& all = selected ? selected->true_value : operand;
  return structural_equal(without_nans(combiner, all), operand);
}

Expr all_lanes_combined(Combiner combiner, const Expr& vector) {
  return call(vector.dtype().element(), *lane_reduction(combiner), {vector});
}

}  // namespace loopsmith
