// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/statement_order.h"

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/schedule/legality/dependence_answers.h"
#include "loopsmith/schedule/legality/dependence_cache.h"
#include "loopsmith/schedule/queries/path_condition.h"

namespace loopsmith {

OrderAnswer may_distribute(const Schedule& schedule, LoopRV loop, const Stmt& second_part) {
  const NodeId nest = whole_nest(schedule, schedule.node(loop));
  Dependences dependences(under_path_condition(schedule, nest));
  return answer_of(dependences.distributable(schedule.get(loop).loop_var, second_part));
}

OrderAnswer may_exchange(const Schedule& schedule, NodeId sequence, const Stmt& first,
                         const Stmt& second) {
  const NodeId nest = whole_nest(schedule, sequence);
  Dependences dependences(under_path_condition(schedule, nest));
  const DependenceAnswer found = dependences.exchangeable(first, second);
  OrderAnswer answer = answer_of(found);
  answer.reorders_updates = answer.is_proved() && found.reductions;
  return answer;
}

}  // namespace loopsmith
