// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/atomic_update.h"

#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

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

bool updates_are_atomic(const For& loop, const Ptr<Buffer>& buffer) {
  const MemoryScope scope = memory_scope(*buffer);
  bool all = is_global(scope) || is_shared_by_threads(scope);
  std::vector<Stmt> open{loop.body};
  while (all && !open.empty()) {
    const Stmt stmt = open.back();
    open.pop_back();
    const auto* block = stmt.as<Block>();
    const auto* store = stmt.as<BufferStore>();
    if (store && store->buffer.same_as(buffer)) all = atomic_update_in(loop, *store).has_value();
    for_each_child(*stmt.get(), [&](const Ref& child, Role) {
      const Stmt part = Stmt::from(child);
      if (part && !(block && part.same_as(block->init))) open.push_back(part);
    });
  }
  return all;
}

}  // namespace loopsmith
