// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/loop_digits.h"

#include <optional>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// What a loop's variable is divided by in indices, if that is one number.
std::optional<std::int64_t> divisor_of(const For& loop) {
  std::optional<std::int64_t> found;
  bool is_one = true;
  const auto note = [&](const Expr& divided, const Expr& by) {
    if (!uses_variable(divided, loop.loop_var)) return;
    const std::int64_t* number = as_int(by);
    is_one = is_one && number && (!found || *found == *number);
    if (number) found = *number;
  };
  pre_order_visit(loop.body, [&](const Ref& ref) {
    if (const auto* quotient = ref.as<FloorDiv>()) note(quotient->a, quotient->b);
    if (const auto* rest = ref.as<FloorMod>()) note(rest->a, rest->b);
    return is_one;
  });
  return is_one ? found : std::nullopt;
}

}  // namespace

Stmt in_digits(const For& loop, std::int64_t max_divisor) {
  const std::int64_t* extent = as_int(loop.extent);
  const auto by = divisor_of(loop);
  if (!extent || !by || *by < 2 || *by > max_divisor || *extent % *by != 0 ||
      !is_const_int(loop.step, 1)) {
    return nullptr;
  }
  const DataType type = loop.loop_var->dtype;
  const Ptr<Var> quotient = var(loop.loop_var->name + "_0", type);
  const Ptr<Var> rest = var(loop.loop_var->name + "_1", type);
  const Expr count = int_imm(type, *extent / *by), n = int_imm(type, *by), zero = int_imm(type, 0);
  Analyzer analyzer;
  analyzer.bind_range(quotient, zero, count);
  analyzer.bind_range(rest, zero, n);
  Rewriter simplified;
  simplified.on<FloorDiv>(
      [&](const FloorDiv& node) { return analyzer.simplify(Expr(simplified.children(node))); });
  simplified.on<FloorMod>(
      [&](const FloorMod& node) { return analyzer.simplify(Expr(simplified.children(node))); });
  const Stmt body =
      simplified(substitute(loop.body, {{loop.loop_var, loop.min + quotient * n + rest}}));
  return for_loop(quotient, zero, count, for_loop(rest, zero, n, body, ForKind::vectorized),
                  ForKind::vectorized);
}

}  // namespace loopsmith
