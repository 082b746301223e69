// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/memory_scope.h"

namespace loopsmith {
namespace {

struct ScopeName {
  MemoryScope scope;
  std::string_view name;
};

constexpr ScopeName scope_names[] = {
    {MemoryScope::global, "global"},
    {MemoryScope::shared, "shared"},
    {MemoryScope::shared_dynamic, "shared.dyn"},
    {MemoryScope::warp, "warp"},
    {MemoryScope::local, "local"},
    {MemoryScope::matrix_a, "wmma.matrix_a"},
    {MemoryScope::matrix_b, "wmma.matrix_b"},
    {MemoryScope::accumulator, "wmma.accumulator"},
};
/// How the names of users begin that belong to a family.
constexpr ScopeName families[] = {
    {MemoryScope::named_global, "global"},  {MemoryScope::named_shared, "shared"},
    {MemoryScope::named_warp, "warp"},      {MemoryScope::named_local, "local"},
    {MemoryScope::named_fragment, "wmma."},
};

}  // namespace

MemoryScope memory_scope(std::string_view name) {
  if (name.empty()) return MemoryScope::global;
  for (const ScopeName& known : scope_names) {
    if (name == known.name) return known.scope;
  }
  for (const ScopeName& family : families) {
    if (name.starts_with(family.name)) return family.scope;
  }
  return MemoryScope::named;
}

MemoryScope memory_scope(const Var& pointer) {
  return pointer.pointer ? memory_scope(pointer.pointer->storage_scope) : MemoryScope::global;
}

MemoryScope memory_scope(const Buffer& buffer) {
  return memory_scope(buffer.scope());
}

std::string_view name_of(MemoryScope scope) {
  return scope_names[static_cast<std::size_t>(scope)].name;
}

}  // namespace loopsmith
