// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loopsmith/ir/solved_sizes.h"
#include "loopsmith/judge/machine.h"

namespace loopsmith::judge {

void Machine::run(const PrimFunc& func, std::span<const JudgeArgument> arguments) {
  if (arguments.size() != func.params.size()) cannot_say("another number of arguments");
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const JudgeArgument& argument = arguments[i];
    if (const Ptr<Buffer>& buffer = func.buffer_map[i]) {
      take_tensor(*buffer, argument);
    } else {
      const DataType type = func.params[i]->dtype;
      if (type.is_handle()) cannot_say("a parameter that is a pointer");
      define(func.params[i], {argument.elements.at(0)});
    }
  }
  for (const SolvedSize& size : solved_sizes(func)) {
    define(size.extent, {arguments[size.parameter].shape[size.dimension]});
    define(size.variable, {number(size.value)});
  }
  // Shapes may be made of sizes that later parameters define.
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Ptr<Buffer>& buffer = func.buffer_map[i];
    if (!buffer) continue;
    for (std::size_t d = 0; d < buffer->shape.size(); ++d) {
      if (number(buffer->shape[d]) != arguments[i].shape[d]) cannot_say("arguments do not fit");
    }
    View& view = views_.at(buffer.get());
    for (std::size_t d = buffer->strides.size(); d-- > 0;) {
      match(buffer->strides[d], view.strides[d], "a stride");
    }
    if (buffer->elem_offset.defined()) match(buffer->elem_offset, 0, "an offset");
  }
  if (do_stmt(func.body) == Flow::broken) fail("break outside of a loop");
}

JudgeResult Machine::result(const PrimFunc& func, std::span<const JudgeArgument> arguments) {
  JudgeResult result{.steps = steps_, .runs_concurrently = runs_concurrently_};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Ptr<Buffer>& buffer = func.buffer_map[i];
    if (!buffer) continue;
    JudgedTensor& tensor = result.tensors.emplace_back(buffer->name, arguments[i].shape);
    for (const Scalar& element : memories_.at(buffer->data.get()).elements) {
      tensor.elements.push_back(element.bits);
      tensor.is_undefined.push_back(element.is_poison);
    }
  }
  return result;
}

Scalar Machine::value_of(const Var& var) const {
  for (std::size_t i = values_.size(); i-- > 0;) {
    if (values_[i].first == &var) return values_[i].second;
  }
  cannot_say("a variable without a value: " + var.name);
}

void Machine::match(const Expr& pattern, std::int64_t value, const char* what) {
  if (const auto* var = pattern.as<Var>()) {
    const bool is_known =
        std::ranges::any_of(values_, [&](const auto& entry) { return entry.first == var; });
    if (!is_known) return define(Ptr<Var>(var), {value});
  }
  if (number(pattern) != value)
    fail(std::string("a match_buffer asks for another value of ") + what);
}

JudgeResult run(const PrimFunc& func, std::span<const JudgeArgument> arguments,
                const RunOptions& options) {
  Machine machine(options);
  try {
    machine.run(func, arguments);
  } catch (const Stop& stop) {
    return {.ending = stop.ending, .message = stop.message};
  }
  return machine.result(func, arguments);
}

}  // namespace loopsmith::judge
