// SPDX-License-Identifier: Apache-2.0
// Whether what a recurrence reads stays while its loop runs.
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/schedule/queries/recurrence.h"

namespace loopsmith {

/// A buffer that the recurrence reads, or another of the stores uses of its values, and that the
/// loop writes at another time. The recurrence has a composition.
///
/// Theorem. Where there is none, the numbers that tell what an iteration does are the same whenever
/// they are computed, so totals of parts may be computed before the parts run; and what another
/// store finds of the values is what its own iteration has made.
std::optional<Ptr<Buffer>> changed_input(const Recurrence& recurrence,
                                         const std::vector<Stmt>& stores);

}  // namespace loopsmith
