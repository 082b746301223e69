// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te_schedule/to_tir.h"

#include <algorithm>

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te_schedule/fixes.h"
#include "loopsmith/te_schedule/inline_steps.h"
#include "loopsmith/te_schedule/replay.h"

namespace loopsmith::te {
namespace {

/// The arguments as the schedule has them now.
std::vector<Ref> current_arguments(const ScheduleData& schedule, const std::vector<Ref>& args) {
  std::vector<Ref> current;
  for (const Ref& arg : args) {
    const Tensor tensor(Ptr<loopsmith::Tensor>::from(arg));
    current.push_back(tensor.defined() ? Ref(schedule.current(tensor)) : arg);
  }
  return current;
}

/// The call by which a stage asked for memory of its own; empty: none.
std::string_view memory_call(const StageData& stage) {
  if (!is_global(memory_scope(stage.scope))) return "set_scope";
  return stage.alignments.empty() ? "" : "storage_align";
}

/// Stops where all that is computed would be lost: statements of the user's own may have effects.
void require_result(const ScheduleData& schedule, const std::vector<Ref>& args) {
  const bool gives_result = std::ranges::any_of(args, [](const Ref& arg) {
    const auto* tensor = arg.as<loopsmith::Tensor>();
    return tensor && !tensor->op.is<PlaceholderOp>();
  });
  const bool has_effects = std::ranges::any_of(
      schedule.order, [&](StageId id) { return schedule.stages[id].op.is<ExternOp>(); });
  const bool computes =
      std::ranges::any_of(schedule.outputs, [](const Ref& op) { return !op.is<PlaceholderOp>(); });
  const std::string_view name = name_of(schedule.outputs[0]);
  require(gives_result || has_effects || !computes, ErrorKind::schedule, "result_is_argument",
          hint(fmt::format("add {} to the arguments", name)), schedule.outputs[0].span(),
          "lower: no argument is a result: {}, which the schedule computes, would be lost", name);
}

/// Stops unless all that the function needs from outside is an argument.
void require_arguments(const ScheduleData& schedule, const std::vector<Ref>& args) {
  const auto is_argument = [&](const Ref& op) {
    return std::ranges::any_of(args, [&](const Ref& arg) {
      const auto* tensor = arg.as<loopsmith::Tensor>();
      return tensor && tensor->op.same_as(op);
    });
  };
  for (const StageId id : schedule.order) {
    const Ref& reader = schedule.stages[id].op;
    for (const Tensor& read : input_tensors(reader)) {
      const bool is_input = read->op.is<PlaceholderOp>() && !schedule.is_state(read->op);
      require(!is_input || is_argument(read->op), ErrorKind::schedule, "input_is_argument",
              hint(fmt::format("add {} to the arguments", name_of(read->op))), read->op.span(),
              "lower: tensor {}, which stage {} reads, is not among the arguments",
              name_of(read->op), name_of(reader));
    }
  }
  for (const Ref& arg : args) {
    const auto* tensor = arg.as<loopsmith::Tensor>();
    const StageId id = tensor ? schedule.find(tensor->op) : no_stage;
    const std::string_view call = id == no_stage ? "" : memory_call(schedule.stages[id]);
    require(call.empty(), ErrorKind::schedule, "argument_is_callers_memory",
            hint("take it out of the arguments, or call cache_write for a copy"), current_span,
            "{}: tensor {} is an argument, whose memory is the caller's", call,
            tensor ? name_of(tensor->op) : "");
    const bool is_known =
        !tensor || tensor->op.is<PlaceholderOp>() || schedule.find(tensor->op) != no_stage;
    require(is_known, ErrorKind::schedule, "argument_is_in_schedule",
            hint("leave it out, or make the schedule of it, too"), current_span,
            "lower: tensor {} is an argument, but no stage of the schedule computes it",
            tensor ? name_of(tensor->op) : "");
  }
}

/// The variables of factors that no shape of the tensors tells.
std::vector<Ref> variables_of_factors(const ScheduleData& schedule,
                                      const std::vector<Ref>& tensors) {
  std::vector<Ref> known;
  for (const Ref& tensor : tensors) {
    for (const Expr& extent : tensor.as<loopsmith::Tensor>()->shape) {
      for (const Ptr<Var>& size : free_variables(extent)) known.emplace_back(size);
    }
  }
  const std::size_t sizes = known.size();
  for (const StageId id : schedule.order) {
    for (const AxisStep& step : schedule.stages[id].steps) {
      const auto* split = std::get_if<SplitStep>(&step);
      if (!split) continue;
      for (const Expr& factor : {split->factor, split->nparts}) {
        if (!factor.defined()) continue;
        for (const Ptr<Var>& variable : free_variables(factor)) {
          const auto is_it = [&](const Ref& one) { return one.same_as(variable); };
          if (std::ranges::none_of(known, is_it)) known.emplace_back(variable);
        }
      }
    }
  }
  return {known.begin() + static_cast<std::ptrdiff_t>(sizes), known.end()};
}

}  // namespace

std::vector<Ref> default_arguments(const ScheduleData& schedule) {
  std::vector<Ref> inputs;
  std::vector<Ref> outputs;
  for (const StageId id : schedule.order) {
    const StageData& stage = schedule.stages[id];
    auto& list = stage.op.is<PlaceholderOp>() ? inputs : outputs;
    if (!stage.op.is<PlaceholderOp>() && !stage.is_output) continue;
    if (schedule.is_state(stage.op)) continue;
    for (std::size_t i = 0; i < output_count(stage.op); ++i) list.push_back(output(stage.op, i));
  }
  inputs.insert(inputs.end(), outputs.begin(), outputs.end());
  const std::vector<Ref> factors = variables_of_factors(schedule, inputs);
  inputs.insert(inputs.end(), factors.begin(), factors.end());
  return inputs;
}

std::variant<loopsmith::Schedule, ReadOutside> carried_out(const ScheduleData& decided,
                                                           const std::vector<Ref>& args,
                                                           GraphBuffers buffers) {
  auto attachments = attachments_of(decided);
  const ScheduleData data = with_steps_inlined(decided, attachments);
  for (auto& [tensor, buffer] : buffers.bound) tensor = data.current(tensor);
  auto readers = readers_of(data, attachments);
  if (auto found = read_outside(data, attachments, readers)) return *std::move(found);
  attach_inside_threads(data, readers, attachments);
  for (const StageId id : data.order) {
    buffers.scopes[data.stages[id].op] = scope_of(data, attachments, id);
  }
  const NamedPrimFunc function =
      create_named_prim_func(current_arguments(data, args), std::move(buffers), data.outputs);
  return Replay(data, function, std::move(attachments), std::move(readers)).run();
}

namespace {

/// The bound buffers by tensors as the schedule has them now. Each is that of an argument, and
/// fits.
GraphBuffers bound_buffers(const ScheduleData& schedule, const std::vector<Ref>& args,
                           const Binds& binds) {
  GraphBuffers buffers;
  for (const auto& [given, buffer] : binds) {
    const Tensor tensor = schedule.current(given);
    const bool is_argument = std::ranges::any_of(args, [&](const Ref& arg) {
      const Tensor other(Ptr<loopsmith::Tensor>::from(arg));
      return other.defined() && other == tensor;
    });
    require(
        is_argument, ErrorKind::schedule, "bound_is_argument",
        hint(fmt::format("to keep {0} in another order, call s[{0}].set_layout; if the caller is "
                         "to give it, add it to the arguments",
                         tensor.name())),
        tensor->op.span(),
        "lower: tensor {} is bound to buffer {}, but is computed inside: binds says how the "
        "arrays of the arguments lie",
        tensor.name(), buffer->name);
    const bool fits = buffer->dtype == tensor.dtype() &&
                      std::ranges::equal(buffer->shape, tensor.shape(), StructuralEqual());
    require(fits, ErrorKind::type_mismatch, "bound_buffer_fits",
            hint("declare it with the tensor's shape and dtype"), tensor->op.span(),
            "lower: buffer {} is not of the type and shape of tensor {}", buffer->name,
            tensor.name());
    buffers.bound.emplace_back(tensor, buffer);
  }
  return buffers;
}

}  // namespace

loopsmith::Schedule to_tir(const Schedule& schedule, const std::optional<std::vector<Ref>>& args,
                           const Binds& binds) {
  const ScheduleData& data = schedule.data();
  const std::vector<Ref> current = args ? current_arguments(data, *args) : default_arguments(data);
  require_arguments(data, current);
  require_result(data, current);
  auto result = carried_out(data, current, bound_buffers(data, current, binds));
  if (const auto* found = std::get_if<ReadOutside>(&result)) {
    refuse_attachment(schedule, current, *found);
  }
  return std::get<loopsmith::Schedule>(std::move(result));
}

}  // namespace loopsmith::te
