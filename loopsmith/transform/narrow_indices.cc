// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/narrow_indices.h"

#include <limits>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {
namespace {

class Narrower {
 public:
  Narrower() { set_rules(); }
  Ptr<PrimFunc> run(const Ptr<PrimFunc>& func) { return rewrite_.body_of(func); }

 private:
  void set_rules();
  template <class... T>
  void set_comparison_rules();
  Stmt loop(const For& loop);

  /// True when each value of the variable fits, and one past the end, which is computed, too.
  bool fits_inside(const For& loop) {
    const ConstraintScope scope = enter_loop(analyzer_, loop);
    return fits(loop.loop_var) && fits(loop.loop_var + loop.step);
  }
  bool fits(const Expr& e) {
    const ConstIntBound bound = analyzer_.const_int_bound(e);
    return bound.min_value >= std::numeric_limits<std::int32_t>::min() &&
           bound.max_value <= std::numeric_limits<std::int32_t>::max();
  }
  /// An int64 as an int32; null unless it and all that it is made of fit.
  Expr narrow(const Expr& e) {
    return deep_call([&] { return narrow_node(e); });
  }
  Expr narrow_node(const Expr& e);
  template <class... T>
  Expr narrow_binary(const Expr& e);
  Expr index(const Expr& e) {
    if (e.dtype() != i64) return rewrite_(e);
    const Expr narrowed = narrow(e);
    return narrowed.defined() ? narrowed : rewrite_(e);
  }
  template <class Access>
  Ptr<Access> access(const Access& node) {
    Access copy = node;
    copy.buffer = rewrite_.buffer(node.buffer);
    for (Expr& each : copy.indices) each = index(each);
    copy.predicate = rewrite_(node.predicate);
    if constexpr (std::is_same_v<Access, BufferStore>) copy.value = rewrite_(node.value);
    return make(std::move(copy));
  }

  Rewriter rewrite_;
  Analyzer analyzer_;
  Substitution narrowed_;  // Loop variables of 64 bits, by those of 32 bits.
};

template <class... T>
Expr Narrower::narrow_binary(const Expr& e) {
  Expr result;
  const auto attempt = [&](const auto* node) {
    if (!node) return;
    const Expr a = narrow(node->a);
    const Expr b = a.defined() ? narrow(node->b) : Expr();
    if (!b.defined()) return;
    auto copy = *node;
    copy.a = a;
    copy.b = b;
    result = make(std::move(copy));
  };
  (attempt(e.as<T>()), ...);
  return result;
}

Expr Narrower::narrow_node(const Expr& e) {
  if (const auto* cast = e.as<Cast>(); cast && cast->value.dtype() == i32) {
    return rewrite_(cast->value);
  }
  if (!fits(e)) return nullptr;
  if (const auto* constant = e.as<IntImm>()) return int_imm(i32, constant->value);
  if (const auto variable = narrowed_.find(e); variable != narrowed_.end()) return variable->second;
  const Expr binary = narrow_binary<Add, Sub, Mul, FloorDiv, FloorMod, Div, Mod, Min, Max>(e);
  return binary.defined() ? binary : cast(i32, rewrite_(e));
}

/// What the loop is made of must fit where it does not run, too.
Stmt Narrower::loop(const For& node) {
  const Expr step = node.step.dtype() == i64 ? narrow(node.step) : Expr();
  const Expr min = step.defined() && fits_inside(node) ? narrow(node.min) : Expr();
  if (!min.defined()) return rewrite_loop(rewrite_, analyzer_, node);
  Expr extent = narrow(node.extent);
  if (!extent.defined()) extent = narrow(max(node.extent, zero_of(i64)));
  if (!extent.defined()) return rewrite_loop(rewrite_, analyzer_, node);
  For copy = node;
  copy.loop_var = var(node.loop_var->name, i32);
  copy.min = min;
  copy.extent = extent;
  copy.step = step;
  narrowed_[node.loop_var] = copy.loop_var;
  copy.body = rewrite_inside(rewrite_, analyzer_, node, node.body);
  return make(std::move(copy));
}

template <class... T>
void Narrower::set_comparison_rules() {
  const auto set = [&]<class Node>(const Node*) {
    rewrite_.on<Node>([this](const Node& node) -> Expr {
      if (node.a.dtype() != i64) return rewrite_.children(node);
      const Expr a = narrow(node.a);
      const Expr b = a.defined() ? narrow(node.b) : Expr();
      if (!b.defined()) return rewrite_.children(node);
      return make(Node{.a = a, .b = b});
    });
  };
  (set(static_cast<const T*>(nullptr)), ...);
}

void Narrower::set_rules() {
  set_comparison_rules<LT, LE, GT, GE, EQ, NE>();
  rewrite_.on<Var>([this](const Var& variable) -> Expr {
    const auto found = narrowed_.find(Ref(&variable));
    return found == narrowed_.end() ? Expr(&variable) : cast(i64, found->second);
  });
  rewrite_.on<For>([this](const For& node) { return loop(node); });
  rewrite_.on<BufferLoad>([this](const BufferLoad& node) -> Expr { return access(node); });
  rewrite_.on<BufferStore>([this](const BufferStore& node) -> Stmt { return access(node); });
}

bool has_wide_integers(const Stmt& body) {
  bool found = false;
  pre_order_visit(body, [&](const Ref& ref) {
    if (const auto* loop = ref.as<For>()) found = found || loop->loop_var->dtype == i64;
    if (const auto* cast = ref.as<Cast>()) found = found || cast->dtype == i64;
    return !found;
  });
  return found;
}

}  // namespace

Ptr<PrimFunc> narrow_indices(const Ptr<PrimFunc>& func) {
  return has_wide_integers(func->body) ? Narrower().run(func) : func;
}

}  // namespace loopsmith
