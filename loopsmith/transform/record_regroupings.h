// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Records on loops that run in threads what their iterations accumulate into together, see
/// regroups.h, where that is not recorded yet, or the record names what is not there:
///
///     for k in T.parallel(n):       for k in T.parallel(n, annotations={"regroups": ["C"]}):
///       C[0] = C[0] + A[k]      =>    C[0] = C[0] + A[k]
///
/// A schedule records it by its steps; this is for programs that come with such loops. A parallel
/// loop whose updates have to keep their order becomes serial. Throws a UserError for a block that
/// reduces over such a loop, or over threads, in a way of which no partial results can be made.
Ptr<PrimFunc> record_regroupings(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
