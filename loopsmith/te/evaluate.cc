// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/evaluate.h"

#include <cmath>

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

using RealFunction = double (*)(double);

/// Functions of one real number, by the name of their intrinsic; nullptr when not known.
RealFunction real_function(std::string_view name) {
  struct Row {
    std::string_view name;
    RealFunction function;
  };
  static constexpr Row rows[] = {
      {"exp", std::exp},     {"exp2", std::exp2},   {"expm1", std::expm1}, {"log", std::log},
      {"log2", std::log2},   {"log10", std::log10}, {"log1p", std::log1p}, {"sqrt", std::sqrt},
      {"fabs", std::fabs},   {"floor", std::floor}, {"ceil", std::ceil},   {"round", std::round},
      {"trunc", std::trunc}, {"tanh", std::tanh},   {"sin", std::sin},     {"cos", std::cos},
  };
  for (const Row& row : rows) {
    if (row.name == name) return row.function;
  }
  return nullptr;
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
    const std::string_view name = node.op.name();
    if (name == "if_then_else") return choose(node.args[0], node.args[1], node.args[2]);
    if (node.args.empty() || node.args.size() > 2) return {};
    const Result a = (*this)(node.args[0]);
    if (!a) return {};
    if (name == "likely") return a;
    if (node.args.size() == 1) {
      const RealFunction function = a->is_real ? real_function(name) : nullptr;
      return function ? real(function(a->real)) : Result();
    }
    const Result b = (*this)(node.args[1]);
    if (!b || a->is_real != b->is_real) return {};
    if (a->is_real) return name == "pow" ? real(std::pow(a->real, b->real)) : Result();
    if (name == "bitwise_and") return whole(node.dtype, a->whole & b->whole);
    if (name == "bitwise_or") return whole(node.dtype, a->whole | b->whole);
    if (name == "bitwise_xor") return whole(node.dtype, a->whole ^ b->whole);
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
