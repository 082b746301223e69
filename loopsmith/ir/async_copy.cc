// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/async_copy.h"

#include "loopsmith/ir/memory_scope.h"

#include <cmath>

namespace loopsmith {
namespace {

/// True for a constant whose bits are all zero, in all lanes.
bool is_zero(const Expr& value) {
  const auto* lanes = value.as<Broadcast>();
  const Expr& element = lanes ? lanes->value : value;
  const auto* number = element.as<FloatImm>();
  return is_const_int(element, 0) || (number && number->value == 0 && !std::signbit(number->value));
}

}  // namespace

std::optional<CopyIntoShared> copy_into_shared(const BufferStore& store) {
  const auto* choice = store.value.as<Call>();
  const bool is_padded = choice && choice->op == op("if_then_else") && is_zero(choice->args[2]);
  const auto* source = (is_padded ? choice->args[1] : store.value).as<BufferLoad>();
  const bool is_copy = source && memory_scope(*source->buffer) == MemoryScope::global &&
                       source->buffer->dtype == store.buffer->dtype &&
                       is_shared(memory_scope(*store.buffer));
  if (!is_copy) return {};
  return CopyIntoShared{source, is_padded ? choice->args[0] : Expr()};
}

}  // namespace loopsmith
