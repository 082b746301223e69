// SPDX-License-Identifier: Apache-2.0
// What a user says of one stage: its loops, and where it is computed.
#include <algorithm>

#include "loopsmith/ir/script_text.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te/relations.h"
#include "loopsmith/te/schedule.h"

namespace loopsmith::te {
namespace {

std::string names_of(const std::vector<IterVar>& axes) {
  std::string names;
  for (const IterVar& axis : axes) names += (names.empty() ? "" : ", ") + axis->var->name;
  return names.empty() ? "none" : names;
}

/// What became of an axis that is a leaf no more: `was split into i.outer and i.inner`.
std::string fate_of(const StageData& stage, const IterVar& axis) {
  for (const AxisStep& step : stage.steps) {
    if (const auto* split = std::get_if<SplitStep>(&step); split && split->parent.same_as(axis)) {
      return fmt::format("has already been split into {} and {}", split->outer->var->name,
                         split->inner->var->name);
    }
    const auto* fuse = std::get_if<FuseStep>(&step);
    if (fuse && (fuse->outer.same_as(axis) || fuse->inner.same_as(axis))) {
      return fmt::format("has already been fused into {}", fuse->fused->var->name);
    }
    const auto* layout = std::get_if<LayoutStep>(&step);
    if (layout && holds(layout->before, axis)) {
      return fmt::format("has been replaced by the axes {} of another layout",
                         names_of(layout->after));
    }
  }
  return "is no loop any more";
}

constexpr std::string_view word_of(IterType type) {
  switch (type) {
    case IterType::data_par: return "an axis of the output";
    case IterType::thread_index: return "a thread axis";
    case IterType::comm_reduce: return "a reduction axis";
    case IterType::ordered: return "the time of a scan";
    case IterType::opaque: return "opaque";
  }
  return "";
}

/// The axes that take the place of `axis`: of its type, with `.outer` and `.inner` to its name.
IterVar derived(const IterVar& axis, std::string_view suffix) {
  return make(loopsmith::IterVar{
      .var = var(fmt::format("{}.{}", axis->var->name, suffix), axis->var->dtype),
      .iter_type = axis->iter_type});
}

/// What a factor may not read: memory, or an axis of a stage; empty where it reads neither.
std::string read_beside_sizes(const ScheduleData& schedule, const Expr& factor) {
  std::string found;
  pre_order_visit(factor, [&](const Ref& ref) {
    const auto is_axis = [&](const IterVar& axis) { return axis->var.get() == ref.get(); };
    const bool is_of_loop = ref.is<Var>() && std::ranges::any_of(schedule.stages, [&](auto& stage) {
                              return std::ranges::any_of(stage.all_iter_vars, is_axis);
                            });
    const bool is_load = ref.is<BufferLoad>() || ref.is<ProducerLoad>();
    if (found.empty() && (is_of_loop || is_load)) found = to_string(ref);
    return found.empty();
  });
  return found;
}

void require_factor(const ScheduleData& schedule, const char* what, const IterVar& axis,
                    const Expr& factor) {
  if (!factor.defined()) return;
  const DataType type = factor.dtype();
  const DataType counter = axis->var->dtype;
  const std::int64_t* number = as_int(factor);
  const bool counts =
      type.is_scalar() && type.is_integer() && (number || type.bits <= counter.bits);
  // Texts are made where they are read alone: programs split often.
  if (!counts) {
    fail(ErrorKind::type_mismatch, "factor_has_type",
         hint("give an integer expression, or cast it to the type of the axis"), current_span,
         "split: {} of axis {} is {}, of type {}, but the axis counts in {}", what, axis->var->name,
         to_string(factor), to_string(type), to_string(counter));
  }
  if (number) {
    require(*number > 0, ErrorKind::schedule, "factor_is_positive", hint("pass 1 or more"),
            current_span, "split: {} of axis {} is {}, not positive", what, axis->var->name,
            *number);
    return;
  }
  const std::string read = read_beside_sizes(schedule, factor);
  if (read.empty()) return;
  fail(ErrorKind::schedule, "factor_is_of_sizes",
       hint("use numbers, sizes of tensors, and variables that are arguments"), current_span,
       "split: {} of axis {} is {}, which reads {}, no size of the program", what, axis->var->name,
       to_string(factor), read);
}

}  // namespace

std::size_t Stage::leaf(std::string_view call, const IterVar& axis) const {
  const StageData& stage = data();
  require(axis.defined(), ErrorKind::type_mismatch, "axis_is_given", hint("give an axis"),
          current_span, "{}: the axis is missing", call);
  for (std::size_t i = 0; i < stage.leaf_iter_vars.size(); ++i) {
    if (stage.leaf_iter_vars[i].same_as(axis)) return i;
  }
  if (holds(stage.all_iter_vars, axis)) {
    fail(ErrorKind::schedule, "axis_is_leaf",
         hint(fmt::format("its loops are {}", names_of(stage.leaf_iter_vars))), current_span,
         "{}: axis {} of stage {} {}", call, axis->var->name, name_of(stage), fate_of(stage, axis));
  }
  const auto owner = std::ranges::find_if(
      schedule_->stages, [&](const StageData& other) { return holds(other.all_iter_vars, axis); });
  const std::string whose =
      owner == schedule_->stages.end() ? "" : fmt::format(", but of stage {}", name_of(*owner));
  fail(ErrorKind::schedule, "axis_is_of_stage",
       hint(fmt::format("its loops are {}", names_of(stage.leaf_iter_vars))), current_span,
       "{}: axis {} is not part of the schedule of stage {}{}", call, axis->var->name,
       name_of(stage), whose);
}

void Stage::require_kind(std::string_view call, const IterVar& axis,
                         std::initializer_list<IterType> kinds, Hint hint) const {
  require(std::ranges::find(kinds, axis->iter_type) != kinds.end(), ErrorKind::schedule,
          "axis_has_kind", hint, current_span, "{}: axis {} of stage {} is {}", call,
          axis->var->name, name_of(data()), word_of(axis->iter_type));
}

void Stage::require_op(std::string_view call) const {
  require(!data().is_group(), ErrorKind::schedule, "group_has_no_axes",
          hint("say it of a stage of the group"), current_span, "{}: a group has no axes", call);
}

std::array<IterVar, 2> Stage::split(const IterVar& axis, const SplitBy& by) {
  require_op("split");
  require(by.factor.defined() != by.nparts.defined(), ErrorKind::schedule, "factor_or_nparts",
          hint("give the extent of one of them"), current_span,
          "split: {} of factor, the extent of the inner axis, and nparts, that of the outer one",
          by.factor.defined() ? "both are given" : "neither is given");
  const std::size_t place = leaf("split", axis);
  require_factor(*schedule_, "factor", axis, by.factor);
  require_factor(*schedule_, "nparts", axis, by.nparts);
  require_kind("split", axis, {IterType::data_par, IterType::comm_reduce, IterType::ordered},
               hint("split an axis of the output or of the reduction"));
  SplitStep step{.parent = axis,
                 .outer = derived(axis, "outer"),
                 .inner = derived(axis, "inner"),
                 .factor = by.factor,
                 .nparts = by.nparts,
                 .disable_predication = by.disable_predication};
  StageData& stage = edit();
  stage.leaf_iter_vars[place] = step.outer;
  stage.leaf_iter_vars.insert(stage.leaf_iter_vars.begin() + static_cast<std::ptrdiff_t>(place) + 1,
                              step.inner);
  stage.all_iter_vars.push_back(step.outer);
  stage.all_iter_vars.push_back(step.inner);
  std::array made{step.outer, step.inner};
  stage.steps.emplace_back(std::move(step));
  return made;
}

std::array<IterVar, 4> Stage::tile(const IterVar& x, const IterVar& y, const Expr& x_factor,
                                   const Expr& y_factor) {
  require_op("tile");
  leaf("tile", x);
  leaf("tile", y);
  require(!x.same_as(y), ErrorKind::schedule, "axis_occurs_once", hint("give two axes"),
          current_span, "tile: axis {} is given twice", x->var->name);
  require_factor(*schedule_, "factor", x, x_factor);
  require_factor(*schedule_, "factor", y, y_factor);
  const auto [x_outer, x_inner] = split(x, x_factor);
  const auto [y_outer, y_inner] = split(y, y_factor);
  reorder({x_outer, y_outer, x_inner, y_inner});
  return {x_outer, y_outer, x_inner, y_inner};
}

IterVar Stage::fuse_two(const IterVar& first, const IterVar& second) {
  std::size_t outer = leaf("fuse", first);
  std::size_t inner = leaf("fuse", second);
  for (const IterVar& axis : {first, second}) {
    require_kind("fuse", axis, {IterType::data_par, IterType::comm_reduce, IterType::ordered},
                 hint("fuse axes of the output or of the reduction"));
  }
  if (inner < outer) std::swap(outer, inner);
  StageData& stage = edit();
  if (inner != outer + 1) {
    fail(ErrorKind::schedule, "fused_axes_are_neighbours",
         hint(fmt::format("the order of its loops is {}; reorder brings them together",
                          names_of(stage.leaf_iter_vars))),
         current_span, "fuse: axes {} and {} of stage {} are not consecutive", first->var->name,
         second->var->name, name_of(stage));
  }
  FuseStep step{
      .outer = stage.leaf_iter_vars[outer], .inner = stage.leaf_iter_vars[inner], .fused = {}};
  const DataType a = step.outer->var->dtype;
  const DataType b = step.inner->var->dtype;
  step.fused = make(loopsmith::IterVar{
      .var = var(fmt::format("{}.{}.fused", step.outer->var->name, step.inner->var->name),
                 a.bits < b.bits ? b : a),
      .iter_type = std::max(step.outer->iter_type, step.inner->iter_type)});
  stage.leaf_iter_vars[outer] = step.fused;
  stage.leaf_iter_vars.erase(stage.leaf_iter_vars.begin() + static_cast<std::ptrdiff_t>(inner));
  stage.all_iter_vars.push_back(step.fused);
  stage.steps.emplace_back(step);
  return step.fused;
}

IterVar Stage::fuse(const std::vector<IterVar>& axes) {
  require_op("fuse");
  if (axes.empty()) {
    StageData& stage = edit();
    const IterVar axis =
        make(loopsmith::IterVar{.var = var("singleton", i32), .iter_type = IterType::data_par});
    stage.leaf_iter_vars.insert(stage.leaf_iter_vars.begin(), axis);
    stage.all_iter_vars.push_back(axis);
    stage.steps.emplace_back(SingletonStep{axis});
    return axis;
  }
  leaf("fuse", axes[0]);
  IterVar fused = axes[0];
  for (std::size_t i = 1; i < axes.size(); ++i) fused = fuse_two(fused, axes[i]);
  return fused;
}

Stage& Stage::reorder(const std::vector<IterVar>& axes) {
  require_op("reorder");
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    places.push_back(leaf("reorder", axes[i]));
    require_kind("reorder", axes[i],
                 {IterType::data_par, IterType::comm_reduce, IterType::thread_index},
                 hint("the time of a scan passes outside of its other axes"));
    for (std::size_t j = 0; j < i; ++j) {
      require(!axes[i].same_as(axes[j]), ErrorKind::schedule, "axis_occurs_once",
              hint("name each axis once"), current_span,
              "reorder: axis {} of stage {} occurs twice", axes[i]->var->name, name_of(data()));
    }
  }
  std::ranges::sort(places);
  StageData& stage = edit();
  for (std::size_t i = 0; i < axes.size(); ++i) stage.leaf_iter_vars[places[i]] = axes[i];
  stage.steps.emplace_back(ReorderStep{axes});
  return *this;
}

void Stage::mark(const IterVar& axis, ForKind kind) {
  StageData& stage = edit();
  // An axis runs in one way: what is said last.
  std::erase_if(stage.marks, [&](const AxisMark& mark) {
    return mark.axis.same_as(axis) && std::holds_alternative<KindMark>(mark.what);
  });
  stage.marks.push_back({axis, KindMark{kind}});
}

Stage& Stage::vectorize(const IterVar& axis) {
  require_op("vectorize");
  leaf("vectorize", axis);
  require_kind("vectorize", axis, {IterType::data_par, IterType::opaque},
               hint("vectorize an axis of the output; rfactor makes one of a reduction axis"));
  mark(axis, ForKind::vectorized);
  return *this;
}

Stage& Stage::unroll(const IterVar& axis) {
  require_op("unroll");
  leaf("unroll", axis);
  mark(axis, ForKind::unrolled);
  return *this;
}

Stage& Stage::parallel(const IterVar& axis) {
  require_op("parallel");
  leaf("parallel", axis);
  mark(axis, ForKind::parallel);
  return *this;
}

Stage& Stage::bind(const IterVar& axis, const IterVar& thread) {
  require_op("bind");
  leaf("bind", axis);
  require_kind("bind", axis, {IterType::data_par, IterType::comm_reduce},
               hint("bind an axis of the output or of the reduction"));
  require(thread.defined() && thread->iter_type == IterType::thread_index, ErrorKind::schedule,
          "bound_to_thread", hint("make one with te.thread_axis(\"threadIdx.x\")"), current_span,
          "bind: axis {} of stage {} is to be bound to {}, which is no thread axis",
          axis->var->name, name_of(data()), thread.defined() ? thread->var->name : "nothing");
  StageData& stage = edit();
  std::erase_if(stage.marks, [&](const AxisMark& mark) {
    return mark.axis.same_as(axis) && std::holds_alternative<BindMark>(mark.what);
  });
  stage.marks.push_back({axis, BindMark{thread}});
  return *this;
}

Stage& Stage::pragma(const IterVar& axis, std::string_view key, const Ref& value) {
  if (key == "unroll") return unroll(axis);
  if (key == "vectorize") return vectorize(axis);
  require_op("pragma");
  leaf("pragma", axis);
  edit().marks.push_back(
      {axis, PragmaMark{fmt::format("pragma_{}", key), value.defined() ? value : Ref(Expr(1))}});
  return *this;
}

Stage& Stage::prefetch(const Tensor& tensor, const IterVar& axis, const Expr& offset) {
  require_op("prefetch");
  leaf("prefetch", axis);
  const Tensor read = schedule_->current(tensor);
  const auto inputs = input_tensors(op());
  require(std::ranges::find(inputs, read) != inputs.end(), ErrorKind::schedule,
          "reader_reads_tensor", hint("name a tensor that it reads"), current_span,
          "prefetch: stage {} does not read tensor {}", name_of(data()), read.name());
  const std::int64_t* number = offset.defined() ? as_int(offset) : nullptr;
  require(number, ErrorKind::schedule, "offset_is_constant",
          hint("say how many iterations ahead, as a number"), current_span,
          "prefetch: the offset of axis {} of stage {} is no constant", axis->var->name,
          name_of(data()));
  edit().marks.push_back({axis, PrefetchMark{tensor, *number}});
  return *this;
}

Stage& Stage::tensorize(const IterVar& axis, const TensorIntrinDecl& intrin) {
  require_op("tensorize");
  leaf("tensorize", axis);
  require_kind("tensorize", axis, {IterType::data_par, IterType::comm_reduce},
               hint("tensorize an axis of the output or of the reduction"));
  require_intrin(intrin);
  edit().marks.push_back({axis, TensorizeMark{std::make_shared<TensorIntrinDecl>(intrin)}});
  return *this;
}

Stage& Stage::compute_at(const Stage& parent, const IterVar& axis) {
  require(parent.schedule_ == schedule_, ErrorKind::schedule, "stages_share_schedule",
          hint("take both stages from the same schedule"), current_span,
          "compute_at: stage {} belongs to another schedule than stage {}", name_of(parent.data()),
          name_of(data()));
  parent.require_op("compute_at");
  require(parent.id_ != id_, ErrorKind::schedule, "attached_elsewhere",
          hint("name a stage that reads it"), current_span,
          "compute_at: stage {} cannot be computed inside itself", name_of(data()));
  parent.leaf("compute_at", axis);
  StageData& stage = edit();
  StageId group = parent.data().group;
  while (group != no_stage && group != stage.group) group = schedule_->stages[group].group;
  require(group == stage.group, ErrorKind::schedule, "attached_within_group",
          hint("name a stage of its group, or say it of the group"), current_span,
          "compute_at: stage {} is in a group of which stage {} is no part", name_of(stage),
          name_of(parent.data()));
  require(!stage.is_output, ErrorKind::schedule, "output_is_at_root",
          hint("compute what it reads inside it, or add it to no create_schedule"), current_span,
          "compute_at: stage {} is an output of the schedule, which nothing reads", name_of(stage));
  require(!stage.op.is<PlaceholderOp>(), ErrorKind::schedule, "stage_is_computed",
          hint("cache_read makes a copy of it that can be moved"), current_span,
          "compute_at: stage {} is a placeholder, which is not computed", name_of(stage));
  const bool is_scan = stage.op.is<ScanOp>() || parent.op().is<ScanOp>();
  require(!is_scan, ErrorKind::schedule, "scan_is_whole",
          hint("say it of the stages that compute its steps"), current_span,
          "compute_at: stage {} is a scan, which runs step by step",
          name_of(stage.op.is<ScanOp>() ? stage : parent.data()));
  stage.attach_type = AttachType::scope;
  stage.attach_stage = parent.id_;
  stage.attach_ivar = axis;
  return *this;
}

Stage& Stage::compute_inline() {
  StageData& stage = edit();
  require(!stage.is_output, ErrorKind::schedule, "output_is_at_root",
          hint("compute what it reads inline"), current_span,
          "compute_inline: stage {} is an output of the schedule, which nothing reads",
          name_of(stage));
  require(!stage.op.is<PlaceholderOp>(), ErrorKind::schedule, "stage_is_computed",
          hint("it is read where it is"), current_span,
          "compute_inline: stage {} is a placeholder, which is not computed", name_of(stage));
  stage.attach_type = AttachType::inlined;
  return *this;
}

Stage& Stage::compute_root() {
  StageData& stage = edit();
  stage.attach_type = AttachType::root;
  stage.attach_stage = no_stage;
  stage.attach_ivar = {};
  return *this;
}

}  // namespace loopsmith::te
