// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/memory_reads.h"

#include "loopsmith/ir/buffer.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

bool reads_memory(const Ref& node) {
  bool found = false;
  pre_order_visit(node, [&](const Ref& ref) {
    const auto* call = ref.as<Call>();
    found = found || ref.is<BufferLoad>() || (call && !call->op.is_pure());
    return !found;
  });
  return found;
}

bool loads_from(const Expr& expr, const Ptr<Buffer>& buffer) {
  bool found = false;
  pre_order_visit(expr, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    found = found || (load && load->buffer->data.same_as(buffer->data));
    return !found;
  });
  return found;
}

}  // namespace loopsmith
