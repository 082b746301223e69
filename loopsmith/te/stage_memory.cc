// SPDX-License-Identifier: Apache-2.0
// What a user says of a stage's memory, and of when it is written.
#include <algorithm>

#include "loopsmith/support/error.h"
#include "loopsmith/te/decisions.h"
#include "loopsmith/te/schedule.h"

namespace loopsmith::te {

/// The stages that a call is about: those of a group, or the stage itself.
std::vector<StageId> Stage::members() const {
  if (!data().is_group()) return {id_};
  std::vector<StageId> all;
  for (const StageId id : schedule_->order) {
    for (StageId at = id; at != no_stage; at = schedule_->stages[at].group) {
      if (at != id_) continue;
      if (!schedule_->stages[id].op.is<PlaceholderOp>()) all.push_back(id);
      break;
    }
  }
  return all;
}

Stage& Stage::set_scope(const std::string& scope) {
  for (const StageId id : members()) {
    StageData& stage = schedule_->stages[id];
    require(!stage.op.is<PlaceholderOp>(), ErrorKind::schedule, "stage_is_computed",
            hint("cache_read makes a copy of it in other memory"), current_span,
            "set_scope: stage {} is a placeholder, whose memory is the caller's", name_of(stage));
    stage.scope = scope;
  }
  return *this;
}

Stage& Stage::storage_align(const IterVar& axis, std::int64_t factor, std::int64_t offset) {
  require_op("storage_align");
  const auto* compute = op().as<ComputeOp>();
  const bool is_own = compute && std::ranges::any_of(compute->axis, [&](const auto& own) {
                        return own.same_as(axis);
                      });
  if (!is_own) leaf("storage_align", axis);
  require(is_own, ErrorKind::schedule, "aligned_axis_is_of_output",
          hint("give one of op.axis: a dimension of the result"), current_span,
          "storage_align: axis {} of stage {} is no dimension of its result", axis->var->name,
          name_of(data()));
  require(factor > 0, ErrorKind::schedule, "factor_is_positive", hint("pass 1 or more"),
          current_span, "storage_align: the factor of axis {} is {}, not positive", axis->var->name,
          factor);
  edit().alignments.push_back({axis, factor, offset});
  return *this;
}

void Stage::require_inner(std::string_view call) const {
  for (const StageId id : members()) {
    const StageData& stage = schedule_->stages[id];
    require(!stage.is_output && !stage.op.is<PlaceholderOp>(), ErrorKind::schedule,
            "memory_is_of_schedule", hint("cache_read and cache_write make copies that may"),
            current_span, "{}: the memory of stage {}, an {} of the schedule, is the caller's",
            call, name_of(stage), stage.is_output ? "output" : "input");
  }
}

Stage& Stage::double_buffer() {
  require_inner("double_buffer");
  for (const StageId id : members()) schedule_->stages[id].double_buffer = true;
  return *this;
}

Stage& Stage::rolling_buffer() {
  require_inner("rolling_buffer");
  for (const StageId id : members()) schedule_->stages[id].rolling_buffer = true;
  return *this;
}

Stage& Stage::set_store_predicate(const Expr& predicate) {
  require_op("set_store_predicate");
  require(predicate.defined() && predicate.dtype().is_bool(), ErrorKind::type_mismatch,
          "predicate_is_condition", hint("compare: thread.var.equal(0), i < n"), current_span,
          "set_store_predicate: the predicate of stage {} is no condition", name_of(data()));
  edit().store_predicate = predicate;
  return *this;
}

Stage& Stage::env_threads(const std::vector<IterVar>& threads) {
  require_op("env_threads");
  StageData& stage = edit();
  require(stage.op.is<ScanOp>(), ErrorKind::schedule, "env_threads_of_scan",
          hint("bind axes of other stages"), current_span, "env_threads: stage {} is no scan",
          name_of(stage));
  require(stage.env_threads.empty(), ErrorKind::schedule, "env_threads_once",
          hint("give all of them in one call"), current_span,
          "env_threads: the threads of stage {} are given twice", name_of(stage));
  for (const IterVar& thread : threads) {
    require(thread->iter_type == IterType::thread_index && thread->dom, ErrorKind::schedule,
            "env_threads_have_extent", hint("make it by te.thread_axis((0, n), tag)"), current_span,
            "env_threads: {} of stage {} is no thread axis with an extent", thread->var->name,
            name_of(stage));
  }
  stage.env_threads = threads;
  stage.leaf_iter_vars.insert(stage.leaf_iter_vars.begin(), threads.begin(), threads.end());
  stage.all_iter_vars.insert(stage.all_iter_vars.end(), threads.begin(), threads.end());
  return *this;
}

void Stage::set_layout(const Ptr<IndexMap>& map, const std::vector<std::int64_t>& separators) {
  require_layout("set_layout", *map);
  edit().steps.emplace_back(LayoutStep{.map = map, .separators = separators});
}

void Stage::require_layout(std::string_view call, const IndexMap& map) const {
  require_op(call);
  const StageData& stage = data();
  const std::size_t dimensions = output(stage.op, 0).ndim();
  require(map.initial_indices.size() == dimensions, ErrorKind::schedule, "map_takes_each_dimension",
          hint("take one index for each dimension"), current_span,
          "{}: the map takes {} indices, stage {} has {} dimensions", call,
          map.initial_indices.size(), name_of(stage), dimensions);
}

std::vector<IterVar> Stage::transform_layout(const Ptr<IndexMap>& map,
                                             const std::vector<std::int64_t>& separators) {
  require_layout("transform_layout", *map);
  StageData& stage = edit();
  const auto* compute = stage.op.as<ComputeOp>();
  LayoutStep step{.map = map, .separators = separators};
  if (compute && !compute->axis.empty()) {
    step.before.assign(compute->axis.begin(), compute->axis.end());
    const auto is_axis = [&](const IterVar& leaf, const IterVar& axis) {
      return leaf.same_as(axis);
    };
    const auto first = std::ranges::search(stage.leaf_iter_vars, step.before, is_axis).begin();
    require(first != stage.leaf_iter_vars.end(), ErrorKind::schedule, "layout_comes_first",
            hint("transform the layout first, or call set_layout, which keeps the loops"),
            current_span,
            "transform_layout: the axes of stage {} have been split, fused or reordered",
            name_of(stage));
    const auto place = first - stage.leaf_iter_vars.begin();
    for (std::size_t i = 0; i < map->final_indices.size(); ++i) {
      const Expr& index = map->final_indices[i];
      const auto* plain = index.as<Var>();
      step.after.push_back(make(loopsmith::IterVar{
          .var = var(plain ? plain->name : fmt::format("axis{}", i), index.dtype())}));
    }
    auto& leaves = stage.leaf_iter_vars;
    leaves.erase(leaves.begin() + place,
                 leaves.begin() + place + static_cast<std::ptrdiff_t>(step.before.size()));
    leaves.insert(leaves.begin() + place, step.after.begin(), step.after.end());
    stage.all_iter_vars.insert(stage.all_iter_vars.end(), step.after.begin(), step.after.end());
  }
  std::vector<IterVar> made = step.after;
  stage.steps.emplace_back(std::move(step));
  return made;
}

}  // namespace loopsmith::te
