// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// As many rows and columns as a square that is transposed in registers has: a power of two, whole
/// vectors of the nest, no more of them than there are registers, and no more than either axis has
/// elements. Nothing where squares are few, or leave out much.
std::optional<std::int64_t> transposed_lanes(const Nest& nest, const Axis& stored,
                                             const Axis& loaded, const CpuModel& machine);

/// A nest without a reduction whose stores are contiguous along one axis and some of its loads
/// along another one: transpositions, and layouts that move channels.
///
///     for i, j in n, m:          for io in n / 32:  (parallel)
///       B[i, j] = A[j, i]  =>      for jo, it in m / 8, 4:
///                                    for ii in 8:  (vectorized)
///                                      for ji in 8:  (vectorized)   B[...] = A[...]
///
/// Two vectorized loops are a transpose in registers. A task goes down as many columns of `A` as
/// lie in two lines of the cache. Axes that follow each other in all that is accessed, as the rows
/// and columns of a picture do, are fused first. Of a few rows that are copied into neighbours, as
/// the colours of a picture are, a tile has all, and a vector of each.
bool schedule_transposes(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith
