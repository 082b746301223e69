// SPDX-License-Identifier: Apache-2.0
// Tensors, allocated memory, and views of it.
#include <algorithm>

#include "loopsmith/judge/machine.h"
#include "loopsmith/support/error.h"

namespace loopsmith::judge {

std::vector<std::int64_t> Machine::compact(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

void Machine::take_tensor(const Buffer& buffer, const JudgeArgument& argument) {
  if (argument.shape.size() != buffer.shape.size()) cannot_say("arguments do not fit");
  for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
    if (buffer.shape[d].is<Var>()) match(buffer.shape[d], argument.shape[d], "a size");
  }
  Memory& memory = memories_[buffer.data.get()];
  memory.type = buffer.dtype;
  for (const std::int64_t element : argument.elements) memory.elements.push_back({element});
  views_[&buffer] = {&memory, 0, compact(argument.shape)};
}

void Machine::allocate(const Var& data, DataType type, const std::vector<Expr>& extents) {
  std::int64_t count = 1;
  for (const Expr& extent : extents) {
    count *= std::max<std::int64_t>(number(extent), 0);
    if (count > options_.max_elements) cannot_say("much memory");
  }
  Memory& memory = memories_[&data];
  memory.type = type;
  memory.elements.clear();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t hash = hash_of("never written", {++poisons_});
    memory.elements.push_back({static_cast<std::int64_t>(hash), true});
  }
}

void Machine::match_buffer(const MatchBufferRegion& matched) {
  const Buffer& source = *matched.source->buffer;
  const Buffer& buffer = *matched.buffer;
  const View around = view_of(source);
  View view{around.memory, around.offset, {}};
  std::vector<std::int64_t> shape;
  const auto& region = matched.source->region;
  for (std::size_t d = 0; d < region.size(); ++d) {
    view.offset += number(region[d]->min) * around.strides[d];
    shape.push_back(number(region[d]->extent));
  }
  const std::size_t dropped = region.size() - buffer.shape.size();
  if (buffer.shape.size() > region.size()) cannot_say("a match_buffer of more dimensions");
  for (std::size_t d = 0; d < region.size(); ++d) {
    if (d < dropped) {
      if (shape[d] != 1) cannot_say("a match_buffer of another shape");
      continue;
    }
    match(buffer.shape[d - dropped], shape[d], "an extent");
    view.strides.push_back(around.strides[d]);
  }
  for (std::size_t d = 0; d < buffer.strides.size(); ++d) {
    match(buffer.strides[d], view.strides[d], "a stride");
  }
  if (const auto* offset = buffer.elem_offset.as<Var>()) {
    match(Expr(Ptr<Var>(offset)), view.offset, "an offset");
  }
  views_[&buffer] = std::move(view);
}

const View& Machine::view_of(const Buffer& buffer) {
  if (const auto found = views_.find(&buffer); found != views_.end()) return found->second;
  const auto found = memories_.find(buffer.data.get());
  if (found == memories_.end()) cannot_say("a buffer without memory: " + buffer.name);
  computed_ = {.memory = &found->second};
  if (buffer.elem_offset.defined()) computed_.offset = number(buffer.elem_offset);
  for (const Expr& extent : buffer.strides.empty() ? buffer.shape : buffer.strides) {
    computed_.strides.push_back(number(extent));
  }
  if (buffer.strides.empty()) computed_.strides = compact(computed_.strides);
  const auto is_constant = [](const Expr& expr) { return !expr.defined() || as_int(expr); };
  const bool is_fixed = is_constant(buffer.elem_offset) &&
                        std::ranges::all_of(buffer.shape, is_constant) &&
                        std::ranges::all_of(buffer.strides, is_constant);
  return is_fixed ? views_[&buffer] = std::move(computed_) : computed_;
}

Scalar& Machine::element(const Buffer& buffer, const std::vector<Expr>& indices,
                         const Expr& predicate) {
  if (predicate.defined()) cannot_say("an access with a predicate");
  if (!buffer.dtype.is_scalar()) cannot_say("a buffer of vectors");
  constexpr std::size_t most = 12;
  if (indices.size() > most) cannot_say("a buffer of many dimensions");
  std::int64_t at[most];
  for (std::size_t d = 0; d < indices.size(); ++d) {
    at[d] = number(indices[d]);
    const bool is_inside = at[d] >= 0 && at[d] < number(buffer.shape[d]);
    if (!is_inside) {
      fail(fmt::format("{}: index {} of dimension {} is out of bounds", buffer.name, at[d], d));
    }
  }
  const View& view = view_of(buffer);
  std::int64_t place = view.offset;
  for (std::size_t d = 0; d < indices.size(); ++d) place += at[d] * view.strides[d];
  const bool is_inside =
      place >= 0 && place < static_cast<std::int64_t>(view.memory->elements.size());
  if (!is_inside) fail(fmt::format("{}: element {} is not in its memory", buffer.name, place));
  if (view.memory->type != buffer.dtype) cannot_say("memory that is read as another type");
  return view.memory->elements[static_cast<std::size_t>(place)];
}

}  // namespace loopsmith::judge
