// SPDX-License-Identifier: Apache-2.0
// What a statement of a thread accesses of the memory that threads share, element by element.
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// An access to one element, and what is around it in its nest, from the outside in.
struct SharedAccess {
  Ptr<Buffer> buffer;
  std::vector<Expr> indices;
  bool is_write = false;
  std::vector<Ptr<For>> loops;
  std::vector<Expr> conditions;
  bool is_certain = true;  ///< It happens wherever loops and conditions say.
};

/// All of them; nullopt where the nest uses memory otherwise than by single elements.
std::optional<std::vector<SharedAccess>> shared_accesses(const Stmt& nest);

/// Whether different indices of a buffer are different elements, as it is without strides; nothing
/// where strides or sizes are not known.
std::optional<bool> has_elements_apart(const Buffer& buffer);

}  // namespace loopsmith
