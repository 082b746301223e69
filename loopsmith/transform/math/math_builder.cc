// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/math/math_builder.h"

#include <fmt/format.h>

#include <unordered_map>
#include <vector>

#include "loopsmith/ir/walk.h"

namespace loopsmith::math {
namespace {

constexpr Format float_format{.mantissa_bits = 23,
                              .bias = 127,
                              .smallest_normal = 0x1p-126,
                              .to_normal = 0x1p25,
                              .to_normal_exponent = 25,
                              .integer_anchor = 0x1.8p23,
                              .anchor_bits = 0x4b400000,
                              .one_bits = 0x3f800000,
                              .sqrt_half_bits = 0x3f3504f3};

constexpr Format double_format{.mantissa_bits = 52,
                               .bias = 1023,
                               .smallest_normal = 0x1p-1022,
                               .to_normal = 0x1p54,
                               .to_normal_exponent = 54,
                               .integer_anchor = 0x1.8p52,
                               .anchor_bits = 0x4338000000000000,
                               .one_bits = 0x3ff0000000000000,
                               .sqrt_half_bits = 0x3fe6a09e667f3bcd};

DataType as_code(DataType type, TypeCode code) {
  type.code = code;
  return type;
}

bool is_constant(const Expr& e) {
  return as_int(e) || as_float(e);
}

}  // namespace

Expr constant(DataType type, double value) {
  return const_of(type, type.is_float() ? round_to(type.element(), value) : value);
}

Expr constant(DataType type, std::uint64_t value) {
  const DataType element = type.element();
  const auto bits = static_cast<std::int64_t>(value);
  return broadcast(int_imm(element, wrap_to(element, bits)), type.lanes);
}

Expr sqrt(const Expr& x) {
  return call(op("sqrt"), {x});
}
Expr fabs(const Expr& x) {
  return call(op("fabs"), {x});
}
Expr trunc(const Expr& x) {
  return call(op("trunc"), {x});
}
Expr nearbyint(const Expr& x) {
  return call(op("nearbyint"), {x});
}
Expr copysign(const Expr& x, const Expr& sign) {
  return call(op("copysign"), {x, sign});
}

const Format& format_of(const Expr& x) {
  return is_double(x) ? double_format : float_format;
}

Expr bits_of(const Expr& x) {
  return reinterpret(as_code(x.dtype(), TypeCode::uint), x);
}
Expr from_bits(const Expr& bits) {
  return reinterpret(as_code(bits.dtype(), TypeCode::float_), bits);
}

Expr sign_bit(const Expr& x) {
  return bits_of(x) & (std::uint64_t{1} << (x.dtype().bits - 1));
}
Expr flip_sign(const Expr& x, const Expr& sign) {
  return from_bits(bits_of(x) ^ sign);
}

Expr to_float(const Expr& whole) {
  const Format& format = format_of(whole);
  return from_bits(whole + format.anchor_bits) - format.integer_anchor;
}

Expr power_of_two(const Expr& k) {
  const Format& format = format_of(k);
  return from_bits((k + format.bias) << format.mantissa_bits);
}

Expr scale(const Expr& y, const Expr& k) {
  const DataType type = k.dtype();
  return call(op("ldexp"),
              {y, reinterpret((type.bits == 32 ? i32 : i64).with_lanes(type.lanes), k)});
}

Expr scale_in_halves(const Expr& y, const Expr& k) {
  // Two factors, for 2^k itself may overflow or be subnormal; both exponents are kept with the
  // bias, so that halving needs no sign.
  const Format& format = format_of(y);
  const DataType type = k.dtype();
  const Expr bits = reinterpret((type.bits == 32 ? u32 : u64).with_lanes(type.lanes), k);
  const Expr sum = bits + 2 * format.bias;
  const Expr half = sum >> 1;
  return y * from_bits(half << format.mantissa_bits) *
         from_bits((sum - half) << format.mantissa_bits);
}

Rounded round_product(const Expr& x, double factor) {
  const Format& format = format_of(x);
  const Expr anchored = fma(x, factor, format.integer_anchor);
  return {anchored - format.integer_anchor, bits_of(anchored) - format.anchor_bits};
}

Expr clamp(const Expr& x, double low, double high) {
  const Expr below = select(x > high, high, x);
  return select(below < low, low, below);
}

Expr polynomial(const Expr& x, std::span<const double> coefficients) {
  Expr result = constant(x.dtype(), coefficients.back());
  for (std::size_t i = coefficients.size() - 1; i-- > 0;) result = fma(result, x, coefficients[i]);
  return result;
}

Expr polynomial(const Expr& x, std::span<const double> in_float,
                std::span<const double> in_double) {
  return polynomial(x, is_double(x) ? in_double : in_float);
}

namespace {

/// Gives nodes that occur several times a variable.
class Binder {
 public:
  explicit Binder(const Expr& root) : root_(root) {
    post_order_visit(root, [&](const Ref& node) {
      for_each_child(*node.get(), [&](const Ref& child, Role) { ++uses_[child]; });
    });
    // What expansions are made of; other nodes (the arguments) stay whole.
    rule<Add, Sub, Mul, Div, LT, LE, GT, GE, EQ, NE, And, Or, Not, Select, Cast, Call>();
  }

  Expr run() {
    Expr result = rewrite_(root_);
    while (!bindings_.empty()) {
      auto& [variable, value] = bindings_.back();
      result = make(Let{.value = value, .var = variable, .body = result});
      bindings_.pop_back();
    }
    return result;
  }

 private:
  template <class... T>
  void rule() {
    (rewrite_.on<T>([this](const T& node) -> Expr { return bind(node, rewrite_.children(node)); }),
     ...);
  }

  Expr bind(const Object& node, const Expr& rebuilt) {
    const auto uses = uses_.find(Ref(&node));
    if (uses == uses_.end() || uses->second < 2 || is_constant(rebuilt)) return rebuilt;
    bindings_.emplace_back(var(fmt::format("t{}", bindings_.size()), rebuilt.dtype()), rebuilt);
    return bindings_.back().first;
  }

  Expr root_;
  Rewriter rewrite_;
  std::unordered_map<Ref, int, RefHash, RefEqual> uses_;
  std::vector<std::pair<Ptr<Var>, Expr>> bindings_;
};

}  // namespace

Expr bind_shared(const Expr& root) {
  return Binder(root).run();
}

}  // namespace loopsmith::math
