// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/strategy.h"

namespace loopsmith {
namespace {

int computed_bytes(DataType type) {
  // Types below float32 are computed in float32.
  return type.is_float() ? std::max(type.bits / 8, 4) : std::max(type.bits / 8, 1);
}

}  // namespace

std::int64_t lanes_of(const Nest& nest, const CpuModel& machine) {
  int widest = 1;
  const auto widen = [&](const Stmt& stmt) {
    pre_order_visit(stmt, [&](const Ref& ref) {
      if (const auto* store = ref.as<BufferStore>()) {
        widest = std::max(widest, computed_bytes(store->value.dtype()));
      } else if (const auto* load = ref.as<BufferLoad>()) {
        widest = std::max(widest, computed_bytes(load->dtype));
        return false;  // indices do not count
      } else if (const auto* conversion = ref.as<Cast>()) {
        widest = std::max(widest, computed_bytes(conversion->dtype));
      }
      return true;
    });
  };
  widen(nest.body);
  return std::max(1, machine.vector_bytes / widest);
}

std::optional<Axis> contiguous_axis(const Nest& nest) {
  for (const Axis& axis : nest.spatial()) {
    if (is_const_int(axis.extent, 1)) continue;
    bool contiguous = true;
    for (const NestAccess& access : accesses_in(nest)) {
      if (access.is_store) contiguous = contiguous && stride_along(access, axis.var) == Stride::one;
    }
    if (contiguous) return axis;
  }
  return std::nullopt;
}

}  // namespace loopsmith
