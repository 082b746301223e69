// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "loopsmith/ir/function.h"

namespace loopsmith {

/// The annotation of a block whose regions are not known yet: 1 its reads, 2 its writes, 3 both.
inline constexpr std::string_view detect_access = "tir.script_parsing_detect_access";

/// The block with that annotation.
Ptr<Block> detect_regions(const Ptr<Block>& block, int what = 3);

/// The function with the regions of its blocks filled in where they are asked for. Throws a
/// UserError where a buffer is reached through its pointer, so that they cannot be found.
Ptr<PrimFunc> infer_regions(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
