// SPDX-License-Identifier: Apache-2.0
// Memory that is read or written once, from one end to the other, and does not fit into the caches.
#pragma once
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/rules/nest.h"

namespace loopsmith {

/// True for a buffer of constant shape that is larger than the caches.
bool exceeds_caches(const Buffer& buffer, const CpuModel& machine);

/// Asks for the memory that those of `accesses` that stream along `axis` load a while after the
/// `count` elements at `values`.
Stmt read_ahead(const std::vector<NestAccess>& accesses, const Ptr<Var>& axis,
                const Substitution& values, std::int64_t count, const CpuModel& machine);

/// How many elements the streamed store of `nest` at `values` lies past the last address from which
/// a vector of `lanes` may be written past the caches: fewer than `lanes`. Null where it streams
/// nothing, or where its points may not be computed twice.
Expr elements_past_aligned(const Nest& nest, const Substitution& values, std::int64_t lanes,
                           const CpuModel& machine);

}  // namespace loopsmith
