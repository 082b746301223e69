// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/captures.h"

#include <unordered_set>

#include "loopsmith/ir/walk.h"

namespace loopsmith::detail {

std::vector<Ref> captured_by(std::initializer_list<Ref> parts,
                             const std::function<bool(const Object*)>& is_known) {
  std::vector<Ref> captured;
  std::unordered_set<const Object*> seen;
  const auto capture = [&](const Ref& var) {
    if (is_known(var.get()) && seen.insert(var.get()).second) captured.push_back(var);
  };
  const auto capture_place = [&](const Buffer& buffer) {
    capture(buffer.data);
    for (std::size_t i = 1; i < buffer.shape.size(); ++i) {
      for (const Ptr<Var>& variable : free_variables(buffer.shape[i])) capture(variable);
    }
  };
  for (const Ref& part : parts) {
    pre_order_visit(part, [&](const Ref& node) {
      if (node.is<Var>()) capture(node);
      if (const auto* load = node.as<BufferLoad>()) capture_place(*load->buffer);
      if (const auto* store = node.as<BufferStore>()) capture_place(*store->buffer);
      return true;
    });
  }
  return captured;
}

}  // namespace loopsmith::detail
