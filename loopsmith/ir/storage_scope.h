// SPDX-License-Identifier: Apache-2.0
// Who sees the memory of a storage scope.
#pragma once
#include <string_view>

namespace loopsmith {

/// True for memory that the threads of a block, or of a warp, have in common.
inline bool is_shared_by_threads(std::string_view scope) {
  return scope.starts_with("shared") || scope == "warp";
}

}  // namespace loopsmith
