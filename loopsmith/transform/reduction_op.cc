// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/reduction_op.h"

#include "loopsmith/ir/operators.h"

namespace loopsmith {

std::optional<Op> lane_reduction(Combiner combiner) {
  switch (combiner) {
    case Combiner::sum: return op("vector_reduce_add");
    case Combiner::product: return op("vector_reduce_mul");
    case Combiner::minimum: return op("vector_reduce_min");
    case Combiner::maximum: return op("vector_reduce_max");
    default: return {};
  }
}

std::optional<Accumulation> accumulation_of_lanes(const BufferStore& store) {
  auto accumulation = accumulation_of(store);
  if (!accumulation || !lane_reduction(accumulation->combiner)) return {};
  return accumulation;
}

Expr all_lanes_combined(Combiner combiner, const Expr& vector) {
  return call(vector.dtype().element(), *lane_reduction(combiner), {vector});
}

}  // namespace loopsmith
