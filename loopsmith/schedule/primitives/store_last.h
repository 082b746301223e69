// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

struct StoreLastArguments {
  LoopRV loop;

  static constexpr std::tuple parameters{
      Parameter{"loop", &StoreLastArguments::loop, "Whose body is one `if` around stores."}};
};

struct StoreLastPlan {
  LoopRV loop;
  Expr condition;            ///< Of the iterations of which one leaves its values.
  std::vector<Stmt> stores;  ///< Of these values.
  Stmt update;  ///< `if e > m: m = e`, where that is what the condition asks; else null.
  bool takes_first = false;  ///< The first of the iterations, not the last one.
};

inline constexpr Condition values_of_one_iteration{
    "values_of_one_iteration", "loop {} does not leave the values of one iteration: {}",
    "it takes `if condition: x = value`, where the condition reads nothing that the loop stores, "
    "or is that of an extreme which is stored, too, `if a[i] > m: m = a[i]; x = i`; distribute "
    "apart what stands beside it"};
inline constexpr const Condition* store_last_conditions[] = {
    &loop_is_plain, &values_of_one_iteration, &step_keeps_results};

Planned<StoreLastPlan> plan_store_last(const Schedule& schedule,
                                       const StoreLastArguments& arguments);

/// for i in n:               last = -1
///   if c(i):                for i in n:
///     x = f(i)        =>      if c(i): last = max(last, i)
///                           if last != -1: x = f(last)
///
/// for i in n:               before = m
///   if e(i) > m:            for i in n:
///     m = e(i)                if e(i) > m: m = e(i)
///     x = f(i)        =>    if m > before:
///                             first = the largest number
///                             for i_1 in n:
///                               if e(i_1) == m: first = min(first, i_1)
///                             x = f(first)
///
/// Gives the loops. With `>=` it is the last one, without a condition on what was before.
///
/// Theorem. Both leave the same in memory, but for signs of zeros.
///
/// Proof. No condition, value or place reads what the loop stores, m in the comparison apart, and
/// places do not depend on i: an iteration that stores overwrites all that those before stored, so
/// the last one is what is left. An extreme is what it is by the theorem of `accumulation_of`; the
/// comparison does not round, so `e(i) == m` is exact, and never holds of NaN. Of `>`: an iteration
/// stores if e(i) is larger than m and all e before; so the last one that does is the first i of
/// e(i) == m at the end, if m has grown, and there is none if not. Of `>=`: it stores if none of
/// these is larger; the last one that does is the last i of e(i) == m at the end, and if there is
/// one at all, it does.
Handles<LoopRV> commit_store_last(Schedule& schedule, StoreLastPlan&& plan);

inline constexpr Primitive store_last(PrimitiveDefinition{
    .name = "store_last",
    .past = "made a search",
    .doc =
        "Stores after a loop what one of its iterations leaves: the last for which a condition "
        "holds, or that of an extreme. The loop becomes a reduction, which may run concurrently.",
    .conditions = store_last_conditions,
    .plan = plan_store_last,
    .commit = commit_store_last,
});

}  // namespace loopsmith
