// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/costs.h"

#include <algorithm>
#include <optional>

#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

bool is_arithmetic(const Ref& ref) {
  return ref.is<Add>() || ref.is<Sub>() || ref.is<Mul>() || ref.is<Div>() || ref.is<Min>() ||
         ref.is<Max>();
}

/// The operations of an expression, which is computed once.
double operations_in(const Expr& expr) {
  double count = 0;
  pre_order_visit(expr, [&](const Ref& ref) {
    const Expr each = Expr::from(ref);
    if (!each.defined()) return true;
    const DataType type = each.dtype();
    const auto* call = ref.as<Call>();
    const bool is_function = call && call->op != op("if_then_else") && !call->args.empty();
    if (type.is_float() && (is_arithmetic(ref) || is_function)) count += type.lanes;
    return !ref.is<BufferLoad>();
  });
  return count;
}

std::optional<double> operations_of(const Stmt& stmt);

/// The most that one of several statements does.
std::optional<double> max_of(const Stmt& first, const Stmt& second) {
  const auto a = operations_of(first);
  const auto b = operations_of(second);
  if (!a || !b) return {};
  return std::max(*a, *b);
}

/// Nothing where a loop around an operation has no constant extent.
std::optional<double> operations_of(const Stmt& stmt) {
  if (!stmt.defined()) return 0;
  if (const auto* store = stmt.as<BufferStore>()) return operations_in(store->value);
  if (const auto* evaluated = stmt.as<Evaluate>()) return operations_in(evaluated->value);
  if (const auto* branch = stmt.as<IfThenElse>()) {
    return max_of(branch->then_case, branch->else_case);
  }
  if (const auto* realize = stmt.as<BlockRealize>()) return operations_of(realize->block->body);
  if (const auto* loop = stmt.as<For>()) {
    const auto inside = operations_of(loop->body);
    const std::int64_t* extent = as_int(loop->extent);
    if (inside == 0.0) return 0;
    if (!inside || !extent) return {};
    return *inside * static_cast<double>(std::max<std::int64_t>(*extent, 0));
  }
  std::optional<double> sum = 0;
  for_each_child(*stmt.get(), [&](const Ref& child, Role) {
    if (!is_stmt(*child.get())) return;
    const auto inside = operations_of(Stmt::from(child));
    if (stmt.is<While>() && inside != 0.0) sum.reset();
    sum = sum && inside ? std::optional(*sum + *inside) : std::nullopt;
  });
  return sum;
}

}  // namespace

double flops_of(const PrimFunc& func) {
  return operations_of(func.body).value_or(0);
}

double bytes_of(const PrimFunc& func) {
  double bytes = 0;
  for (const Ptr<Buffer>& buffer : func.buffer_map) {
    if (!buffer) continue;
    double size = buffer->dtype.bytes();
    for (const Expr& extent : buffer->shape) {
      const std::int64_t* constant = as_int(extent);
      size *= constant ? static_cast<double>(*constant) : 0;
    }
    bytes += size;
  }
  return bytes;
}

}  // namespace loopsmith
