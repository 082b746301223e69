// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/reverse_compute_inline.h"

namespace loopsmith {

Planned<ProducerConsumerPair> plan_reverse_compute_inline(
    const Schedule& schedule, const ReverseComputeInlineArguments& arguments) {
  return pair_with_producer(schedule, arguments.block, false);
}

Nothing commit_reverse_compute_inline(Schedule& schedule, ProducerConsumerPair&& plan) {
  const auto computed = std::get<ElementValue>(element_value_of(schedule, plan.producer));
  std::vector<Expr> indices;
  for (const Expr& index : plan.stored.indices) {
    indices.push_back(in_producer(plan, index, computed.value));
  }
  const Expr value = in_producer(plan, plan.stored.value, computed.value);
  merge_into_producer(schedule, plan, store(plan.stored.buffer, value, std::move(indices)), {});
  return {};
}

}  // namespace loopsmith
