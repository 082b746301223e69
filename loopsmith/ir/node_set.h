// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "loopsmith/ir/node.h"

namespace loopsmith {

/// A set of nodes, by identity. Walks make thousands of them, most for a handful of nodes: those
/// need no memory of their own.
class NodeSet {
 public:
  NodeSet() {}  // NOLINT: `few_` is filled when it is needed.
  NodeSet(const NodeSet&) = delete;
  NodeSet& operator=(const NodeSet&) = delete;

  /// False where the node is in the set already.
  bool add(const Object* node) {
    if (count_ == 0) few_.fill(nullptr);
    const Object** place = find(node);
    if (*place == node) return false;
    *place = node;
    if (++count_ * 4 > table().size() * 3) grow();
    return true;
  }
  bool contains(const Object* node) const {
    return count_ != 0 && *const_cast<NodeSet*>(this)->find(node) == node;
  }

 private:
  std::span<const Object*> table() {
    return many_.empty() ? std::span<const Object*>(few_) : std::span<const Object*>(many_);
  }
  /// Where the node is, or is to be, in a set that has some.
  const Object** find(const Object* node) {
    const std::span<const Object*> places = table();
    std::uint64_t place = reinterpret_cast<std::uintptr_t>(node) * 0x9E3779B97F4A7C15 >> 32;
    for (;; ++place) {
      const Object*& found = places[place & (places.size() - 1)];
      if (!found || found == node) return &found;
    }
  }
  void grow() {
    const std::vector<const Object*> old(table().begin(), table().end());
    many_.assign(old.size() * 4, nullptr);
    for (const Object* node : old) {
      if (node) *find(node) = node;
    }
  }

  std::array<const Object*, 64> few_;  // The sizes of both are powers of 2.
  std::vector<const Object*> many_;
  std::size_t count_ = 0;
};

}  // namespace loopsmith
