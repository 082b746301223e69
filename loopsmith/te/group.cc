// SPDX-License-Identifier: Apache-2.0
// Stages that go to one place together.
#include <algorithm>
#include <unordered_set>

#include "loopsmith/support/error.h"
#include "loopsmith/te/dataflow.h"
#include "loopsmith/te/schedule.h"

namespace loopsmith::te {
namespace {

/// The stages from `inputs` (all, where there are none) to `outputs`.
std::vector<StageId> stages_between(const ScheduleData& schedule,
                                    const std::vector<StageId>& outputs,
                                    const std::vector<StageId>& inputs, bool include_inputs) {
  const auto is_in = [](const std::vector<StageId>& ids, StageId id) {
    return std::ranges::find(ids, id) != ids.end();
  };
  std::unordered_set<StageId> fed;  // By an input, or being one.
  for (const StageId id : schedule.order) {
    const auto reads = input_tensors(schedule.stages[id].op);
    const bool reads_fed = std::ranges::any_of(
        reads, [&](const Tensor& read) { return fed.contains(schedule.find(read->op)); });
    if (is_in(inputs, id) || reads_fed || inputs.empty()) fed.insert(id);
  }
  std::unordered_set<StageId> needed;
  for (auto id = schedule.order.rbegin(); id != schedule.order.rend(); ++id) {
    if (is_in(outputs, *id)) needed.insert(*id);
    if (!needed.contains(*id) || is_in(inputs, *id)) continue;
    for (const Tensor& read : input_tensors(schedule.stages[*id].op)) {
      needed.insert(schedule.find(read->op));
    }
  }
  std::vector<StageId> between;
  for (const StageId id : schedule.order) {
    const bool is_member = needed.contains(id) && fed.contains(id);
    if (is_member && (include_inputs || !is_in(inputs, id))) between.push_back(id);
  }
  return between;
}

}  // namespace

Stage Schedule::create_group(const std::vector<Ref>& outputs, const std::vector<Ref>& inputs,
                             bool include_inputs) {
  std::vector<StageId> last;
  std::vector<StageId> first;
  for (const Ref& op : outputs) last.push_back((*this)[op].id());
  for (const Ref& op : inputs) first.push_back((*this)[op].id());
  const auto members = stages_between(*data_, last, first, include_inputs);
  require(!members.empty(), ErrorKind::schedule, "group_has_members",
          hint("name outputs that need the inputs"), current_span,
          "create_group: no stage lies between the inputs and the outputs");
  const auto made = static_cast<StageId>(data_->stages.size());
  const auto is_member = [&](StageId id) {
    return std::ranges::find(members, id) != members.end();
  };
  // What goes into the new group: stages, or whole groups, that stand in one.
  std::vector<StageId> parts;
  StageId around = no_stage;
  for (const StageId id : members) {
    StageId part = id;
    const auto holds_others = [&](StageId group) {
      return std::ranges::any_of(data_->order, [&](StageId other) {
        for (StageId at = other; at != no_stage; at = data_->stages[at].group) {
          if (at == group) return !is_member(other);
        }
        return false;
      });
    };
    while (data_->stages[part].group != no_stage && !holds_others(data_->stages[part].group)) {
      part = data_->stages[part].group;
    }
    require(parts.empty() || data_->stages[part].group == around, ErrorKind::schedule,
            "groups_nest", hint("name all stages of the other group, or none"), current_span,
            "create_group: stage {} is in a group of which other stages would stay outside",
            te::name_of(data_->stages[id]));
    around = data_->stages[part].group;
    if (std::ranges::find(parts, part) == parts.end()) parts.push_back(part);
  }
  data_->stages.emplace_back().group = around;
  data_->groups.push_back(made);
  for (const StageId part : parts) data_->stages[part].group = made;
  return {data_, made};
}

void group_steps_of_scans(ScheduleData& schedule) {
  for (const StageId id : std::vector<StageId>(schedule.order)) {
    const auto* scan = schedule.stages[id].op.as<ScanOp>();
    if (!scan) continue;
    std::vector<StageId> last;
    std::vector<StageId> first;
    const auto add = [&](std::vector<StageId>& ids, const auto& tensors) {
      for (const auto& tensor : tensors) {
        if (const StageId found = schedule.find(tensor->op); found != no_stage) {
          ids.push_back(found);
        }
      }
    };
    add(last, scan->update);
    add(first, scan->state_placeholder);
    add(first, scan->inputs);
    if (first.empty()) continue;  // No step reads what was before.
    const auto steps = stages_between(schedule, last, first, false);
    const bool is_taken = std::ranges::any_of(
        steps, [&](StageId step) { return schedule.stages[step].group != no_stage; });
    if (steps.empty() || is_taken) continue;
    const auto made = static_cast<StageId>(schedule.stages.size());
    schedule.stages.emplace_back();
    schedule.groups.push_back(made);
    for (const StageId step : steps) schedule.stages[step].group = made;
  }
}

void Schedule::fuse_into(const Stage& parent, const IterVar& axis, const std::vector<Ref>& stages) {
  std::vector<Stage> moved;
  for (const Ref& op : stages) moved.push_back((*this)[op]);
  if (stages.empty()) {
    for (const StageId id : stages_between(*data_, {parent.id()}, {}, true)) {
      const StageData& stage = data_->stages[id];
      const bool stays = id == parent.id() || stage.op.is<PlaceholderOp>() || stage.is_output ||
                         stage.attach_type == AttachType::inlined;
      if (!stays) moved.emplace_back(data_, id);
    }
  }
  for (Stage& stage : moved) stage.compute_at(parent, axis);
}

}  // namespace loopsmith::te
