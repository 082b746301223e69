// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/fold_operators.h"

#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

using Operator = Expr (*)(const Expr&, const Expr&);

template <class T>
void add_rule(Rewriter& rewrite, Operator apply) {
  rewrite.on<T>([&rewrite, apply](const T& node) -> Expr {
    const Expr left = rewrite(node.a), right = rewrite(node.b);
    if (left.same_as(node.a) && right.same_as(node.b)) return Expr(Ptr<T>(&node));
    auto [a, b] = match_types(left, right);
    return apply(a, b);
  });
}

}  // namespace

void fold_operators(Rewriter& rewrite) {
  using E = const Expr&;
  add_rule<Add>(rewrite, [](E a, E b) { return a + b; });
  add_rule<Sub>(rewrite, [](E a, E b) { return a - b; });
  add_rule<Mul>(rewrite, [](E a, E b) { return a * b; });
  add_rule<FloorDiv>(rewrite, [](E a, E b) { return floordiv(a, b); });
  add_rule<FloorMod>(rewrite, [](E a, E b) { return floormod(a, b); });
  add_rule<Mod>(rewrite, [](E a, E b) { return truncmod(a, b); });
  add_rule<Div>(rewrite, [](E a, E b) {
    return a.dtype().is_integer() && b.dtype().is_integer() ? truncdiv(a, b) : a / b;
  });
  add_rule<Min>(rewrite, [](E a, E b) { return min(a, b); });
  add_rule<Max>(rewrite, [](E a, E b) { return max(a, b); });
  add_rule<LT>(rewrite, [](E a, E b) { return a < b; });
  add_rule<LE>(rewrite, [](E a, E b) { return a <= b; });
  add_rule<GT>(rewrite, [](E a, E b) { return a > b; });
  add_rule<GE>(rewrite, [](E a, E b) { return a >= b; });
  add_rule<EQ>(rewrite, [](E a, E b) { return a == b; });
  add_rule<NE>(rewrite, [](E a, E b) { return a != b; });
  rewrite.on<Select>([&rewrite](const Select& node) -> Expr {
    const Expr condition = rewrite(node.condition);
    auto [yes, no] = match_types(rewrite(node.true_value), rewrite(node.false_value));
    const bool is_same = condition.same_as(node.condition) && yes.same_as(node.true_value) &&
                         no.same_as(node.false_value);
    return is_same ? Expr(Ptr<Select>(&node)) : select(condition, yes, no);
  });
}

}  // namespace loopsmith
