// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/loop_ranges.h"

#include "loopsmith/support/deep_call.h"

namespace loopsmith::interp {
namespace {

using namespace arith;

/// Bounds of expressions; those of named values are found once.
class BoundsFinder {
 public:
  BoundsFinder(const KnownVariables& known, const LoopRanges& ranges)
      : known_(known), ranges_(ranges) {}

  ConstIntBound operator()(const Expr& expr) {
    return deep_call([&] { return find(expr); });
  }

 private:
  ConstIntBound find(const Expr& expr) {
    if (!expr.dtype().is_integer()) return {};
    if (const auto* imm = expr.as<IntImm>()) return point(imm->value);
    if (const auto* var = expr.as<Var>()) return variable(*var);
    if (const auto* n = expr.as<Add>()) return within(expr, add((*this)(n->a), (*this)(n->b)));
    if (const auto* n = expr.as<Sub>()) return within(expr, subtract((*this)(n->a), (*this)(n->b)));
    if (const auto* n = expr.as<Mul>()) return within(expr, multiply((*this)(n->a), (*this)(n->b)));
    if (const auto* n = expr.as<FloorDiv>()) return floor_divide((*this)(n->a), (*this)(n->b));
    if (const auto* n = expr.as<FloorMod>()) return floor_modulo((*this)(n->a), (*this)(n->b));
    if (const auto* n = expr.as<Div>()) return trunc_divide((*this)(n->a), (*this)(n->b));
    if (const auto* n = expr.as<Mod>()) return trunc_modulo((*this)(n->a), (*this)(n->b));
    if (const auto* n = expr.as<Min>()) return minimum((*this)(n->a), (*this)(n->b));
    if (const auto* n = expr.as<Max>()) return maximum((*this)(n->a), (*this)(n->b));
    if (const auto* n = expr.as<Broadcast>()) return (*this)(n->value);
    if (const auto* n = expr.as<Cast>()) return within(expr, (*this)(n->value));
    if (const auto* n = expr.as<Select>()) {
      return unite((*this)(n->true_value), (*this)(n->false_value));
    }
    if (const auto* n = expr.as<Ramp>()) {
      const ConstIntBound lanes{0, expr.dtype().lanes - 1};
      return within(expr, add((*this)(n->base), multiply((*this)(n->stride), lanes)));
    }
    if (const auto* n = expr.as<Call>()) {
      if (n->op == op("likely")) return (*this)(n->args[0]);
      if (n->op == op("if_then_else")) return unite((*this)(n->args[1]), (*this)(n->args[2]));
    }
    return all_of(expr.dtype().element());
  }

  ConstIntBound variable(const Var& var) {
    if (const auto loop = known_.loops.find(&var); loop != known_.loops.end()) {
      return ranges_[loop->second];
    }
    const auto value = known_.values.find(&var);
    if (value == known_.values.end()) return all_of(var.dtype);
    const auto done = done_.find(&var);
    if (done != done_.end()) return done->second;
    return done_.emplace(&var, (*this)(value->second)).first->second;
  }

  /// A result that may have wrapped can be anything of its type.
  static ConstIntBound within(const Expr& expr, const ConstIntBound& bound) {
    const ConstIntBound all = all_of(expr.dtype().element());
    const bool fits = bound.min_value >= all.min_value && bound.max_value <= all.max_value;
    return fits ? bound : all;
  }

  const KnownVariables& known_;
  const LoopRanges& ranges_;
  std::unordered_map<const Object*, ConstIntBound> done_;
};

/// The integers x for which factor * x lies in `wanted`; `factor` is not 0.
ConstIntBound divided(ConstIntBound wanted, std::int64_t factor) {
  if (factor < 0) {
    wanted = subtract(point(0), wanted);
    factor = -factor;
  }
  // Rounded up below, down above.
  const ConstIntBound low = floor_divide(add(wanted, point(factor - 1)), point(factor));
  return {low.min_value, floor_divide(wanted, point(factor)).max_value};
}

class Narrower {
 public:
  Narrower(const KnownVariables& known, LoopRanges& ranges) : known_(known), ranges_(ranges) {}

  bool operator()(const Expr& expr, const ConstIntBound& wanted) {
    return deep_call([&] { return solve(expr, wanted); });
  }

 private:
  ConstIntBound bounds(const Expr& expr) { return bounds_of(expr, known_, ranges_); }

  bool solve(const Expr& expr, const ConstIntBound& asked) {
    const ConstIntBound wanted = intersect(asked, bounds(expr));
    if (wanted.is_empty()) return false;
    if (const auto* var = expr.as<Var>()) return variable(*var, wanted);
    if (const auto* n = expr.as<Add>()) {
      return (*this)(n->a, subtract(wanted, bounds(n->b))) &&
             (*this)(n->b, subtract(wanted, bounds(n->a)));
    }
    if (const auto* n = expr.as<Sub>()) {
      return (*this)(n->a, add(wanted, bounds(n->b))) &&
             (*this)(n->b, subtract(bounds(n->a), wanted));
    }
    if (const auto* n = expr.as<Mul>()) {
      const std::int64_t *a = as_int(n->a), *b = as_int(n->b);
      if (b && *b != 0) return (*this)(n->a, divided(wanted, *b));
      if (a && *a != 0) return (*this)(n->b, divided(wanted, *a));
      return true;
    }
    if (const auto* n = expr.as<FloorDiv>()) return quotient(n->a, n->b, wanted);
    if (const auto* n = expr.as<FloorMod>()) return remainder(n->a, n->b, wanted);
    if (const auto* n = expr.as<Div>()) {
      return !bounds(n->a).is_non_negative() || quotient(n->a, n->b, wanted);
    }
    if (const auto* n = expr.as<Mod>()) {
      return !bounds(n->a).is_non_negative() || remainder(n->a, n->b, wanted);
    }
    const auto* cast = expr.as<Cast>();
    if (cast && cast->value.dtype().is_integer()) {
      const ConstIntBound all = all_of(expr.dtype()), value = bounds(cast->value);
      const bool fits = value.min_value >= all.min_value && value.max_value <= all.max_value;
      return !fits || (*this)(cast->value, wanted);
    }
    return true;
  }

  bool variable(const Var& var, const ConstIntBound& wanted) {
    if (const auto loop = known_.loops.find(&var); loop != known_.loops.end()) {
      ConstIntBound& range = ranges_[loop->second];
      range = intersect(range, wanted);
      return !range.is_empty();
    }
    const auto value = known_.values.find(&var);
    return value == known_.values.end() || (*this)(value->second, wanted);
  }

  bool quotient(const Expr& value, const Expr& divisor, const ConstIntBound& wanted) {
    const std::int64_t* by = as_int(divisor);
    if (!by || *by <= 0) return true;
    return (*this)(value, add(multiply(wanted, point(*by)), {0, *by - 1}));
  }

  bool remainder(const Expr& value, const Expr& divisor, const ConstIntBound& wanted) {
    const std::int64_t* by = as_int(divisor);
    if (!by || *by <= 0) return true;
    const ConstIntBound period = floor_divide(bounds(value), point(*by));
    if (!period.is_point()) return true;
    return (*this)(value, add(wanted, multiply(period, point(*by))));
  }

  const KnownVariables& known_;
  LoopRanges& ranges_;
};

}  // namespace

ConstIntBound bounds_of(const Expr& expr, const KnownVariables& known, const LoopRanges& ranges) {
  return BoundsFinder(known, ranges)(expr);
}

bool narrow(const Expr& expr, const ConstIntBound& wanted, const KnownVariables& known,
            LoopRanges& ranges) {
  return Narrower(known, ranges)(expr, wanted);
}

}  // namespace loopsmith::interp
