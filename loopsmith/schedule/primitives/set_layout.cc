// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/set_layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace loopsmith {
namespace {

std::vector<DefinedBuffer> buffers_of_function(const Schedule& schedule) {
  const auto function = schedule.function_named();
  return function ? buffers_of(schedule, *function) : std::vector<DefinedBuffer>();
}

std::optional<DefinedBuffer> selected(const std::vector<DefinedBuffer>& buffers,
                                      const BufferSelector& selector) {
  const auto* name = std::get_if<std::string>(&selector.value);
  const auto* given = std::get_if<Ptr<Buffer>>(&selector.value);
  const auto found = std::ranges::find_if(buffers, [&](const DefinedBuffer& one) {
    return (name && one.buffer->name == *name) || (given && one.buffer.same_as(*given));
  });
  return found == buffers.end() ? std::nullopt : std::optional(*found);
}

std::string names_of(const std::vector<DefinedBuffer>& buffers) {
  std::vector<std::string> names;
  for (const DefinedBuffer& one : buffers) names.push_back(one.buffer->name);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Planned<TransformLayoutPlan> plan_set_layout(const Schedule& schedule,
                                             const SetLayoutArguments& arguments) {
  const auto buffers = buffers_of_function(schedule);
  const auto found = selected(buffers, arguments.buffer);
  if (!found) {
    return Refusal{&function_has_the_buffer,
                   {to_argument(arguments.buffer), Argument(names_of(buffers))}};
  }
  return plan_layout(schedule, {found->owner, found->buffer, *arguments.map, arguments.pad});
}

std::size_t rank_of_buffer(const Schedule& schedule, const SetLayoutArguments& arguments) {
  const auto found = selected(buffers_of_function(schedule), arguments.buffer);
  return found ? found->buffer->shape.size() : 0;
}

}  // namespace loopsmith
