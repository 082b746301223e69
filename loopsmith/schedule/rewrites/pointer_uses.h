// SPDX-License-Identifier: Apache-2.0
// Caches of buffers that functions of the host reach by access_ptr, or blocks through a view.
#pragma once
#include "loopsmith/schedule/rewrites/cache_block.h"

namespace loopsmith {

/// As `cache_subject`; but the buffer may be reached by access_ptr and by views of match_buffers,
/// which lead as well to a cache of the same shape.
std::variant<CacheSubject, Refusal> cache_subject_with_pointers(const Schedule& schedule,
                                                                BlockRV block,
                                                                const BufferSelector& selector,
                                                                BufferSelector::Side side,
                                                                std::string_view storage_scope);

/// True where all that reaches a buffer in a statement, apart from accesses by index, does so in
/// one of these ways.
bool leads_to_caches(const Stmt& scope, const Buffer& buffer);

/// Why a cache in that place cannot be reached as its buffer is.
std::optional<Refusal> refuse_pointers_to_tile(const Schedule& schedule,
                                               const CacheSubject& subject, const CopyPlace& place,
                                               const AffineRegion& box);

/// Changes accesses as `change_accesses`, and those through views: they become views of the other
/// buffer, in its memory.
void change_with_views(Schedule& schedule, const BufferAccesses& uses, AccessChange change,
                       const Ptr<Buffer>& from, const Ptr<Buffer>& to);

/// The buffer with another pointer.
Buffer with_pointer(const Buffer& buffer, std::string name, DataType dtype, std::string_view scope);

}  // namespace loopsmith
