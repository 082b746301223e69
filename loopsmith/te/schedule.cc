// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/schedule.h"

#include <algorithm>

#include "loopsmith/support/error.h"
#include "loopsmith/te/dataflow.h"

namespace loopsmith::te {

Tensor ScheduleData::current(const Tensor& tensor) const {
  const StageId id = find(tensor->op);
  if (id == no_stage || stages[id].op.same_as(tensor->op)) return tensor;
  return output(stages[id].op, static_cast<std::size_t>(tensor->value_index));
}

bool ScheduleData::is_state(const Ref& op) const {
  return std::ranges::any_of(order, [&](StageId id) {
    const auto* scan = stages[id].op.as<ScanOp>();
    return scan && std::ranges::any_of(scan->state_placeholder,
                                       [&](const auto& state) { return state->op.same_as(op); });
  });
}

std::string name_of(const StageData& stage) {
  return stage.is_group() ? "group" : std::string(name_of(stage.op));
}

std::vector<IterVar> root_axes(const Ref& op) {
  std::vector<IterVar> axes;
  if (const auto* compute = op.as<ComputeOp>()) {
    axes.assign(compute->axis.begin(), compute->axis.end());
    const auto reduced = compute->reduce_axis();
    axes.insert(axes.end(), reduced.begin(), reduced.end());
  } else if (const auto* scan = op.as<ScanOp>()) {
    axes.emplace_back(scan->scan_axis);
  } else if (const auto* external = op.as<ExternOp>()) {
    axes.assign(external->axis.begin(), external->axis.end());
  }
  return axes;
}

namespace {

bool is_operation(const Ref& ref) {
  return ref.is<PlaceholderOp>() || ref.is<ComputeOp>() || ref.is<ScanOp>() || ref.is<ExternOp>();
}

/// The operation that is meant; stops where it is none.
Ref operation_of(std::string_view step, const Ref& op_or_tensor) {
  if (const auto* tensor = op_or_tensor.as<loopsmith::Tensor>()) return tensor->op;
  require(is_operation(op_or_tensor), ErrorKind::type_mismatch, "stage_is_of_operation",
          hint("give a tensor, or its op"), current_span,
          "{}: neither a tensor nor an operation was given", step);
  return op_or_tensor;
}

}  // namespace

const StageData& Stage::data() const {
  return schedule_->stages[id_];
}

const Ref& Stage::op() const {
  return data().op;
}

StageData& Stage::edit() {
  return schedule_->stages[id_];
}

Schedule Schedule::copy() const {
  return Schedule(std::make_shared<ScheduleData>(*data_));
}

Stage Schedule::operator[](const Ref& op_or_tensor) const {
  const Ref op = operation_of("schedule", op_or_tensor);
  const StageId id = data_->find(op);
  if (id == no_stage) {
    std::string outputs;
    for (const Ref& output : data_->outputs) {
      outputs += (outputs.empty() ? "" : ", ") + std::string(name_of(output));
    }
    fail(ErrorKind::schedule, "tensor_is_in_schedule",
         hint("make the schedule of an operation that reads it"), current_span,
         "schedule of {}: it has no stage {}, which it does not need", outputs, name_of(op));
  }
  return {data_, id};
}

std::vector<Stage> Schedule::stages() const {
  std::vector<Stage> all;
  for (const StageId id : data_->order) all.emplace_back(data_, id);
  return all;
}

Schedule create_schedule(const std::vector<Ref>& outputs) {
  require(!outputs.empty(), ErrorKind::user, "schedule_has_output",
          hint("give the operations whose results are wanted"), current_span,
          "create_schedule: no operation is given");
  auto data = std::make_shared<ScheduleData>();
  std::vector<Tensor> wanted;
  for (const Ref& given : outputs) {
    const Ref op = operation_of("create_schedule", given);
    data->outputs.push_back(op);
    for (std::size_t i = 0; i < output_count(op); ++i) wanted.push_back(output(op, i));
  }
  for (const Ref& op : post_order(wanted)) {
    const auto id = static_cast<StageId>(data->stages.size());
    StageData& stage = data->stages.emplace_back();
    stage.op = op;
    stage.origin_op = op;
    stage.all_iter_vars = root_axes(op);
    stage.leaf_iter_vars = stage.all_iter_vars;
    stage.is_output = std::ranges::any_of(
        data->outputs, [&](const Ref& wanted_op) { return wanted_op.same_as(op); });
    data->order.push_back(id);
    data->stage_of.emplace(op, id);
  }
  group_steps_of_scans(*data);
  return Schedule(std::move(data));
}

}  // namespace loopsmith::te
