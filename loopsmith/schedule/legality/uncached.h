// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "loopsmith/arith/dependence/preservation.h"
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// A program without one of its caches: accesses to the cache become accesses to the buffer, and
/// the copies between the two are gone.
struct Uncached {
  Stmt body;
  Mirror cache;
};

/// The program without each of the caches among `own`, its own buffers: those of which a block
/// copies elements from or to a buffer of the same shape.
///
/// A step that moves copies alone keeps results if the program before it and the program after it
/// have the values of one program without the cache: each is that, with a cache.
std::vector<Uncached> without_caches(const Stmt& body, const std::vector<Ptr<Buffer>>& own);

}  // namespace loopsmith
