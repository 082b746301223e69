// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/pad_dot_products.h"

#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/packing.h"
#include "loopsmith/schedule/primitives/pad_einsum.h"

namespace loopsmith {

bool pad_dot_products(Schedule& schedule, const std::vector<Subject>& subjects,
                      const CpuModel& machine) {
  const std::size_t before = schedule.steps().size();
  for (const Subject& subject : subjects) {
    if (subject.nests.size() != 1 || !subject.nests[0].streamed.empty()) continue;
    const Nest& nest = subject.nests[0];
    const auto found = dot_packing_of(nest, machine);
    if (!found || found->is_whole()) continue;
    std::vector<std::int64_t> padding;
    for (const Ptr<IterVar>& axis : schedule.get(nest.block).iter_vars) {
      const bool is_padded = axis->var.same_as(found->packing.form.steps_together->steps.var);
      padding.push_back(is_padded ? found->steps : 1);
    }
    if (!pad_einsum.can_apply(schedule, {.block = nest.block, .padding = padding})) continue;
    pad_einsum(schedule, look_up(schedule, nest.block), padding);
  }
  return schedule.steps().size() > before;
}

}  // namespace loopsmith
