// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/attachments.h"
#include "loopsmith/support/error.h"

#include <algorithm>
#include <cctype>

namespace loopsmith::te {

namespace {

/// The variable to which a line of Python assigns: `y` of `y = te.compute(...)`; empty: none.
std::string assigned_in(std::string_view line) {
  const auto is_letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
  std::size_t end = start;
  while (end < line.size() && is_letter(line[end])) ++end;
  std::size_t sign = end;
  while (sign < line.size() && line[sign] == ' ') ++sign;
  const bool assigns = end > start && sign < line.size() && line[sign] == '=' &&
                       (sign + 1 == line.size() || line[sign + 1] != '=');
  return assigns ? std::string(line.substr(start, end - start)) : std::string();
}

}  // namespace

std::string label_of(const ScheduleData& schedule, StageId id) {
  const StageData& stage = schedule.stages[id];
  std::string name = name_of(stage);
  const auto has_name = [&](StageId other) { return name_of(schedule.stages[other]) == name; };
  const Span& span = stage.origin_op.defined() ? stage.origin_op.span() : Span{};
  if (!span.known() || std::ranges::count_if(schedule.order, has_name) < 2) return name;
  // Stages without a name: what the user calls them.
  const std::string variable = assigned_in(source_line(span.source, span.line));
  return variable.empty() ? fmt::format("{} (of line {})", name, span.line) : variable;
}

namespace {

std::size_t place_of(const std::vector<IterVar>& axes, const IterVar& axis) {
  const auto found =
      std::ranges::find_if(axes, [&](const IterVar& one) { return one.same_as(axis); });
  return static_cast<std::size_t>(found - axes.begin());
}

/// What became of an axis that something is attached to: the inner part of it.
IterVar legal_axis(const ScheduleData& schedule, StageId user, StageId id, IterVar axis) {
  const StageData& stage = schedule.stages[id];
  for (const AxisStep& step : stage.steps) {
    if (const auto* split = std::get_if<SplitStep>(&step); split && split->parent.same_as(axis)) {
      axis = split->inner;
    }
    const auto* fuse = std::get_if<FuseStep>(&step);
    if (fuse && fuse->inner.same_as(axis)) axis = fuse->fused;
    require(!fuse || !fuse->outer.same_as(axis), ErrorKind::schedule, "attach_axis_is_loop",
            hint(fmt::format("attach it to {}", fuse ? fuse->fused->var->name : "")), {},
            "compute_at: stage {} is to be computed in each iteration of {} of stage {}, which was "
            "fused as the outer of two loops",
            label_of(schedule, user), axis->var->name, label_of(schedule, id));
  }
  require(place_of(stage.leaf_iter_vars, axis) < stage.leaf_iter_vars.size(), ErrorKind::schedule,
          "attach_axis_is_loop", hint("attach it again, to a loop that the stage has now"), {},
          "compute_at: axis {} is not part of the schedule of stage {} any more",
          axis.defined() ? axis->var->name : "", label_of(schedule, id));
  require(!stage.op.is<ExternOp>(), ErrorKind::schedule, "attach_axis_is_of_elements",
          hint("leave it where it is, or write what it computes into the statement"), {},
          "compute_at: loop {} of stage {} is part of its statement, in which stage {} cannot be "
          "computed",
          axis->var->name, label_of(schedule, id), label_of(schedule, user));
  return axis;
}

Attachment attachment_of(const ScheduleData& schedule, StageId id) {
  StageId from = id;
  while (schedule.stages[from].attach_type == AttachType::root &&
         schedule.stages[from].group != no_stage) {
    from = schedule.stages[from].group;
  }
  if (schedule.stages[id].op.is<PlaceholderOp>()) return {};
  const StageData& stage = schedule.stages[from];
  if (stage.attach_type != AttachType::scope) return {.type = stage.attach_type};
  return {AttachType::scope, stage.attach_stage,
          legal_axis(schedule, id, stage.attach_stage, stage.attach_ivar)};
}

void require_no_cycle(const ScheduleData& schedule, const std::vector<Attachment>& attachments) {
  for (const StageId id : schedule.order) {
    StageId at = id;
    for (std::size_t steps = 0; steps <= schedule.order.size(); ++steps) {
      if (attachments[at].type != AttachType::scope) break;
      at = attachments[at].stage;
      require(at != id, ErrorKind::schedule, "attachments_have_no_cycle",
              hint("say compute_root() of one of them"), {},
              "compute_at: stage {} is to be computed inside stage {}, which is to be computed "
              "inside it",
              label_of(schedule, id), label_of(schedule, attachments[id].stage));
    }
  }
}

/// True when `reader` is computed inside the loop of an axis of a stage.
bool is_inside(const ScheduleData& schedule, const std::vector<Attachment>& attachments,
               StageId reader, StageId stage, const IterVar& axis) {
  if (reader == stage) return true;
  for (StageId at = reader; attachments[at].type == AttachType::scope; at = attachments[at].stage) {
    if (attachments[at].stage != stage) continue;
    const auto& leaves = schedule.stages[stage].leaf_iter_vars;
    return place_of(leaves, attachments[at].axis) >= place_of(leaves, axis);
  }
  return false;
}

const std::string& tag_of(const AxisMark& bound) {
  return std::get<BindMark>(bound.what).thread->thread_tag;
}

ThreadAxis thread_of(const BoundAxis& axis) {
  return thread_axis_of(tag_of(*axis.mark));
}

bool is_of_blocks(const BoundAxis& axis) {
  return is_block_axis(thread_of(axis));
}

}  // namespace

bool has_its_own(ThreadAxis axis, MemoryScope scope) {
  const bool is_own = scope == MemoryScope::local || scope == MemoryScope::named_local;
  return is_block_axis(axis) || (is_own && is_thread_axis(axis));
}

std::string_view scope_of(const ScheduleData& schedule, const std::vector<Attachment>& attachments,
                          StageId id) {
  if (!schedule.stages[id].scope.empty()) return schedule.stages[id].scope;
  const std::vector<BoundAxis> bound = bound_around(schedule, attachments, attachments[id]);
  if (bound.empty()) return "global";
  return std::ranges::all_of(bound, is_of_blocks) ? "shared" : "local";
}

std::vector<BoundAxis> bound_around(const ScheduleData& schedule,
                                    const std::vector<Attachment>& attachments,
                                    const Attachment& place) {
  std::vector<BoundAxis> found;
  for (Attachment at = place; at.type == AttachType::scope; at = attachments[at.stage]) {
    const StageData& around = schedule.stages[at.stage];
    for (const IterVar& axis : around.leaf_iter_vars) {
      for (const AxisMark& mark : around.marks) {
        const bool is_bound = std::holds_alternative<BindMark>(mark.what);
        if (is_bound && mark.axis.same_as(axis)) found.push_back({at.stage, &mark});
      }
      if (axis.same_as(at.axis)) break;
    }
  }
  return found;
}

bool is_run_around(const ScheduleData& schedule, const std::vector<Attachment>& attachments,
                   const Attachment& place, const AxisMark& mark) {
  return std::ranges::any_of(
      bound_around(schedule, attachments, place),
      [&](const BoundAxis& around) { return tag_of(*around.mark) == tag_of(mark); });
}

void attach_inside_threads(const ScheduleData& schedule,
                           const std::vector<std::vector<StageId>>& readers,
                           std::vector<Attachment>& attachments) {
  for (const StageId id : schedule.order) {
    Attachment& at = attachments[id];
    const MemoryScope scope = memory_scope(schedule.stages[id].scope);
    if (is_global(scope) || readers[id].size() != 1) continue;
    const StageId reader = readers[id][0];
    const bool is_around = at.type == AttachType::root ||
                           (at.type == AttachType::scope &&
                            is_inside(schedule, attachments, reader, at.stage, at.axis));
    if (!is_around) continue;
    const auto& leaves = schedule.stages[reader].leaf_iter_vars;
    for (const AxisMark& mark : schedule.stages[reader].marks) {
      if (!std::holds_alternative<BindMark>(mark.what)) continue;
      if (!has_its_own(thread_of({reader, &mark}), scope)) continue;
      const std::size_t place = place_of(leaves, mark.axis);
      const bool is_inner =
          at.type == AttachType::root || at.stage != reader || place > place_of(leaves, at.axis);
      if (place < leaves.size() && is_inner) at = {AttachType::scope, reader, mark.axis};
    }
  }
}

std::vector<std::vector<StageId>> readers_of(const ScheduleData& schedule,
                                             const std::vector<Attachment>& attachments) {
  std::vector<std::vector<StageId>> readers(schedule.stages.size());
  // Those that read a stage come after it: seen from the last, their own readers are known.
  for (auto id = schedule.order.rbegin(); id != schedule.order.rend(); ++id) {
    const bool is_inlined = attachments[*id].type == AttachType::inlined;
    const std::vector<StageId> own = is_inlined ? readers[*id] : std::vector<StageId>{*id};
    for (const Tensor& input : input_tensors(schedule.stages[*id].op)) {
      const StageId producer = schedule.find(input->op);
      if (producer == no_stage) continue;
      for (const StageId reader : own) {
        auto& known = readers[producer];
        if (std::ranges::find(known, reader) == known.end()) known.push_back(reader);
      }
    }
  }
  // In the order in which they are computed.
  for (auto& all : readers) std::ranges::reverse(all);
  return readers;
}

std::vector<Attachment> attachments_of(const ScheduleData& schedule) {
  std::vector<Attachment> attachments(schedule.stages.size());
  for (const StageId id : schedule.order) attachments[id] = attachment_of(schedule, id);
  require_no_cycle(schedule, attachments);
  return attachments;
}

Schedule Schedule::normalize() const {
  auto data = std::make_shared<ScheduleData>(*data_);
  const auto attachments = attachments_of(*data);
  for (const StageId id : data->order) {
    StageData& stage = data->stages[id];
    stage.attach_type = attachments[id].type;
    stage.attach_stage = attachments[id].stage;
    stage.attach_ivar = attachments[id].axis;
  }
  return Schedule(std::move(data));
}

std::optional<ReadOutside> read_outside(const ScheduleData& schedule,
                                        const std::vector<Attachment>& attachments,
                                        const std::vector<std::vector<StageId>>& readers) {
  for (const StageId id : schedule.order) {
    const Attachment& at = attachments[id];
    if (at.type != AttachType::scope) continue;
    ReadOutside found{.stage = id, .at = at};
    for (const StageId reader : readers[id]) {
      if (!is_inside(schedule, attachments, reader, at.stage, at.axis)) {
        found.readers.push_back(reader);
      }
    }
    if (!found.readers.empty()) return found;
  }
  return {};
}

}  // namespace loopsmith::te
