// SPDX-License-Identifier: Apache-2.0
// Pairs of accesses that may conflict.
#pragma once
#include "loopsmith/schedule/queries/access_relations.h"

namespace loopsmith {

/// True when `visit` is true of each pair of accesses to one buffer of which one writes, and two
/// buffers never share memory: which of their elements are the same is not told here.
template <class Visit>
bool each_pair(const ElementAccesses& accesses, Visit&& visit) {
  if (accesses.by_pointer) return false;
  for (std::size_t i = 0; i < accesses.all.size(); ++i) {
    const ElementAccess& a = accesses.all[i];
    if (!a.is_write || accesses.owned.contains(a.buffer)) continue;
    for (std::size_t k = 0; k < accesses.all.size(); ++k) {
      const ElementAccess& b = accesses.all[k];
      if (a.buffer != b.buffer) {
        if (a.buffer->data.same_as(b.buffer->data)) return false;
        continue;
      }
      if (b.is_write && k < i) continue;
      if (!visit(a, b)) return false;
    }
  }
  return true;
}

/// True for two accesses of one reduction to its own result.
inline bool is_of_one_reduction(const ElementAccess& a, const ElementAccess& b) {
  return a.group && a.group == b.group;
}

/// By what a loop counts; 1 where that is not constant.
inline std::int64_t step_of(const For& loop) {
  const auto* step = loop.step.as<IntImm>();
  return step ? step->value : 1;
}

}  // namespace loopsmith
