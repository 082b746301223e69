// SPDX-License-Identifier: Apache-2.0
// Regions that a piece of a program accesses: a box with an affine interval for each dimension.
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/schedule/queries/affine_interval.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// A rectangular region of a buffer.
struct AffineRegion {
  Ptr<Buffer> buffer;
  std::vector<AffineInterval> sides;
};

/// All elements.
AffineRegion full_region(const Ptr<Buffer>& buffer);

/// A superset of what `region` of the block covers while the loops inside `from` run.
AffineRegion accessed_region(const Schedule& schedule, BlockRV block, const BufferRegion& region,
                             NodeId from);

/// The same for a region in terms of variables visible in the body of the block `scope`.
AffineRegion accessed_region_in(const Schedule& schedule, BlockRV scope,
                                const BufferRegion& region);

/// The same for all values of the block's axes, including instances that the predicate excludes.
AffineRegion region_over_axes(const Block& block, const BufferRegion& region);

/// A box that holds both.
AffineRegion unite(const AffineRegion& a, const AffineRegion& b);
/// True when `a` is certain to hold `b`.
bool covers(const AffineRegion& a, const AffineRegion& b);

/// The ranges of a box, and what else must hold of an index at `offset` in one of them for it to
/// lie in the buffer; a null condition where that follows.
Ptr<Range> range_of_dimension(const AffineRegion& box, std::size_t dimension);
Expr in_bounds(const AffineRegion& box, std::size_t dimension, const Expr& index);

}  // namespace loopsmith
