// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/evaluate.h"

#include <cmath>

#include "loopsmith/ir/math_functions.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith::te {
namespace {

using Result = std::optional<Number>;

Number real(double value) {
  return {.is_real = true, .real = value};
}

/// The number of an integer type, reduced as the type wraps.
Number whole(DataType type, __int128 value) {
  return {.whole = wrap_to(type, static_cast<std::int64_t>(value))};
}

__int128 floor_quotient(__int128 a, __int128 b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

class Evaluator {
 public:
  explicit Evaluator(const Numbers& variables) : variables_(variables) {}

  Result operator()(const Expr& expr) {
    const bool is_shared = !expr.get()->is_unique();
    if (is_shared) {
      if (const auto found = known_.find(expr.get()); found != known_.end()) return found->second;
    }
    const Result result = deep_call([&] { return value(expr); });
    if (is_shared) known_.emplace(expr.get(), result);
    return result;
  }

 private:
  Result value(const Expr& expr) {
    if (!expr.dtype().is_scalar()) return {};
    if (const auto* node = expr.as<IntImm>()) return Number{.whole = node->value};
    if (const auto* node = expr.as<FloatImm>()) return real(node->value);
    if (expr.is<Var>()) {
      const auto found = variables_.find(expr.get());
      return found == variables_.end() ? Result() : found->second;
    }
    if (const auto* node = expr.as<Cast>()) return cast_to(node->dtype, (*this)(node->value));
    if (const auto* node = expr.as<Not>()) {
      const Result a = (*this)(node->a);
      return a ? Number{.whole = a->whole == 0} : Result();
    }
    if (const auto* node = expr.as<Select>()) {
      return choose(node->condition, node->true_value, node->false_value);
    }
    if (const auto* node = expr.as<Let>()) {
      const Result bound = (*this)(node->value);
      if (!bound) return {};
      variables_[node->var.get()] = *bound;
      return (*this)(node->body);
    }
    if (const auto* node = expr.as<Call>()) return called(*node);
    return arithmetic(expr);
  }

  Result choose(const Expr& condition, const Expr& yes, const Expr& no) {
    const Result chosen = (*this)(condition);
    if (!chosen) return {};
    return (*this)(chosen->whole != 0 ? yes : no);
  }

  static Result cast_to(DataType type, const Result& a) {
    if (!a) return {};
    if (type.is_float()) return a->is_real ? a : real(static_cast<double>(a->whole));
    if (!a->is_real) return type.is_bool() ? Number{.whole = a->whole != 0} : whole(type, a->whole);
    if (!(std::abs(a->real) < 1e18)) return {};
    return whole(type, static_cast<std::int64_t>(a->real));
  }

  Result called(const Call& node) {
    if (node.op == op("if_then_else")) return choose(node.args[0], node.args[1], node.args[2]);
    if (node.args.empty() || node.args.size() > 2) return {};
    const Result a = (*this)(node.args[0]);
    if (!a) return {};
    if (identity_of(node.op) != Identity::none) return a;
    const MathFunction* function = a->is_real ? find_math_function(node.op) : nullptr;
    if (node.args.size() == 1) {
      return function && function->of_one ? real(function->of_one(a->real)) : Result();
    }
    const Result b = (*this)(node.args[1]);
    if (!b || a->is_real != b->is_real) return {};
    if (a->is_real) {
      return function && function->of_two ? real(function->of_two(a->real, b->real)) : Result();
    }
    if (node.op == op("bitwise_and")) return whole(node.dtype, a->whole & b->whole);
    if (node.op == op("bitwise_or")) return whole(node.dtype, a->whole | b->whole);
    if (node.op == op("bitwise_xor")) return whole(node.dtype, a->whole ^ b->whole);
    return {};
  }

  /// `combine(a, b)` of the operands, when `expr` is a T.
  template <class T, class Combine>
  bool apply(const Expr& expr, Result& result, Combine combine) {
    const auto* node = expr.as<T>();
    if (!node) return false;
    const Result a = (*this)(node->a);
    const Result b = (*this)(node->b);
    if (!a || !b) return true;
    if (a->is_real) {
      result = number(node->dtype, combine(a->real, b->real));
    } else {
      result = number(node->dtype, combine(__int128{a->whole}, __int128{b->whole}));
    }
    return true;
  }

  static Number number(DataType type, auto value) {
    return type.is_float() ? real(static_cast<double>(value))
                           : whole(type, static_cast<__int128>(value));
  }

  /// The operators of two operands `a` and `b`.
  Result arithmetic(const Expr& expr) {
    Result result;
    const bool known = apply<Add>(expr, result, [](auto a, auto b) { return a + b; }) ||
                       apply<Sub>(expr, result, [](auto a, auto b) { return a - b; }) ||
                       apply<Mul>(expr, result, [](auto a, auto b) { return a * b; }) ||
                       apply<Min>(expr, result, [](auto a, auto b) { return b < a ? b : a; }) ||
                       apply<Max>(expr, result, [](auto a, auto b) { return a < b ? b : a; }) ||
                       apply<EQ>(expr, result, [](auto a, auto b) { return a == b; }) ||
                       apply<NE>(expr, result, [](auto a, auto b) { return a != b; }) ||
                       apply<LT>(expr, result, [](auto a, auto b) { return a < b; }) ||
                       apply<LE>(expr, result, [](auto a, auto b) { return a <= b; }) ||
                       apply<GT>(expr, result, [](auto a, auto b) { return a > b; }) ||
                       apply<GE>(expr, result, [](auto a, auto b) { return a >= b; }) ||
                       apply<And>(expr, result, [](auto a, auto b) { return a != 0 && b != 0; }) ||
                       apply<Or>(expr, result, [](auto a, auto b) { return a != 0 || b != 0; });
    return known ? result : division(expr);
  }

  /// Division and remainders, by a number other than 0.
  template <class T, class Divide>
  bool divide(const Expr& expr, Result& result, Divide divide) {
    const auto* node = expr.as<T>();
    if (!node) return false;
    const Result a = (*this)(node->a);
    const Result b = (*this)(node->b);
    if (!a || !b) return true;
    if (a->is_real) {
      if (b->real != 0) result = real(a->real / b->real);
    } else if (b->whole != 0) {
      result = whole(node->dtype, divide(__int128{a->whole}, __int128{b->whole}));
    }
    return true;
  }

  Result division(const Expr& expr) {
    Result result;
    (void)(divide<Div>(expr, result, [](__int128 a, __int128 b) { return a / b; }) ||
           divide<Mod>(expr, result, [](__int128 a, __int128 b) { return a % b; }) ||
           divide<FloorDiv>(expr, result, floor_quotient) ||
           divide<FloorMod>(expr, result,
                            [](__int128 a, __int128 b) { return a - floor_quotient(a, b) * b; }));
    return result;
  }

  Numbers variables_;
  std::unordered_map<const Object*, Result> known_;  ///< Of nodes that occur more than once.
};

}  // namespace

std::optional<Number> evaluate(const Expr& expr, const Numbers& variables) {
  return Evaluator(variables)(expr);
}

}  // namespace loopsmith::te
