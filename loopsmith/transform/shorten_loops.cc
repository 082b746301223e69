// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/shorten_loops.h"

#include <algorithm>
#include <utility>

#include "loopsmith/arith/const_int_bound.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"

namespace loopsmith {

Stmt shorten_loops(const Stmt& stmt, Analyzer& analyzer, const Substitution& known) {
  Rewriter rewrite;
  rewrite.on<For>([&](const For& node) -> Stmt {
    const Ptr<For> loop = rewrite.children(node);
    const std::int64_t *min = as_int(loop->min), *extent = as_int(loop->extent);
    const bool may = loop->kind == ForKind::serial || loop->kind == ForKind::unrolled;
    if (!may || !min || !extent || !is_const_int(loop->step, 1)) return loop;
    std::int64_t end = *min + *extent;
    ConditionSet conditions;
    const auto consider = [&](const Expr& condition) {
      const auto comparison = timeless_comparison(condition);
      if (!comparison || !uses_variable(condition, loop->loop_var)) return;
      const Expr difference = substitute(comparison->left - comparison->right, known);
      const Ptr<Var>& variable = loop->loop_var;
      const auto at = [&](const Expr& value) {
        return substitute(difference, {{variable, value}});
      };
      const Expr one = int_imm(variable->dtype, 1), zero = zero_of(variable->dtype);
      const Expr start = analyzer.simplify(at(zero));
      const Expr slope = analyzer.simplify(at(variable + one) - difference);
      const std::int64_t *first = as_int(start), *scale = as_int(slope);
      if (!first || !scale || *scale <= 0) return;
      // first + scale * i < 0, or <= 0.
      const std::int64_t room = -*first + (comparison->is_strict ? 0 : 1);
      end = std::min(end, -arith::floor_quotient(-room, *scale));
      conditions.insert(condition.get());
    };
    for (const Stmt* inside = &loop->body; inside;) {
      const auto* branch = inside->as<IfThenElse>();
      const auto* inner = inside->as<For>();
      const bool is_guard = branch && !branch->else_case;
      if (is_guard) std::ranges::for_each(arith::conjuncts(branch->condition), consider);
      inside = is_guard ? &branch->then_case : inner ? &inner->body : nullptr;
    }
    if (conditions.empty()) return loop;
    if (end <= *min) return no_op();
    For copy = *loop;
    copy.extent = int_imm(loop->extent.dtype(), end - *min);
    copy.body = without_conditions(loop->body, conditions);
    return make(std::move(copy));
  });
  return rewrite(stmt);
}

}  // namespace loopsmith
