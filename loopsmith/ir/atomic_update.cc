// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/atomic_update.h"

#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

/// The operation by which processors combine so; nothing where they have none.
std::optional<Op> atomic_of(Combiner combiner) {
  switch (combiner) {
    case Combiner::sum: return op("atomic_add");
    case Combiner::minimum: return op("atomic_min");
    case Combiner::maximum: return op("atomic_max");
    case Combiner::bit_and: return op("atomic_and");
    case Combiner::bit_or: return op("atomic_or");
    case Combiner::bit_xor: return op("atomic_xor");
    default: return {};
  }
}

}  // namespace

std::optional<AtomicUpdate> atomic_update_of(const BufferStore& store) {
  const DataType type = store.buffer->dtype;
  const bool is_word = type.is_scalar() && (type.bits == 32 || type.bits == 64) &&
                       (type.is_integer() || type.is_float());
  const auto update = is_word ? accumulation_of(store) : std::nullopt;
  if (!update || (type.is_float() && update->combiner != Combiner::sum)) return {};
  if (const auto atomic = atomic_of(update->combiner))
    return AtomicUpdate{*atomic, update->operand};
  return {};
}

std::optional<AtomicUpdate> atomic_update_in(const For& loop, const BufferStore& store) {
  auto update = atomic_update_of(store);
  const bool is_wanted =
      update && (!update->rounds() || loop.annotations.contains(atomic_updates_key));
  return is_wanted ? std::move(update) : std::nullopt;
}

}  // namespace loopsmith
