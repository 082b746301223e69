// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/reduction_op.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith {
namespace {

bool loads_what_is_stored(const Expr& e, const BufferStore& store) {
  const auto* load = e.as<BufferLoad>();
  if (!load || !load->buffer.same_as(store.buffer)) return false;
  for (std::size_t d = 0; d < load->indices.size(); ++d) {
    if (!structural_equal(load->indices[d], store.indices[d])) return false;
  }
  return true;
}

}  // namespace

std::optional<Accumulation> accumulation_of(const BufferStore& store) {
  std::optional<Accumulation> result;
  const auto take = [&](const auto* node, Op reduction) {
    if (!node) return;
    if (loads_what_is_stored(node->a, store)) {
      result = {reduction, node->b};
    } else if (loads_what_is_stored(node->b, store)) {
      result = {reduction, node->a};
    }
  };
  take(store.value.as<Add>(), op("vector_reduce_add"));
  take(store.value.as<Mul>(), op("vector_reduce_mul"));
  take(store.value.as<Min>(), op("vector_reduce_min"));
  take(store.value.as<Max>(), op("vector_reduce_max"));
  return result;
}

Expr combined(Op reduction, const Expr& a, const Expr& b) {
  if (reduction == op("vector_reduce_add")) return a + b;
  if (reduction == op("vector_reduce_mul")) return a * b;
  return reduction == op("vector_reduce_min") ? min(a, b) : max(a, b);
}

Expr neutral_element(Op reduction, DataType type) {
  // x + (-0.0) is x, for x = -0.0 too.
  if (reduction == op("vector_reduce_add")) return const_of(type, -0.0);
  if (reduction == op("vector_reduce_mul")) return const_of(type, 1);
  const bool is_min = reduction == op("vector_reduce_min");
  if (!type.is_float()) return is_min ? max_value(type) : min_value(type);
  return is_min ? infinity(type) : -infinity(type);
}

Expr all_lanes_combined(Op reduction, const Expr& vector) {
  return call(vector.dtype().element(), reduction, {vector});
}

}  // namespace loopsmith
