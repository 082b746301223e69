// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/op.h"

#include <algorithm>

namespace loopsmith {

const OpInfo* find_op(std::string_view name) {
  const auto* found = std::ranges::find(detail::op_table, name, &OpInfo::name);
  return found == std::end(detail::op_table) ? nullptr : found;
}

}  // namespace loopsmith
