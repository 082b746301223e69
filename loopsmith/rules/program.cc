// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/program.h"

#include <algorithm>

namespace loopsmith {

bool Program::is_local(const Ptr<Buffer>& buffer) const {
  return std::ranges::any_of(locals, [&](const auto& local) { return local.same_as(buffer); });
}

bool Program::used_by_opaque(const Ptr<Buffer>& buffer) const {
  return std::ranges::any_of(parts, [&](const Part& part) {
    if (part.nest) return false;
    bool used = false;
    pre_order_visit(part.opaque, [&](const Ref& ref) {
      const auto* other = ref.as<Buffer>();
      used = used || (other && other->data.same_as(buffer->data)) || ref.same_as(buffer->data);
      return !used;
    });
    return used;
  });
}

}  // namespace loopsmith
