// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/rules/nest.h"

namespace loopsmith {

/// `target = target (+, *, min, max) source`, only where `condition` holds.
struct Combination {
  enum class Kind { add, mul, min, max };

  Kind kind;
  Ptr<Buffer> target;
  std::vector<Expr> indices;
  Expr source;
  Expr condition;  ///< Null: always.
  Expr initial;    ///< What the reduction starts from.

  DataType dtype() const { return source.dtype(); }
  Expr combine(const Expr& a, const Expr& b) const;
  /// The value that changes nothing.
  Expr neutral() const;
  /// The source for these values of the axes, neutral where `mask` (may be null) is false.
  Expr source_at(const Substitution& values, const Expr& mask) const;
};

/// The update of a nest, and the condition under which it takes place; null: always.
struct GuardedUpdate {
  Expr condition;
  Stmt update;
};
GuardedUpdate guarded_update(const Nest& nest);

/// What a nest with an init reduces by, if it is one of these.
std::optional<Combination> combination_of(const Nest& nest);

}  // namespace loopsmith
