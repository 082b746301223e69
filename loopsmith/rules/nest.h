// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "loopsmith/ir/stmt.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/handles.h"

namespace loopsmith {

/// An axis of a nest: `var` takes each value in [min, min + extent).
struct Axis {
  Ptr<Var> var;
  Expr min;
  Expr extent;
  bool reduce = false;
};

/// A block that runs once for each point of a box: what the rules schedule. Each spatial axis is an
/// index of every store, so that no two spatial points access one element, and all points may run
/// in any order, at once.
struct Nest {
  std::string name;
  std::vector<Axis> axes;  ///< Spatial ones first.
  Stmt init;               ///< Runs before the first reduction step of a point. May be null.
  Stmt body;
  std::vector<Ptr<Buffer>> streamed;  ///< What is written past the caches.
  std::vector<Ptr<Var>> data = {};    ///< Scalars of any value: neither sizes nor indices.
  BlockRV block = {};                 ///< In the schedule that the nest was read from, if any.

  std::vector<Axis> spatial() const;
  std::vector<Axis> reduction() const;
};

/// A load or a store.
struct NestAccess {
  Ptr<Buffer> buffer;
  std::vector<Expr> indices;
  bool is_store = false;
};

/// All accesses in `stmt`, in order of first occurrence.
std::vector<NestAccess> accesses_in(const Stmt& stmt);
std::vector<NestAccess> accesses_in(const Nest& nest);

/// The buffers that the nest stores to, each once.
std::vector<Ptr<Buffer>> written_buffers(const Nest& nest);
bool reads(const Nest& nest, const Ptr<Buffer>& buffer);
bool writes(const Nest& nest, const Ptr<Buffer>& buffer);

/// The nests that `stmt` is: loops, each the value of one axis, around one block, or around several
/// that do not depend on each other (one nest each). Empty when it is anything else, or when its
/// spatial axes cannot be shown to be independent.
std::vector<Nest> nests_of(const Stmt& stmt);

/// The body (or init) of a nest with values for its axes; each call gives a copy of its own.
Stmt at(const Stmt& stmt, const Substitution& values);

/// How an access moves in memory when `variable` grows by 1.
enum class Stride { none, one, other };
Stride stride_along(const NestAccess& access, const Ptr<Var>& variable);

/// The constant extent of an axis, if it has one.
std::optional<std::int64_t> constant_extent(const Axis& axis);

/// The product of the constant extents; nullopt when one is symbolic.
std::optional<std::int64_t> point_count(const std::vector<Axis>& axes);

}  // namespace loopsmith
