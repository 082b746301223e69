// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/solved_sizes.h"

#include <optional>
#include <unordered_set>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

using Known = std::unordered_set<const Object*>;

/// The only variable that is not known; null where there is none, or more than one.
Ptr<Var> unknown_of(const Expr& expr, const Known& known) {
  Ptr<Var> unknown;
  bool is_one = true;
  pre_order_visit(expr, [&](const Ref& ref) {
    if (!ref.is<Var>() || known.contains(ref.get())) return true;
    is_one = is_one && (!unknown.defined() || unknown.same_as(ref));
    unknown = Ptr<Var>::from(ref);
    return true;
  });
  return is_one ? unknown : nullptr;
}

bool mentions(const Expr& expr, const Ptr<Var>& variable) {
  bool found = false;
  pre_order_visit(expr, [&](const Ref& ref) {
    found = found || ref.same_as(variable);
    return !found;
  });
  return found;
}

/// What `variable` is where `expr == value`, if `expr` is linear in it with constant factors.
std::optional<Expr> solved(const Expr& expr, const Ptr<Var>& variable, const Expr& value) {
  if (expr.same_as(variable)) return value;
  const auto part = [&](const Expr& a, const Expr& b, auto&& left, auto&& right) {
    const bool is_left = mentions(a, variable);
    if (is_left && mentions(b, variable)) return std::optional<Expr>();
    return is_left ? left() : right();
  };
  if (const auto* sum = expr.as<Add>()) {
    return part(
        sum->a, sum->b, [&] { return solved(sum->a, variable, value - sum->b); },
        [&] { return solved(sum->b, variable, value - sum->a); });
  }
  if (const auto* difference = expr.as<Sub>()) {
    return part(
        difference->a, difference->b,
        [&] { return solved(difference->a, variable, value + difference->b); },
        [&] { return solved(difference->b, variable, difference->a - value); });
  }
  if (const auto* product = expr.as<Mul>()) {
    const bool is_left = as_int(product->b) != nullptr;
    const std::int64_t* factor = as_int(is_left ? product->b : product->a);
    if (!factor || *factor == 0) return std::nullopt;
    return solved(is_left ? product->a : product->b, variable,
                  floordiv(value, int_imm(value.dtype(), *factor)));
  }
  return std::nullopt;
}

}  // namespace

std::vector<SolvedSize> solved_sizes(const PrimFunc& func) {
  Known known;
  bool has_open_extents = false;
  for (std::size_t i = 0; i < func.params.size(); ++i) {
    const Ptr<Buffer>& buffer = func.buffer_map[i];
    known.insert(func.params[i].get());
    if (!buffer) continue;
    for (const Expr& extent : buffer->shape) {
      if (extent.is<Var>()) known.insert(extent.get());
      has_open_extents |= !extent.is<Var>() && !as_int(extent);
    }
    for (const Expr& stride : buffer->strides) {
      if (stride.is<Var>()) known.insert(stride.get());
    }
    if (buffer->elem_offset.is<Var>()) known.insert(buffer->elem_offset.get());
  }
  std::vector<SolvedSize> sizes;
  // Each round may make variables known that let others be solved.
  for (bool goes_on = has_open_extents; goes_on;) {
    goes_on = false;
    for (std::size_t i = 0; i < func.params.size(); ++i) {
      if (!func.buffer_map[i]) continue;
      const std::vector<Expr>& shape = func.buffer_map[i]->shape;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const Ptr<Var> unknown = unknown_of(shape[d], known);
        if (!unknown.defined() || unknown->dtype != shape[d].dtype()) continue;
        const Ptr<Var> extent = var("extent", shape[d].dtype());
        const std::optional<Expr> value = solved(shape[d], unknown, extent);
        if (!value) continue;
        const Expr size = max(*value, zero_of(unknown->dtype));
        sizes.push_back({unknown, i, d, extent, size});
        known.insert(unknown.get());
        goes_on = true;
      }
    }
  }
  return sizes;
}

}  // namespace loopsmith
