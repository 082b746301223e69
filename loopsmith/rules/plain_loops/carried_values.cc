// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/carried_values.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/rules/plain_loops/statements.h"

namespace loopsmith {

using plain_loops::Reference;
using plain_loops::Statement;

int distance_of_reuse(const For& loop, int least, int most) {
  Analyzer analyzer;
  const std::vector<Statement> statements = plain_loops::statements_in(loop.body);
  const auto is_reused = [&](const Reference& stored, const Substitution& before) {
    const auto is_it = [&](const Reference& other) {
      return !other.is_store && other.buffer.same_as(stored.buffer) &&
             std::ranges::equal(stored.indices, other.indices, [&](const Expr& a, const Expr& b) {
               return analyzer.can_prove_equal(substitute(a, before), b);
             });
    };
    return std::ranges::any_of(statements, [&](const Statement& each) {
      return std::ranges::any_of(each.references, is_it);
    });
  };
  for (int distance = least; distance <= most; ++distance) {
    const Expr back = loop.step * int_imm(loop.loop_var->dtype, distance);
    const Substitution before{{loop.loop_var, loop.loop_var - back}};
    const auto is_stored = [&](const Statement& each) {
      const std::vector<Expr>& indices = each.references[0].indices;
      return std::ranges::any_of(
                 indices, [&](const Expr& index) { return uses_variable(index, loop.loop_var); }) &&
             is_reused(each.references[0], before);
    };
    if (std::ranges::any_of(statements, is_stored)) return distance;
  }
  return 0;
}

bool carries_values(const Stmt& stmt) {
  bool found = false;
  pre_order_visit(stmt, [&](const Ref& ref) {
    const auto* loop = ref.as<For>();
    found = found || (loop && loop->kind == ForKind::serial && distance_of_reuse(*loop, 1, 2) > 0);
    return !found && !is_expr(*ref.get());
  });
  return found;
}

}  // namespace loopsmith
