// SPDX-License-Identifier: Apache-2.0
// Where a cache cannot be reached as its buffer is: by access_ptr, or through a view.
#pragma once
#include "loopsmith/schedule/rewrites/cache_block.h"

namespace loopsmith {

/// As `cache_subject`; refuses buffers that are reached by access_ptr or through a view, too.
std::variant<CacheSubject, Refusal> cache_subject_by_index(const Schedule& schedule, BlockRV block,
                                                           const BufferSelector& selector,
                                                           BufferSelector::Side side,
                                                           std::string_view storage_scope);

/// Why a cache in that place, of another shape than its buffer, cannot be reached as that is.
std::optional<Refusal> refuse_pointers_to_tile(const Schedule& schedule,
                                               const CacheSubject& subject, const CopyPlace& place,
                                               const AffineRegion& box);

}  // namespace loopsmith
