// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/expression_replacement.h"

namespace loopsmith {
namespace {

template <class... T, class Change>
void set_rules(Rewriter& rewrite, const Change& change) {
  const auto set = [&]<class Node>(const Node*) {
    rewrite.on<Node>([&rewrite, change](const Node& node) -> Expr {
      const Expr made = change(Expr(&node));
      return made.defined() ? made : Expr(rewrite.children(node));
    });
  };
  (set(static_cast<const T*>(nullptr)), ...);
}

}  // namespace

void replace_expressions(Rewriter& rewrite, const std::function<Expr(const Expr&)>& change) {
  set_rules<Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max, EQ, NE, LT, LE, GT, GE, And, Or,
            Not, Cast, Select, Call, BufferLoad>(rewrite, change);
}

}  // namespace loopsmith
