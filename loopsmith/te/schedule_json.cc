// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/schedule_json.h"

#include <algorithm>

#include "loopsmith/ir/json.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te/decisions.h"

namespace loopsmith::te {
namespace {

// The fields of what a schedule holds, each once: `archive` reads or writes them by name.

template <class A>
void fields(A&& archive, SplitStep& step) {
  archive("parent", step.parent);
  archive("outer", step.outer);
  archive("inner", step.inner);
  archive("factor", step.factor);
  archive("nparts", step.nparts);
  archive("disable_predication", step.disable_predication);
}
template <class A>
void fields(A&& archive, FuseStep& step) {
  archive("outer", step.outer);
  archive("inner", step.inner);
  archive("fused", step.fused);
}
template <class A>
void fields(A&& archive, ReorderStep& step) {
  archive("axes", step.axes);
}
template <class A>
void fields(A&& archive, SingletonStep& step) {
  archive("axis", step.axis);
}
template <class A>
void fields(A&& archive, LayoutStep& step) {
  archive("before", step.before);
  archive("after", step.after);
  archive("map", step.map);
  archive("separators", step.separators);
}
template <class A>
void fields(A&& archive, KindMark& mark) {
  archive("kind", mark.kind);
}
template <class A>
void fields(A&& archive, BindMark& mark) {
  archive("thread", mark.thread);
}
template <class A>
void fields(A&& archive, PragmaMark& mark) {
  archive("key", mark.key);
  archive("value", mark.value);
}
template <class A>
void fields(A&& archive, PrefetchMark& mark) {
  archive("tensor", mark.tensor);
  archive("offset", mark.offset);
}
template <class A>
void fields(A&& archive, TensorIntrinDecl& intrin) {
  archive("name", intrin.name);
  archive("op", intrin.op);
  archive("in_buffers", intrin.in_buffers);
  archive("out_buffers", intrin.out_buffers);
  archive("scalar_params", intrin.scalar_params);
  archive("body", intrin.body);
  archive("reduce_init", intrin.reduce_init);
  archive("reduce_update", intrin.reduce_update);
}
template <class A>
void fields(A&& archive, TensorizeMark& mark) {
  TensorIntrinDecl intrin = mark.intrin ? *mark.intrin : TensorIntrinDecl();
  archive("intrin", intrin);
  mark.intrin = std::make_shared<TensorIntrinDecl>(std::move(intrin));
}
template <class A>
void fields(A&& archive, AxisMark& mark) {
  archive("axis", mark.axis);
  archive("what", mark.what);
}
template <class A>
void fields(A&& archive, StrideAlignment& alignment) {
  archive("axis", alignment.axis);
  archive("factor", alignment.factor);
  archive("offset", alignment.offset);
}
template <class A>
void fields(A&& archive, StageData& stage) {
  archive("op", stage.op);
  archive("origin_op", stage.origin_op);
  archive("all_iter_vars", stage.all_iter_vars);
  archive("leaf_iter_vars", stage.leaf_iter_vars);
  archive("steps", stage.steps);
  archive("marks", stage.marks);
  archive("alignments", stage.alignments);
  archive("attach_type", stage.attach_type);
  archive("attach_stage", stage.attach_stage);
  archive("attach_ivar", stage.attach_ivar);
  archive("group", stage.group);
  archive("scope", stage.scope);
  archive("store_predicate", stage.store_predicate);
  archive("env_threads", stage.env_threads);
  archive("is_output", stage.is_output);
  archive("double_buffer", stage.double_buffer);
  archive("rolling_buffer", stage.rolling_buffer);
}
/// An operation of before or now, and its stage.
struct StageOf {
  Ref op;
  StageId stage = no_stage;
};
template <class A>
void fields(A&& archive, StageOf& known) {
  archive("op", known.op);
  archive("stage", known.stage);
}
template <class A>
void fields(A&& archive, ScheduleData& schedule) {
  archive("stages", schedule.stages);
  archive("order", schedule.order);
  archive("groups", schedule.groups);
  archive("outputs", schedule.outputs);
  std::vector<StageOf> known;
  for (const auto& [op, stage] : schedule.stage_of) known.push_back({op, stage});
  std::ranges::sort(known, {}, &StageOf::stage);
  archive("stage_of", known);
  for (const StageOf& one : known) schedule.stage_of.emplace(one.op, one.stage);
}

template <class T>
concept IsNode = std::is_base_of_v<Ref, T>;
template <class T>
concept IsNumber = std::is_integral_v<T> || std::is_enum_v<T>;
template <class T>
concept IsList = !std::same_as<T, std::string> && requires(T list) {
  list.emplace_back();
  list.size();
};
template <class T>
struct IsVariant : std::false_type {};
template <class... Ts>
struct IsVariant<std::variant<Ts...>> : std::true_type {};

// Writing.

Ref written(const Ref& node) {
  return node;
}
Ref written(const std::string& text) {
  return string_imm(text);
}
template <IsNumber T>
Ref written(T number) {
  return int_imm(i64, static_cast<std::int64_t>(number));
}
template <IsList T>
Ref written(T& list);
template <class... Ts>
Ref written(std::variant<Ts...>& value);

template <class T>
  requires(!IsNode<T> && !IsNumber<T> && !IsList<T> && !IsVariant<T>::value &&
           !std::same_as<T, std::string>)
Ref written(T& value) {
  Attrs items;
  fields(
      [&](const char* name, auto& field) {
        if (const Ref node = written(field); node.defined()) items = items.with(name, node);
      },
      value);
  return make(Dict{.items = std::move(items)});
}
template <IsList T>
Ref written(T& list) {
  std::vector<Ref> items;
  for (auto& item : list) items.push_back(written(item));
  return make(List{.items = std::move(items)});
}
/// Which of the types it is, and the value.
template <class... Ts>
Ref written(std::variant<Ts...>& value) {
  const Ref inside = std::visit([](auto& one) { return written(one); }, value);
  return make(List{.items = {written(value.index()), inside}});
}

// Reading.

[[noreturn]] void refuse(std::string_view what) {
  fail(ErrorKind::format, "text_is_schedule", hint("give a text that a schedule was written to"),
       {}, "schedule: the text is none of a schedule: {}", what);
}

template <IsNode T>
void read(const Ref& from, T& to) {
  if constexpr (std::same_as<T, Ref>) {
    to = from;
  } else if constexpr (std::same_as<T, Expr> || std::same_as<T, Stmt>) {
    to = T::from(from);
  } else if constexpr (std::same_as<T, IterVar>) {
    to = IterVar(Ptr<loopsmith::IterVar>::from(from));
  } else if constexpr (std::same_as<T, Tensor>) {
    to = Tensor(Ptr<loopsmith::Tensor>::from(from));
  } else {
    to = T::from(from);
  }
  if (from.defined() && !to.defined()) refuse("a node is of another type");
}
void read(const Ref& from, std::string& to) {
  const auto* text = from.as<StringImm>();
  if (!text) refuse("a name is no text");
  to = text->value;
}
template <IsNumber T>
void read(const Ref& from, T& to) {
  const auto* number = from.as<IntImm>();
  if (!number) refuse("a number is missing");
  to = static_cast<T>(number->value);
}
template <IsList T>
void read(const Ref& from, T& to);
template <class... Ts>
void read(const Ref& from, std::variant<Ts...>& to);

template <class T>
  requires(!IsNode<T> && !IsNumber<T> && !IsList<T> && !IsVariant<T>::value &&
           !std::same_as<T, std::string>)
void read(const Ref& from, T& to) {
  const auto* dict = from.as<Dict>();
  if (!dict) refuse("a decision has no fields");
  fields(
      [&](const char* name, auto& field) {
        if (const Ref found = dict->items.get(name); found.defined()) read(found, field);
      },
      to);
}
template <IsList T>
void read(const Ref& from, T& to) {
  const auto* list = from.as<List>();
  if (!list) refuse("a list is missing");
  for (const Ref& item : list->items) read(item, to.emplace_back());
}
template <class... Ts>
void read(const Ref& from, std::variant<Ts...>& to) {
  const auto* list = from.as<List>();
  if (!list || list->items.size() != 2) refuse("a decision has no kind");
  std::size_t kind = 0;
  read(list->items[0], kind);
  std::size_t index = 0;
  const auto try_one = [&]<class T>() {
    if (index++ == kind) read(list->items[1], to.template emplace<T>());
  };
  (try_one.template operator()<Ts>(), ...);
  if (kind >= index) refuse("a decision is of no kind");
}

/// Stops where a number is that of no stage.
void require_stages(const ScheduleData& schedule) {
  const auto require_one = [&](StageId id) {
    if (id >= schedule.stages.size()) refuse("a stage is missing");
  };
  for (const StageId id : schedule.order) require_one(id);
  for (const StageId id : schedule.groups) require_one(id);
  for (const auto& [op, id] : schedule.stage_of) require_one(id);
  for (const StageData& stage : schedule.stages) {
    if (stage.group != no_stage) require_one(stage.group);
    if (stage.attach_stage != no_stage) require_one(stage.attach_stage);
  }
  if (schedule.outputs.empty()) refuse("it has no outputs");
}

}  // namespace

std::string to_json(const Schedule& schedule) {
  ScheduleData copy = schedule.data();
  return loopsmith::to_json(written(copy));
}

Schedule schedule_from_json(std::string_view text) {
  auto data = std::make_shared<ScheduleData>();
  read(from_json(text), *data);
  require_stages(*data);
  return Schedule(std::move(data));
}

}  // namespace loopsmith::te
