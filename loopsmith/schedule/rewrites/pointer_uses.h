// SPDX-License-Identifier: Apache-2.0
// Buffers that functions of the host reach by access_ptr, or blocks through a view.
#pragma once
#include <string>
#include <string_view>

#include "loopsmith/schedule/queries/buffer_accesses.h"

namespace loopsmith {

/// True where all that reaches a buffer in a statement, apart from accesses by index, would lead as
/// well to a cache of the same shape: access_ptr, and views of match_buffers. Functions of the host
/// are given it only where they are trusted.
bool leads_to_caches(const Stmt& scope, const Buffer& buffer);

/// Changes accesses as `change_accesses`, and those through views: they become views of the other
/// buffer, in its memory.
void change_with_views(Schedule& schedule, const BufferAccesses& uses, AccessChange change,
                       const Ptr<Buffer>& from, const Ptr<Buffer>& to);

/// The buffer with another pointer.
Buffer with_pointer(const Buffer& buffer, std::string name, DataType dtype, std::string_view scope);

}  // namespace loopsmith
