// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/substitute_scalar.h"

#include <algorithm>

#include "loopsmith/ir/live_values.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/allocated_buffer.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/jumps.h"
#include "loopsmith/schedule/rewrites/scalar_values.h"

namespace loopsmith {
namespace {

/// True when the memory is used in another way than by loads and stores of the buffer.
bool has_other_uses(const Stmt& body, const Ptr<Buffer>& buffer) {
  bool found = false;
  pre_order_visit(body, [&](const Ref& ref) {
    const auto* used = ref.as<Buffer>();
    const auto* call = ref.as<Call>();
    const auto* view = ref.as<MatchBufferRegion>();
    const bool is_another = used && used != buffer.get() && used->data.same_as(buffer->data);
    found = found || is_another || ref.same_as(buffer->data) ||
            (call && call->op == op("address_of") && call->args[0].is<BufferLoad>() &&
             call->args[0].as<BufferLoad>()->buffer.same_as(buffer)) ||
            (view && view->source->buffer.same_as(buffer));
    return !found;
  });
  return found;
}

}  // namespace

Planned<SubstituteScalarPlan> plan_substitute_scalar(const Schedule& schedule,
                                                     const SubstituteScalarArguments& arguments) {
  const auto found = allocated_at(schedule, arguments.loop, arguments.buffer);
  if (!found) {
    return Refusal{&buffer_is_allocated_around,
                   {to_argument(arguments.buffer), Argument(arguments.loop)}};
  }
  const Ptr<Buffer>& buffer = found->buffer;
  const Argument subject(buffer->name);
  const auto unknown = [&](const char* why) {
    return Refusal{&scalar_is_known, {subject, Argument(why)}};
  };
  const NodeId body = schedule.at(found->owner).first_child;
  if (body == no_node) return unknown("nothing reads it");
  const auto* realize = schedule.as<BlockRealize>(found->owner);
  if (realize && realize->block->init) return unknown("a block with an init allocates it");
  const Stmt& root = schedule.statement(body);
  if (has_other_uses(root, buffer)) return Refusal{&buffer_is_used_by_index, {subject}};
  const DataType type = buffer->dtype;
  if (!has_one_element(*buffer) || !type.is_index()) return unknown("it is not one integer");
  if (holds_jumps(root)) return unknown("a break, a continue or a return decides what runs");
  std::vector<Ptr<Var>> around;
  for (const LoopRV each : loops_around(schedule, body)) {
    around.push_back(schedule.get(each).loop_var);
  }
  KnownScalar known = with_known_values(root, buffer, around);
  if (known.is_in_block) return unknown("blocks use it");
  if (known.replaced == 0) {
    return unknown("it depends on values in memory or on a condition, or its terms may overflow");
  }
  return SubstituteScalarPlan{body, std::move(known.statement)};
}

Nothing commit_substitute_scalar(Schedule& schedule, SubstituteScalarPlan&& plan) {
  schedule.replace(plan.body, std::move(plan.statement));
  return {};
}

}  // namespace loopsmith
