// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "loopsmith/ir/ref.h"

namespace loopsmith {

/// Values of nodes, by identity. It holds the nodes; an entry needs no memory of its own.
template <class Value>
class NodeMap {
 public:
  bool empty() const { return count_ == 0; }
  /// The value of `node`; nullptr where it has none. Good until the next `set`.
  const Value* find(const Ref& node) const {
    if (empty()) return nullptr;
    const Entry& entry = entries_[place_of(node)];
    return entry.node.defined() ? &entry.value : nullptr;
  }
  void set(const Ref& node, Value value) {
    if (count_ * 4 >= entries_.size() * 3) grow();
    Entry& entry = entries_[place_of(node)];
    if (!entry.node.defined()) {
      entry.node = node;
      ++count_;
    }
    entry.value = std::move(value);
  }
  void clear() {
    if (empty()) return;
    entries_.clear();
    count_ = 0;
  }

 private:
  struct Entry {
    Ref node;
    Value value{};
  };

  /// Where the node is, or is to be.
  std::size_t place_of(const Ref& node) const {
    const std::size_t mask = entries_.size() - 1;
    std::size_t place = reinterpret_cast<std::uintptr_t>(node.get()) * 0x9E3779B97F4A7C15 >> 32;
    for (;; ++place) {
      const Ref& found = entries_[place & mask].node;
      if (!found.defined() || found.same_as(node)) return place & mask;
    }
  }
  void grow() {
    std::vector<Entry> old(entries_.empty() ? 16 : entries_.size() * 4);
    std::swap(old, entries_);
    for (Entry& entry : old) {
      if (entry.node.defined()) entries_[place_of(entry.node)] = std::move(entry);
    }
  }

  std::vector<Entry> entries_;  // Their number is a power of 2.
  std::size_t count_ = 0;
};

}  // namespace loopsmith
