// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// True for what is made of integers alone, by arithmetic, as most indices are: it has no load, no
/// call and no pointer in it. Of deep expressions, false.
inline bool is_plain_index(const Ref& ref, int depth = 8) {
  if (ref.is<IntImm>()) return true;
  if (const auto* variable = ref.as<Var>()) return !variable->dtype.is_handle();
  if (depth == 0) return false;
  const auto both = [&](const auto& node) {
    return is_plain_index(node.a, depth - 1) && is_plain_index(node.b, depth - 1);
  };
  if (const auto* node = ref.as<Add>()) return both(*node);
  if (const auto* node = ref.as<Mul>()) return both(*node);
  if (const auto* node = ref.as<Sub>()) return both(*node);
  if (const auto* node = ref.as<FloorDiv>()) return both(*node);
  if (const auto* node = ref.as<FloorMod>()) return both(*node);
  if (const auto* node = ref.as<LT>()) return both(*node);
  return false;
}

}  // namespace loopsmith
