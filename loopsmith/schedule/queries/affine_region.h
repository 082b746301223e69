// SPDX-License-Identifier: Apache-2.0
// Boxes of elements that a piece of program accesses, in terms of the loops around it.
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/schedule/queries/affine_interval.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// A box of elements of a buffer.
struct AffineRegion {
  Ptr<Buffer> buffer;
  std::vector<AffineInterval> sides;
};

/// All elements.
AffineRegion full_region(const Ptr<Buffer>& buffer);

/// A box that holds what `region` of the block is while the loops inside `from` run.
AffineRegion accessed_region(const Schedule& schedule, BlockRV block, const BufferRegion& region,
                             NodeId from);

/// The same of a region in terms of what stands around the body of the block `scope`.
AffineRegion accessed_region_in(const Schedule& schedule, BlockRV scope,
                                const BufferRegion& region);

/// A box that holds what it is for all values of the block's axes, those that never run too.
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
