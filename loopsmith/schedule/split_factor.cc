// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/split_factor.h"

namespace loopsmith {

Argument to_argument(const SplitFactor& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value.value)) return Argument(*number);
  if (const auto* hole = std::get_if<ExprRV>(&value.value)) return Argument(*hole);
  if (const auto* of_sizes = std::get_if<Expr>(&value.value)) return Argument(Ref(*of_sizes));
  return {};
}

}  // namespace loopsmith
