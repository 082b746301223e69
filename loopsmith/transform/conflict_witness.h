// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "loopsmith/transform/shared_accesses.h"

namespace loopsmith {

/// Where two statements that each thread of a block runs stand.
struct StatementPlaces {
  std::span<const Ptr<For>> threads;  ///< The loops that are threads.
  std::span<const Stmt> around;       ///< What is around both, from the outside in.
  Ptr<For> loop;         ///< The second is in a later iteration of it, where it is not null,
  bool is_next = false;  ///< in the next one.
};

/// True when two threads were found that use one element, one of them to write it: a witness. It
/// looks at some instances drawn at random; false says nothing.
bool has_conflict_witness(const StatementPlaces& place, std::span<const SharedAccess> first,
                          std::span<const SharedAccess> second);

}  // namespace loopsmith
