// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <vector>

#include "loopsmith/ir/buffer.h"

namespace loopsmith::detail {

/// Checks the indices and the mask of an access to `buffer` by `node`; gives the type accessed.
DataType access_type(const Object& node, const Ptr<Buffer>& buffer,
                     const std::vector<Expr>& indices, const Expr& predicate,
                     std::string_view what);

}  // namespace loopsmith::detail
