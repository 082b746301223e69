// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/equal_loops.h"

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/regroups.h"

namespace loopsmith {

const For* equal_loop(const Stmt& stmt, const For& loop) {
  const auto* found = stmt.as<For>();
  if (!found || found->kind != loop.kind || is_annotated(*found) ||
      found->thread_binding.defined() || found->loop_var->dtype != loop.loop_var->dtype) {
    return nullptr;
  }
  Analyzer analyzer;
  const bool is_equal = analyzer.can_prove_equal(found->min, loop.min) &&
                        analyzer.can_prove_equal(found->extent, loop.extent) &&
                        analyzer.can_prove_equal(found->step, loop.step);
  return is_equal ? found : nullptr;
}

}  // namespace loopsmith
