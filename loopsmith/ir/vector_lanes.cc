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

void refuse_scalable_vectors(const Ptr<PrimFunc>& func, ErrorKind kind) {
  pre_order_visit(func->body, [&](const Ref& ref) {
    const Expr expr = Expr::from(ref);
    require(!expr.defined() || !expr.dtype().is_scalable(), kind, "lanes_are_constant",
            hint("write the number of lanes as a constant"),
            expr.defined() ? expr.get()->span : Span{}, "{}: a vector of {} lanes is not run here",
            func->name(), expr.defined() ? to_string(expr.dtype()) : std::string());
    return true;
  });
}

}  // namespace loopsmith
