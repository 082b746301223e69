// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/dataflow.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::te {
namespace {

Tensor changed(const Tensor& tensor, const TensorChange& change) {
  const Tensor other = change(tensor);
  return other.defined() ? other : tensor;
}

std::vector<Ptr<loopsmith::Tensor>> changed(const std::vector<Ptr<loopsmith::Tensor>>& tensors,
                                            const TensorChange& change) {
  std::vector<Ptr<loopsmith::Tensor>> all;
  for (const auto& tensor : tensors) all.emplace_back(changed(tensor, change));
  return all;
}

/// Calls for each stage in order what gives it another operation, or null; stages behind it read
/// the results of that.
void rewrite_stages(ScheduleData& schedule,
                    const std::function<Ref(StageId, const TensorChange&)>& renewed) {
  std::vector<std::pair<Ref, Ref>> replaced;
  const TensorChange change = [&](const Tensor& tensor) -> Tensor {
    for (const auto& [from, to] : replaced) {
      if (tensor->op.same_as(from)) {
        return output(to, static_cast<std::size_t>(tensor->value_index));
      }
    }
    return {};
  };
  for (const StageId id : schedule.order) {
    StageData& stage = schedule.stages[id];
    const Ref op = renewed(id, change);
    if (op.same_as(stage.op)) continue;
    replaced.emplace_back(stage.op, op);
    for (Ref& wanted : schedule.outputs) {
      if (wanted.same_as(stage.op)) wanted = op;
    }
    schedule.stage_of[op] = id;
    stage.op = op;
  }
}

}  // namespace

Ref with_inputs(const Ref& op, const TensorChange& change) {
  const std::vector<Tensor> inputs = input_tensors(op);
  if (std::ranges::none_of(inputs, [&](const Tensor& read) { return change(read).defined(); })) {
    return op;
  }
  if (const auto* scan = op.as<ScanOp>()) {
    ScanOp copy = *scan;
    copy.init = changed(scan->init, change);
    copy.update = changed(scan->update, change);
    copy.inputs = changed(scan->inputs, change);
    return make(std::move(copy));
  }
  if (const auto* external = op.as<ExternOp>()) {
    ExternOp copy = *external;
    copy.inputs = changed(external->inputs, change);
    return make(std::move(copy));
  }
  ComputeOp copy = *op.as<ComputeOp>();
  Rewriter rewrite;
  rewrite.on<ProducerLoad>([&](const ProducerLoad& load) -> Expr {
    ProducerLoad other = load;
    other.producer = changed(load.producer, change);
    for (Expr& index : other.indices) index = rewrite(index);
    return make(std::move(other));
  });
  for (Expr& body : copy.body) body = rewrite(body);
  return make(std::move(copy));
}

void replace_operation(ScheduleData& schedule, StageId stage, const Ref& op) {
  rewrite_stages(schedule, [&](StageId id, const TensorChange& change) {
    return id == stage ? op : with_inputs(schedule.stages[id].op, change);
  });
}

void redirect_readers(ScheduleData& schedule, const std::vector<StageId>& readers,
                      const Tensor& from, const Tensor& to) {
  rewrite_stages(schedule, [&](StageId id, const TensorChange& change) {
    const bool is_reader = std::ranges::find(readers, id) != readers.end();
    return with_inputs(schedule.stages[id].op, [&](const Tensor& tensor) {
      return is_reader && tensor == from ? to : change(tensor);
    });
  });
}

namespace {

/// The operation with values of `inlined` in place of its elements.
Ref with_values_of(const Ref& op, const Ref& inlined) {
  const auto* reader = op.as<ComputeOp>();
  const auto inputs = input_tensors(op);
  const auto is_it = [&](const Tensor& read) { return read->op.same_as(inlined); };
  if (!reader || std::ranges::none_of(inputs, is_it)) return op;
  const auto& compute = *inlined.as<ComputeOp>();
  ComputeOp copy = *reader;
  Rewriter rewrite;
  rewrite.on<ProducerLoad>([&](const ProducerLoad& load) -> Expr {
    if (!load.producer->op.same_as(inlined)) return rewrite.children(load);
    Substitution place;
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
      const Ptr<Var>& axis = compute.axis[i]->var;
      place[axis] = cast(axis->dtype, rewrite(load.indices[i]));
    }
    return clone_with(compute.body[static_cast<std::size_t>(load.producer->value_index)], place);
  });
  for (Expr& body : copy.body) body = rewrite(body);
  return make(std::move(copy));
}

}  // namespace

void inline_into_readers(ScheduleData& schedule, StageId stage) {
  const Ref inlined = schedule.stages[stage].op;
  rewrite_stages(schedule, [&](StageId id, const TensorChange& change) {
    return with_values_of(with_inputs(schedule.stages[id].op, change), inlined);
  });
}

StageId insert_stage(ScheduleData& schedule, const Ref& op, StageId beside, bool after) {
  const auto id = static_cast<StageId>(schedule.stages.size());
  StageData& stage = schedule.stages.emplace_back();
  stage.op = op;
  stage.origin_op = op;
  stage.group = schedule.stages[beside].group;
  reset_axes(stage);
  schedule.stage_of[op] = id;
  const auto place = std::ranges::find(schedule.order, beside);
  schedule.order.insert(after ? place + 1 : place, id);
  return id;
}

void reset_axes(StageData& stage) {
  stage.all_iter_vars = root_axes(stage.op);
  stage.leaf_iter_vars = stage.all_iter_vars;
  stage.steps.clear();
  stage.marks.clear();
  stage.alignments.clear();
}

bool has_stage_named(const ScheduleData& schedule, std::string_view name) {
  return std::ranges::any_of(schedule.order,
                             [&](StageId id) { return name_of(schedule.stages[id].op) == name; });
}

}  // namespace loopsmith::te
