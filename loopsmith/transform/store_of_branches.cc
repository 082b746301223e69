// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/store_of_branches.h"

#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

/// What is one store, or becomes one; null for others.
Ptr<BufferStore> as_store(const Stmt& stmt) {
  if (!stmt) return {};
  const auto* branch = stmt.as<IfThenElse>();
  const Stmt joined = branch ? store_of_branches(*branch) : stmt;
  const auto* store = joined ? joined.as<BufferStore>() : nullptr;
  return store && !store->predicate.defined() ? Ptr<BufferStore>(store) : Ptr<BufferStore>();
}

}  // namespace

Stmt store_of_branches(const IfThenElse& branch) {
  const Ptr<BufferStore> yes = as_store(branch.then_case), no = as_store(branch.else_case);
  const bool is_one = yes && no && yes->buffer.same_as(no->buffer) &&
                      are_same_indices(yes->indices, no->indices) &&
                      yes->value.dtype() == no->value.dtype();
  if (!is_one || !branch.condition.dtype().is_bool()) return {};
  BufferStore joined = *yes;
  joined.value = if_then_else(branch.condition, yes->value, no->value);
  return make(std::move(joined));
}

}  // namespace loopsmith
