// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/pure_updates.h"

#include <algorithm>
#include <optional>

#include "loopsmith/ir/walk.h"

namespace loopsmith {

std::variant<Combiner, std::string> only_combiner(const Stmt& stmt, const Ptr<Buffer>& buffer) {
  std::optional<Combiner> found;
  std::string why;
  const auto reads_it = [&](const Ref& ref) {
    bool reads = false;
    pre_order_visit(ref, [&](const Ref& part) {
      const auto* load = part.as<BufferLoad>();
      reads = reads || (load && load->buffer->data.same_as(buffer->data));
      return !reads;
    });
    return reads;
  };
  pre_order_visit(stmt, [&](const Ref& ref) {
    if (!why.empty()) return false;
    const auto* load = ref.as<BufferLoad>();
    const auto* store = ref.as<BufferStore>();
    if (load && load->buffer->data.same_as(buffer->data)) why = "it reads an element";
    if (!store || !store->buffer->data.same_as(buffer->data)) return why.empty();
    const auto accumulation = accumulation_of(*store);
    if (!accumulation || store->predicate.defined()) {
      why = "it stores an element that is no sum, product or extreme of what was there";
    } else if (reads_it(accumulation->operand) || std::ranges::any_of(store->indices, reads_it)) {
      why = "an update reads an element";
    } else if (found && *found != accumulation->combiner) {
      why = "updates are of several kinds";
    } else {
      found = accumulation->combiner;
    }
    return false;
  });
  if (!why.empty()) return why;
  if (!found) return "it does not update it at all";
  return *found;
}

}  // namespace loopsmith
