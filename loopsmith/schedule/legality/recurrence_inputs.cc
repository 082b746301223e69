// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/recurrence_inputs.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

std::optional<Ptr<Buffer>> changed_input(const Recurrence& recurrence,
                                         const std::vector<Stmt>& stores) {
  const auto holds_values = [&](const Ptr<Buffer>& buffer) {
    return std::ranges::any_of(recurrence.carried, [&](const CarriedValue& each) {
      return each.buffer->data.same_as(buffer->data);
    });
  };
  const auto is_written = [&](const Ptr<Buffer>& buffer) {
    return std::ranges::any_of(stores, [&](const Stmt& stmt) {
      return stmt.as<BufferStore>()->buffer->data.same_as(buffer->data);
    });
  };
  Analyzer analyzer;
  // What an iteration replaces in the end is read before.
  const auto is_own_element = [&](const BufferLoad& load) {
    const CarriedValue& own = recurrence.carried[0];
    return recurrence.carried.size() == 1 && !recurrence.is_in_place &&
           load.buffer.same_as(own.buffer) &&
           std::ranges::equal(load.indices, own.indices, [&](const Expr& a, const Expr& b) {
             return analyzer.can_prove_equal(a, b);
           });
  };
  std::optional<Ptr<Buffer>> found;
  for (const Expr& number : recurrence.composition->iteration) {
    pre_order_visit(number, [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      if (load && is_written(load->buffer) && !is_own_element(*load)) found = load->buffer;
      return !found;
    });
  }
  std::vector<Expr> states;
  for (const CarriedValue& each : recurrence.carried) states.emplace_back(each.state);
  for (std::size_t i = 0; i < stores.size(); ++i) {
    const auto& store = *stores[i].as<BufferStore>();
    const bool is_another = !recurrence.has(i);
    if (is_another && holds_values(store.buffer)) return store.buffer;
    if (!is_another || !recurrence.is_in_place) continue;
    // Another element of what holds the values is not kept with them.
    std::vector<Expr> parts = store.indices;
    parts.push_back(store.value);
    for (const Expr& part : parts) {
      pre_order_visit(with_states(part, recurrence, states), [&](const Ref& ref) {
        const auto* load = ref.as<BufferLoad>();
        if (load && holds_values(load->buffer)) found = load->buffer;
        return !found;
      });
    }
  }
  return found;
}

}  // namespace loopsmith
