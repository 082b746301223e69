// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/spaces/numerics.h"

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/tune/spaces/fixed_order.h"

namespace loopsmith::tune {

Ptr<PrimFunc> reference_of(const Ptr<PrimFunc>& func, const Target& target,
                           const BuildOptions& options, Numerics numerics) {
  Ptr<PrimFunc> made = func;
  if (numerics == Numerics::free) made = schedule_by_rule(func, target, options);
  if (numerics == Numerics::reproducible) {
    Schedule schedule(func, 1);
    fix_order(schedule);
    made = schedule.func();
  }
  return with_attr(made, "tir.is_scheduled", Expr(1));
}

}  // namespace loopsmith::tune
