// SPDX-License-Identifier: Apache-2.0
// Which accumulations the iterations of a loop make together: what is recorded of loops that run
// them at once, see regroups.h.
#pragma once
#include <span>
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// True where the form of a loop does not tell that each of its iterations accumulates into
/// elements of its own.
bool may_regroup(const For& loop);

/// True when what the loop records names nothing but what it accumulates.
bool has_fitting_record(const For& loop);

/// What the iterations of a loop accumulate into together.
struct Regrouping {
  /// Buffers whose updates may be made apart and combined, or made atomically.
  std::vector<Ptr<Buffer>> buffers = {};
  /// One whose updates may not: the iterations have to run in their order. Null: none.
  Ptr<Buffer> ordered = {};
};

/// Of `shared`, the buffers over which iterations of the loop conflict, and by accumulating alone.
/// `nest` is the loop inside of what stands around it; its kind and annotations say how it runs.
Regrouping regrouping_of(const For& loop, const Stmt& nest, std::span<const Ptr<Buffer>> shared);

/// The same of a loop in a program of which nothing has been proved; `local` are buffers that the
/// function allocates around the loop. What nothing is known of, as of indices that are read from
/// memory, is taken to be as the loop's kind says.
Regrouping regrouping_on_trust(const For& loop, const Stmt& nest,
                               std::span<const Ptr<Buffer>> local);

}  // namespace loopsmith
