// SPDX-License-Identifier: Apache-2.0
// Schedules of tensor expressions.
#include "bindings/bindings.h"
#include "bindings/caller.h"
#include "bindings/ir.h"
#include "bindings/ir_detail.h"
#include "bindings/schedule.h"
#include "bindings/te.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te/decisions.h"
#include "loopsmith/te/schedule_json.h"
#include "loopsmith/te_schedule/to_tir.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

PySchedule scheduled(const te::Schedule& self, const std::optional<std::vector<Ref>>& args,
                     const nb::object& binds) {
  const SpanScope scope(caller_span());
  te::Binds bound;
  if (!binds.is_none()) {
    for (const auto& [tensor, buffer] : nb::cast<nb::dict>(binds)) {
      const auto key = Ptr<Tensor>::from(node_of(tensor));
      const auto value = Ptr<Buffer>::from(node_of(buffer));
      require(key && value, ErrorKind::type_mismatch, "binds_has_buffers",
              hint("give {tensor: buffer}"), current_span, "lower: binds has a {} for a {}",
              type_name_of(buffer), type_name_of(tensor));
      bound.emplace_back(key, value);
    }
  }
  return {te::to_tir(self, args, bound)};
}

/// A tensor or operations, or a list of them.
std::vector<Ref> nodes_in(std::string_view call, nb::handle value) {
  std::vector<Ref> nodes;
  const auto add = [&](nb::handle item) {
    nodes.push_back(node_of(item));
    require(nodes.back().defined(), ErrorKind::type_mismatch, "stage_is_of_operation",
            hint("give a tensor, or its op"), current_span, "{}: a {} is no tensor", call,
            type_name_of(item));
  };
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    for (nb::handle item : nb::borrow<nb::sequence>(value)) add(item);
  } else {
    add(value);
  }
  return nodes;
}

/// A tensor for one, a list for several.
nb::object one_or_list(const std::vector<te::Tensor>& tensors, bool is_list) {
  if (!is_list) return nb::cast(Ptr<Tensor>(tensors[0]));
  return nb::cast(nodes_of(tensors));
}

void bind_rewrites(nb::class_<te::Schedule>& schedule) {
  schedule.def(
      "cache_read",
      [](te::Schedule& self, const Ptr<Tensor>& tensor, const std::string& scope,
         nb::handle readers) {
        const SpanScope span(caller_span());
        return Ptr<Tensor>(self.cache_read(tensor, scope, nodes_in("cache_read", readers)));
      },
      nb::arg("tensor"), nb::arg("scope"), nb::arg("readers"),
      nb::sig("def cache_read(self, tensor: Tensor, scope: str, readers: typing.Any) -> Tensor"),
      "Return a copy of a tensor in other memory, ``A.shared``, which the readers, an operation or "
      "tensor or a list of them, read instead.");
  schedule.def(
      "cache_write",
      [](te::Schedule& self, nb::handle tensor, const std::string& scope) {
        const SpanScope span(caller_span());
        std::vector<te::Tensor> tensors;
        for (const Ref& node : nodes_in("cache_write", tensor)) {
          tensors.emplace_back(Ptr<Tensor>::from(node));
          require(tensors.back().defined(), ErrorKind::type_mismatch, "cached_tensor_is_given",
                  hint("give a tensor, or all of one operation"), current_span,
                  "cache_write: an operation is given, not a tensor");
        }
        const bool is_list = nb::isinstance<nb::list>(tensor) || nb::isinstance<nb::tuple>(tensor);
        return one_or_list(self.cache_write(tensors, scope), is_list);
      },
      nb::arg("tensor"), nb::arg("scope"),
      nb::sig("def cache_write(self, tensor: typing.Any, scope: str) -> typing.Any"),
      R"(Return tensors in other memory, ``C.local``, that are computed instead, and then copied.

Parameters
----------
tensor
    A tensor, or a list of all that one compute makes. Dimensions of the copy are the loops of the
    stage as they are now, but for those of a reduction: so splits and orders make a layout.
scope
    The memory.)");
  schedule.def(
      "rfactor",
      [](te::Schedule& self, const Ptr<Tensor>& tensor, const Ptr<IterVar>& axis,
         std::int64_t factor_axis) {
        const SpanScope span(caller_span());
        const auto partials = self.rfactor(tensor, axis, factor_axis);
        return one_or_list(partials, partials.size() > 1);
      },
      nb::arg("tensor"), nb::arg("axis"), nb::arg("factor_axis") = 0,
      nb::sig("def rfactor(self, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> "
              "typing.Any"),
      "Return partial results of a reduction, ``C.rf``, one for each value of a loop of it, which "
      "becomes dimension ``factor_axis``; the stage combines them.");
}

void bind_groups(nb::class_<te::Schedule>& schedule) {
  schedule.def(
      "create_group",
      [](te::Schedule& self, nb::handle outputs, nb::handle inputs, bool include_inputs) {
        const SpanScope span(caller_span());
        return self.create_group(nodes_in("create_group", outputs),
                                 nodes_in("create_group", inputs), include_inputs);
      },
      nb::arg("outputs"), nb::arg("inputs"), nb::arg("include_inputs") = false,
      nb::sig("def create_group(self, outputs: typing.Any, inputs: typing.Any, include_inputs: "
              "bool = False) -> TeStage"),
      "Return a group of all stages between operations: what is said of where it is computed holds "
      "for them together.");
  schedule.def(
      "fuse_into",
      [](te::Schedule& self, const te::Stage& parent, const Ptr<IterVar>& axis, nb::handle stages) {
        const SpanScope span(caller_span());
        self.fuse_into(parent, axis,
                       stages.is_none() ? std::vector<Ref>() : nodes_in("fuse_into", stages));
      },
      nb::arg("parent"), nb::arg("scope"), nb::arg("stages").none() = nb::none(),
      nb::sig("def fuse_into(self, parent: TeStage, scope: IterVar, stages: typing.Any = None) -> "
              "None"),
      "Compute stages, or all that a stage needs and that is not computed inline, in each "
      "iteration "
      "of one axis of it. What they were split into stays.");
}

void bind_schedule_class(nb::module_& m) {
  nb::class_<te::Schedule> schedule(m, "TeSchedule", "Decisions about tensor expressions.");
  schedule.def(
      "__getitem__",
      [](const te::Schedule& self, nb::handle key) {
        const Ref node = node_of(key);
        require(node.defined(), ErrorKind::type_mismatch, "stage_is_of_operation",
                hint("give a tensor, or its op"), caller_span(),
                "schedule: there is no stage of a {}", type_name_of(key));
        return self[node];
      },
      nb::arg("op"), nb::sig("def __getitem__(self, op: typing.Any, /) -> TeStage"),
      "The stage of an operation, or of that which made a tensor.");
  bind_rewrites(schedule);
  bind_groups(schedule);
  schedule.def_prop_ro(
      "stages", [](const te::Schedule& self) { return self.stages(); },
      "The stages, each after those that it reads.");
  schedule.def_prop_ro(
      "outputs", [](const te::Schedule& self) { return self.data().outputs; },
      "The operations whose results are wanted.");
  schedule.def_prop_ro(
      "groups",
      [](const te::Schedule& self) {
        std::vector<te::Stage> groups;
        for (const te::StageId id : self.data().groups) groups.emplace_back(self.shared(), id);
        return groups;
      },
      "The groups of stages.");
  schedule.def(
      "normalize",
      [](const te::Schedule& self) {
        const SpanScope scope(caller_span());
        return self.normalize();
      },
      "Return the same schedule with groups, and axes that were split or fused since, resolved in "
      "the places of stages.");
  schedule.def(
      "copy", [](const te::Schedule& self) { return self.copy(); },
      "Return another schedule of the same decisions.");
  schedule.def(
      "as_json", [](const te::Schedule& self) { return te::to_json(self); },
      "Return the text of the schedule and of what it is about; ``from_json`` reads it.");
  schedule.def_static(
      "from_json", [](const std::string& text) { return te::schedule_from_json(text); },
      nb::arg("text"), "Return the schedule that ``as_json`` wrote, of operations of its own.");
  schedule.def(
      "__reduce__",
      [](const te::Schedule& self) {
        const nb::object read = nb::module_::import_("loopsmith.te.schedule").attr("unpickled");
        return nb::make_tuple(read, nb::make_tuple(te::to_json(self)));
      },
      nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
  schedule.def("to_tir", scheduled, nb::arg("args").none() = nb::none(),
               nb::arg("binds").none() = nb::none(),
               nb::sig("def to_tir(self, args: typing.Sequence[Tensor | Var] | None = None, binds: "
                       "dict[Tensor, Buffer] | None = None) -> Schedule"),
               R"(Return the schedule of TensorIR in which each decision is a step.

Its trace, printed as Python, starts from the unscheduled function of the tensors.

Parameters
----------
args
    The parameters of the function: tensors and scalar variables; without, the placeholders, then
    the outputs, then variables that only factors of splits read.
binds
    The buffers of arguments, where their arrays have strides or an alignment of their own.

Raises
------
ScheduleError
    For a decision that cannot be carried out with the same results.)");
}

}  // namespace

void bind_te_schedule(nb::module_& m) {
  bind_te_stage(m);
  bind_schedule_class(m);
  m.def(
      "te_create_schedule",
      [](nb::handle outputs) {
        const SpanScope scope(caller_span());
        return te::create_schedule(nodes_in("create_schedule", outputs));
      },
      nb::arg("outputs"), nb::sig("def te_create_schedule(outputs: typing.Any) -> TeSchedule"));
}

}  // namespace loopsmith::python
