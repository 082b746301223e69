// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <utility>

#include "loopsmith/ir/node.h"

namespace loopsmith {

/// A node to change field by field, which is copied at the first field that differs:
///
///     Edit edit(loop);
///     edit.set(&For::body, rewrite(loop.body));
///     return edit.done();  // `loop` itself when the body is the same.
template <class T>
class Edit {
 public:
  explicit Edit(const T& node) : node_(&node) {}

  template <class Field>
  void set(Field T::* field, Field value) {
    if (!(now().*field).same_as(value)) copied().*field = std::move(value);
  }
  /// The same for an element of a list.
  template <class Element>
  void set(std::vector<Element> T::* list, std::size_t i, Element value) {
    if (!(now().*list)[i].same_as(value)) (copied().*list)[i] = std::move(value);
  }
  /// The node as it is by now.
  const T& now() const { return copy_ ? *copy_ : *node_; }
  /// The new node, or the old one when no field differs. Throws what `make` throws.
  Ptr<T> done() && { return copy_ ? make(*std::move(copy_)) : Ptr<T>(node_); }

 private:
  T& copied() { return copy_ ? *copy_ : copy_.emplace(*node_); }

  const T* node_;
  std::optional<T> copy_;
};

}  // namespace loopsmith
