// SPDX-License-Identifier: Apache-2.0
// Indices: of 64 bits on a CPU, of 32 on a GPU where no part of them leaves these.
#include "loopsmith/codegen/source/c_operators.h"
#include "loopsmith/codegen/source/c_types.h"
#include "loopsmith/codegen/source/c_writer.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::detail {

CText CWriter::index(const Expr& expr, const CLane& lane) {
  if (module_.dialect.is_device && expr.dtype().is_scalar()) {
    if (const auto narrow = narrow_index(expr)) return *narrow;
  }
  return wide_index(expr, lane);
}

/// An integer of which no part leaves 32 bits; nullopt where that is not known.
std::optional<CText> CWriter::narrow_index(const Expr& expr) {
  const auto found = variables_.find(expr.get());
  if (found != variables_.end() && expr.dtype().is_index()) {
    const CVariable& known = found->second;
    if (!fits_int32(known.bound)) return {};
    if (!known.is_wide) return CText{.text = known.name, .bound = known.bound};
    return CText{.text = "(int32_t)" + known.name, .level = CLevel::unary, .bound = known.bound};
  }
  if (const std::int64_t* constant = as_int(expr)) {
    if (!fits_int32(arith::point(*constant))) return {};
    return CText{.text = c_constant(i32, *constant),
                 .level = *constant < 0 ? CLevel::unary : CLevel::atom,
                 .bound = arith::point(*constant)};
  }
  const auto combine = [&](const auto& node) -> std::optional<CText> {
    const auto a = deep_call([&] { return narrow_index(node.a); });
    const auto b = a ? deep_call([&] { return narrow_index(node.b); }) : std::nullopt;
    if (!b) return {};
    const COperator& row = c_operator_of(expr);
    const ConstIntBound bound = row.bound(a->bound, b->bound);
    if (!fits_int32(bound)) return {};
    CText text = c_infix(*a, row.sign, *b, row.level);
    text.bound = bound;
    return text;
  };
  const auto divide = [&](const auto& node) -> std::optional<CText> {
    const std::int64_t* divisor = as_int(node.b);
    if (!divisor || *divisor <= 0) return {};
    const auto text = combine(node);
    const auto dividend = text ? narrow_index(node.a) : std::nullopt;
    return dividend && dividend->bound.is_non_negative() ? text : std::nullopt;
  };
  if (!expr.dtype().is_index()) return {};
  if (const auto* node = expr.as<Add>()) return combine(*node);
  if (const auto* node = expr.as<Sub>()) return combine(*node);
  if (const auto* node = expr.as<Mul>()) return combine(*node);
  if (const auto* node = expr.as<FloorDiv>()) return divide(*node);
  if (const auto* node = expr.as<FloorMod>()) return divide(*node);
  if (const auto* node = expr.as<Div>()) return divide(*node);
  if (const auto* node = expr.as<Mod>()) return divide(*node);
  const auto* cast = expr.as<Cast>();
  return cast && cast->value.dtype().is_index() ? narrow_index(cast->value) : std::nullopt;
}

CText CWriter::wide_index(const Expr& expr, const CLane& lane) {
  const CLane own = expr.dtype().is_scalar() ? CLane{} : lane;
  const auto combine = [&](const auto& node) {
    const CText a = deep_call([&] { return wide_index(node.a, own); });
    const CText b = deep_call([&] { return wide_index(node.b, own); });
    const COperator& row = c_operator_of(expr);
    CText text = c_infix(a, row.sign, b, row.level);
    // Sums of indices need no order.
    if (expr.is<Add>()) text.text = fmt::format("{} + {}", a.in(CLevel::sum), b.in(CLevel::sum));
    text.bound = row.bound(a.bound, b.bound);
    return text;
  };
  if (const auto* broadcast = expr.as<Broadcast>()) return wide_index(broadcast->value);
  if (expr.is<IntImm>()) return value(expr);
  if (expr.dtype().element().is_index()) {
    if (!known_.contains({expr.get(), own.text})) {
      if (const auto* node = expr.as<Ramp>()) return ramp(*node, own, /*is_index=*/true);
      if (const auto* node = expr.as<Add>()) return combine(*node);
      if (const auto* node = expr.as<Sub>()) return combine(*node);
      if (const auto* node = expr.as<Mul>()) return combine(*node);
    }
    if (const auto* var = expr.as<Var>()) {
      const auto found = variables_.find(var);
      if (found != variables_.end() && found->second.is_wide) {
        return {.text = found->second.name, .bound = found->second.bound, .is_wide = true};
      }
    }
    const auto* cast = expr.as<Cast>();
    if (cast && cast->value.dtype().is_index() && cast->value.dtype().bits <= expr.dtype().bits) {
      return wide_index(cast->value, own);
    }
  }
  CText text = value(expr, own);
  if (text.is_wide) return text;
  return {.text = "(int64_t)" + text.in(CLevel::unary),
          .level = CLevel::unary,
          .bound = text.bound,
          .is_wide = true,
          .depth = text.depth + 1};
}

}  // namespace loopsmith::detail
