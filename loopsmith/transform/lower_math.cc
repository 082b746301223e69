// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/lower_math.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/math/functions.h"
#include "loopsmith/transform/math/math_builder.h"

namespace loopsmith {
namespace {

using Unary = Expr (*)(const Expr&);
using Binary = Expr (*)(const Expr&, const Expr&);

/// What a function becomes.
struct Expansion {
  Op op;
  Unary unary = nullptr;
  Binary binary = nullptr;
  Unary fast = nullptr;        ///< Where that is enough; null: as without.
  bool needs_no_fast = false;  ///< Where `ldexp` is an instruction: it takes no longer.
  bool widens = true;          ///< Types narrower than float32 are computed in float32.
};

constexpr Expansion expansions[] = {
    {.op = op("exp"), .unary = math::lower_exp, .fast = math::fast_exp, .needs_no_fast = true},
    {.op = op("exp2"), .unary = math::lower_exp2},
    {.op = op("exp10"), .unary = math::lower_exp10},
    {.op = op("expm1"), .unary = math::lower_expm1},
    {.op = op("sigmoid"), .unary = math::lower_sigmoid, .fast = math::fast_sigmoid},
    {.op = op("log"), .unary = math::lower_log, .fast = math::fast_log},
    {.op = op("log2"), .unary = math::lower_log2},
    {.op = op("log10"), .unary = math::lower_log10},
    {.op = op("log1p"), .unary = math::lower_log1p},
    {.op = op("sinh"), .unary = math::lower_sinh},
    {.op = op("cosh"), .unary = math::lower_cosh},
    {.op = op("tanh"), .unary = math::lower_tanh, .fast = math::fast_tanh},
    {.op = op("asinh"), .unary = math::lower_asinh},
    {.op = op("acosh"), .unary = math::lower_acosh},
    {.op = op("atanh"), .unary = math::lower_atanh},
    {.op = op("sin"), .unary = math::lower_sin, .fast = math::fast_sin},
    {.op = op("cos"), .unary = math::lower_cos, .fast = math::fast_cos},
    {.op = op("tan"), .unary = math::lower_tan},
    {.op = op("asin"), .unary = math::lower_asin},
    {.op = op("acos"), .unary = math::lower_acos},
    {.op = op("atan"), .unary = math::lower_atan},
    {.op = op("atan2"), .binary = math::lower_atan2},
    {.op = op("erf"), .unary = math::lower_erf},
    {.op = op("pow"), .binary = math::lower_pow},
    {.op = op("rsqrt"), .unary = math::lower_rsqrt},
    {.op = op("hypot"), .binary = math::lower_hypot},
    {.op = op("fmod"), .binary = math::lower_fmod},
    {.op = op("ldexp"), .binary = math::lower_ldexp},
    // The next float16 is not the next float32, rounded.
    {.op = op("nextafter"), .binary = math::lower_nextafter, .widens = false},
};

const Expansion* find_expansion(Op op) {
  for (const Expansion& expansion : expansions) {
    if (expansion.op == op) return &expansion;
  }
  return nullptr;
}

bool is_cheap_operand(const Expr& e) {
  return e.is<Var>() || as_float(e) || as_int(e);
}

/// With products in the place of calls of `ldexp`.
Expr without_ldexp(const Expr& expr) {
  Rewriter rewrite;
  rewrite.on<Call>([&](const Call& node) -> Expr {
    const Ptr<Call> call = rewrite.children(node);
    if (call->op != op("ldexp")) return call;
    return math::scale_in_halves(call->args[0], call->args[1]);
  });
  return rewrite(expr);
}

/// The call's expansion, its arguments each bound to a variable.
Expr expand(const Expansion& expansion, const Call& call, const MathOptions& options) {
  const SpanScope scope(call.span);
  std::vector<std::pair<Ptr<Var>, Expr>> bindings;
  const auto argument = [&](std::size_t i) -> Expr {
    Expr value = call.args[i];
    const DataType type = value.dtype();
    const bool narrow = type.is_float() && type.bits < 32;
    if (narrow && expansion.widens) value = cast(f32.with_lanes(type.lanes), value);
    if (is_cheap_operand(value)) return value;
    bindings.emplace_back(var(i == 0 ? "x" : "y", value.dtype()), value);
    return bindings.back().first;
  };

  Expr result;
  if (expansion.binary) {
    const Expr first = argument(0);
    result = expansion.binary(first, argument(1));
  } else {
    const bool is_fast = options.is_fast && !(options.has_ldexp && expansion.needs_no_fast);
    const Unary chosen = is_fast && expansion.fast ? expansion.fast : expansion.unary;
    result = chosen(argument(0));
  }
  if (!options.has_ldexp) result = without_ldexp(result);
  const Expr bound = math::bind_shared(result);
  result = cast(call.dtype, loopsmith::call(op("precise"), {bound}));
  while (!bindings.empty()) {
    auto& [variable, value] = bindings.back();
    result = make(Let{.value = value, .var = variable, .body = result});
    bindings.pop_back();
  }
  return result;
}

/// Applies the one rule of this pass, to a function or an expression, as `run` says.
template <class Run>
auto rewrite_calls(const MathOptions& options, Run run) {
  Rewriter rewrite;
  rewrite.on<Call>([&](const Call& node) -> Expr {
    const Ptr<Call> call = rewrite.children(node);
    const Expansion* expansion = find_expansion(call->op);
    if (!expansion) return call;
    return expand(*expansion, *call, options);
  });
  // A call that two statements share is expanded in each, and in each place of a statement: an
  // expansion defines variables.
  rewrite.enter_statements_anew();
  rewrite.on<BufferStore>([&](const BufferStore& store) -> Stmt {
    rewrite.forget();
    return rewrite.children(store);
  });
  rewrite.on<LetStmt>([&](const LetStmt& let) -> Stmt {
    rewrite.forget();
    return rewrite.children(let);
  });
  return run(rewrite);
}

}  // namespace

Ptr<PrimFunc> lower_math(const Ptr<PrimFunc>& func, const MathOptions& options) {
  return rewrite_calls(options, [&](Rewriter& rewrite) { return rewrite.body_of(func); });
}

Expr lower_math(const Expr& expr, const MathOptions& options) {
  return rewrite_calls(options, [&](Rewriter& rewrite) { return rewrite(expr); });
}

}  // namespace loopsmith
