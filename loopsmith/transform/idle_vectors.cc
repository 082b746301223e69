// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/idle_vectors.h"

#include <algorithm>
#include <vector>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"

namespace loopsmith {
namespace {

/// What has to hold for an accumulation to combine anything; null where it always does.
Expr condition_of(const BufferStore& store) {
  const auto accumulation = accumulation_of(store);
  const auto* choice = accumulation ? accumulation->operand.as<Call>() : nullptr;
  if (!choice || !(choice->op == op("if_then_else"))) return nullptr;
  const Expr neutral = neutral_element(accumulation->combiner, choice->dtype);
  return structural_equal(choice->args[2], neutral) ? choice->args[0] : nullptr;
}

/// True when `condition` holds for the first values of a variable alone, if for any.
bool ends_along(const Expr& condition, const Ptr<Var>& variable) {
  if (!uses_variable(condition, variable)) return true;
  const auto* less = condition.as<LT>();
  if (!less || !less->a.dtype().is_index()) return false;
  const Expr difference = less->a - less->b;
  const Expr one = int_imm(variable->dtype, 1);
  const Expr next = substitute(difference, {{variable, variable + one}});
  const Expr slope = Analyzer().simplify(next - difference);
  const std::int64_t* rise = as_int(slope);
  return rise && *rise >= 0;
}

}  // namespace

Stmt without_idle_vectors(const For& loop) {
  const auto* lanes = loop.body.as<For>();
  const std::int64_t *first = as_int(loop.min), *count = as_int(loop.extent);
  if (!lanes || lanes->kind != ForKind::vectorized || !first || !count || *count < 1) {
    return nullptr;
  }
  const auto* store = lanes->body.as<BufferStore>();
  const Expr condition = store ? condition_of(*store) : nullptr;
  if (!condition.defined()) return nullptr;
  const std::vector<Expr> conditions = arith::conjuncts(condition);
  const bool is_end = std::ranges::all_of(conditions, [&](const Expr& each) {
    return ends_along(each, lanes->loop_var) && ends_along(each, loop.loop_var);
  });
  if (!is_end) return nullptr;
  std::vector<Stmt> after;
  for (std::int64_t i = *count; i-- > 0;) {
    const Expr number = int_imm(loop.loop_var->dtype, *first + i);
    after.insert(after.begin(), clone_with(loop.body, {{loop.loop_var, number}}));
    const Expr has_any =
        substitute(condition, {{loop.loop_var, number}, {lanes->loop_var, lanes->min}});
    after = {make(IfThenElse{.condition = has_any, .then_case = seq(std::move(after))})};
  }
  return after[0];
}

}  // namespace loopsmith
