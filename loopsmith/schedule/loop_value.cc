// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/loop_value.h"

namespace loopsmith {

Argument to_argument(const LoopValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value.value)) return Argument(*number);
  if (const auto* loop = std::get_if<LoopRV>(&value.value)) return Argument(*loop);
  return Argument(Ref(std::get<Expr>(value.value)));
}

}  // namespace loopsmith
