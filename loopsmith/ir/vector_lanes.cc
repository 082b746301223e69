// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/vector_lanes.h"

#include "loopsmith/ir/op.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/type_name.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

bool is_vscale(const Expr& e) {
  const auto* call = e.as<Call>();
  return call && call->op == op("vscale");
}

}  // namespace

std::optional<std::int64_t> lanes_of(const Expr& count) {
  if (const std::int64_t* constant = as_int(count)) {
    return *constant < scalable_lanes ? std::optional(*constant) : std::nullopt;
  }
  if (is_vscale(count)) return scalable_lanes | 1;
  const auto* product = count.as<Mul>();
  if (!product) return std::nullopt;
  const std::int64_t* multiple = as_int(is_vscale(product->a) ? product->b : product->a);
  const bool is_multiple = is_vscale(product->a) || is_vscale(product->b);
  if (!is_multiple || !multiple || *multiple < 1 || *multiple >= scalable_lanes) {
    return std::nullopt;
  }
  return scalable_lanes | *multiple;
}

Expr lanes_expr(std::int64_t lanes) {
  if ((lanes & scalable_lanes) == 0) return static_cast<int>(lanes);
  return call(op("vscale"), {}) * static_cast<int>(lanes & ~scalable_lanes);
}

Ptr<PrimFunc> with_vscale(const Ptr<PrimFunc>& func, int vscale) {
  const auto depends = [](const Ref& ref) {
    const Expr expr = Expr::from(ref);
    return expr.defined() && (is_vscale(expr) || expr.dtype().is_scalable());
  };
  bool is_fixed = true;
  pre_order_visit(func->body, [&](const Ref& ref) {
    is_fixed = is_fixed && !depends(ref);
    return is_fixed;
  });
  if (is_fixed) return func;

  const auto fixed_lanes = [&](std::int64_t lanes) {
    return (lanes & scalable_lanes) == 0 ? lanes : (lanes & ~scalable_lanes) * vscale;
  };
  const auto fixed_type = [&](const Object& node, DataType type) {
    const std::int64_t lanes = fixed_lanes(type.lanes);
    require(lanes < scalable_lanes, ErrorKind::type_mismatch, "lanes_fit",
            hint("take a smaller multiple of T.vscale()"), node.span,
            "a vector of {} lanes has {} of them here, more than 32767", to_string(type), lanes);
    return type.with_lanes(static_cast<int>(lanes));
  };
  Rewriter rewrite;
  // Nodes whose type follows from those of their parts are made anew with them.
  rewrite.on<Ramp>([&](const Ramp& node) -> Expr {
    Ramp ramp = *rewrite.children(node);
    ramp.lanes = fixed_type(node, node.dtype).lanes;
    return make(std::move(ramp));
  });
  rewrite.on<Broadcast>([&](const Broadcast& node) -> Expr {
    Broadcast vector = *rewrite.children(node);
    vector.lanes = fixed_lanes(node.lanes);
    fixed_type(node, node.dtype);
    return make(std::move(vector));
  });
  rewrite.on<Mul>([&](const Mul& node) -> Expr {
    const Expr product = rewrite.children(node);
    const auto* made = product.as<Mul>();
    return as_int(made->a) && as_int(made->b) ? made->a * made->b : product;
  });
  rewrite.on<Cast>([&](const Cast& node) -> Expr {
    return make(Cast{.value = rewrite(node.value)}, fixed_type(node, node.dtype));
  });
  rewrite.on<Call>([&](const Call& node) -> Expr {
    if (node.op == op("vscale")) return int_imm(node.dtype, vscale);
    Call call = node;
    call.dtype = fixed_type(node, node.dtype);
    for (Expr& argument : call.args) argument = rewrite(argument);
    return make(std::move(call));
  });
  rewrite.on_definition([&](const Ref& definition) -> Ref {
    const auto* variable = definition.as<Var>();
    if (!variable || !variable->dtype.is_scalable()) return definition;
    return var(variable->name, fixed_type(*variable, variable->dtype));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
