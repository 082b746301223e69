// SPDX-License-Identifier: Apache-2.0
// Applies index maps to the accesses of a program.
#pragma once
#include <span>

#include "loopsmith/schedule/queries/buffer_accesses.h"

namespace loopsmith {

/// The integer type that holds the values of all of them: int64 where one is wider than int32.
DataType widest_index(std::span<const Expr> exprs);

/// The map with indices and numbers of that type, and variables of its own.
Ptr<IndexMap> with_index_type(const IndexMap& map, DataType type);

/// The change from a buffer to one whose element map(i, j, ...) is its element (i, j, ...).
AccessChange layout_change(const Ptr<Buffer>& from, const Ptr<Buffer>& to,
                           const Ptr<IndexMap>& map);

/// How many axes the block of a primitive's arguments has, for maps from its axes.
template <class Arguments>
std::size_t axis_count(const Schedule& schedule, const Arguments& arguments) {
  return schedule.get(arguments.block).iter_vars.size();
}

}  // namespace loopsmith
