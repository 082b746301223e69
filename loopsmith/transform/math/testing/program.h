// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::testing {

/// An expression made ready to be evaluated many times. Vectors are taken lane by lane: it computes
/// one lane. Each operation is rounded to its own type, as compiled code does.
class ScalarProgram {
 public:
  /// `inputs` are the variables that `run` gives values to.
  ScalarProgram(const Expr& root, const std::vector<Expr>& inputs) {
    for (const Expr& input : inputs) registers_[input] = new_register();
    result_ = compile(root);
    type_ = root.dtype().element();
  }

  /// The value for these inputs; integers and bools too are given and returned as numbers.
  double run(const std::vector<double>& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) values_[i] = encode(input_type(i), inputs[i]);
    for (const Step& step : steps_) values_[step.to] = evaluate(step);
    return decode(type_, values_[result_]);
  }
  /// How many operations it takes.
  std::size_t size() const { return steps_.size(); }

 private:
  struct Step {
    std::uint16_t kind = 0;
    std::string_view call;
    DataType type, from;
    std::size_t to = 0, a = 0, b = 0, c = 0;
  };

  std::size_t new_register() {
    values_.push_back(0);
    return values_.size() - 1;
  }
  DataType input_type(std::size_t i) const {
    for (const auto& [input, place] : registers_) {
      if (place == i) return Expr::from(input).dtype().element();
    }
    throw std::logic_error("no such input");
  }

  static std::uint64_t encode(DataType type, double value) {
    if (type == f64) return std::bit_cast<std::uint64_t>(value);
    if (type == f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    if (type.is_float()) return std::bit_cast<std::uint64_t>(round_to(type, value));
    return static_cast<std::uint64_t>(wrap_to(type, static_cast<std::int64_t>(value)));
  }
  static double decode(DataType type, std::uint64_t bits) {
    if (type == f32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (type.is_float()) return std::bit_cast<double>(bits);
    return type == u64 ? static_cast<double>(bits) : static_cast<double>(std::int64_t(bits));
  }

  std::size_t compile(const Expr& e) {
    if (const auto found = registers_.find(e); found != registers_.end()) return found->second;
    const std::size_t place = compile_new(e);
    registers_[e] = place;
    return place;
  }

  std::size_t compile_new(const Expr& e) {
    const DataType type = e.dtype().element();
    if (const auto* n = e.as<Broadcast>()) return compile(n->value);
    if (const auto* n = e.as<Let>()) {
      registers_[n->var] = compile(n->value);
      return compile(n->body);
    }
    if (const std::int64_t* value = as_int(e)) return constant(static_cast<std::uint64_t>(*value));
    if (const double* value = as_float(e)) return constant(encode(type, *value));

    Step step{.kind = e.get()->kind, .type = type};
    std::vector<std::size_t> operands;
    for_each_child(*e.get(), [&](const Ref& child, Role) {
      if (operands.empty()) step.from = Expr::from(child).dtype().element();
      operands.push_back(compile(Expr::from(child)));
    });
    if (const auto* n = e.as<Call>()) step.call = n->op.name();
    step.a = operands.at(0);
    if (operands.size() > 1) step.b = operands[1];
    if (operands.size() > 2) step.c = operands[2];
    step.to = new_register();
    steps_.push_back(step);
    return step.to;
  }

  std::size_t constant(std::uint64_t bits) {
    values_.push_back(bits);
    return values_.size() - 1;
  }

  std::uint64_t evaluate(const Step& s) const {
    const std::uint64_t a = values_[s.a], b = values_[s.b], c = values_[s.c];
    if (s.kind == kind_of<Select>) return a ? b : c;
    if (s.kind == kind_of<And>) return a & b;
    if (s.kind == kind_of<Or>) return a | b;
    if (s.kind == kind_of<Not>) return !a;
    if (s.call == "reinterpret" || s.call == "precise") return a;
    if (s.kind == kind_of<Cast> && s.from.is_integer() && s.type.is_integer()) {
      return static_cast<std::uint64_t>(wrap_to(s.type, static_cast<std::int64_t>(a)));
    }
    if (s.kind == kind_of<Cast>) return encode(s.type, decode(s.from, a));
    if (s.from == f64) return in_float<double, std::uint64_t>(s, a, b, c);
    if (s.from == f32) return in_float<float, std::uint32_t>(s, a, b, c);
    return in_integer(s, a, b);
  }

  template <class Float, class Bits>
  static std::uint64_t in_float(const Step& s, std::uint64_t ra, std::uint64_t rb,
                                std::uint64_t rc) {
    const auto number = [](std::uint64_t bits) {
      return std::bit_cast<Float>(static_cast<Bits>(bits));
    };
    const Float a = number(ra), b = number(rb), c = number(rc);
    const auto bits = [](Float value) -> std::uint64_t { return std::bit_cast<Bits>(value); };
    switch (s.kind) {
      case kind_of<Add>: return bits(a + b);
      case kind_of<Sub>: return bits(a - b);
      case kind_of<Mul>: return bits(a * b);
      case kind_of<Div>: return bits(a / b);
      default: break;
    }
    if (s.type.is_bool()) return compare(s.kind, a, b);
    if (s.call == "fma") return bits(std::fma(a, b, c));
    if (s.call == "sqrt") return bits(std::sqrt(a));
    if (s.call == "fabs") return bits(std::fabs(a));
    if (s.call == "trunc") return bits(std::trunc(a));
    if (s.call == "nearbyint") return bits(std::nearbyint(a));
    if (s.call == "copysign") return bits(std::copysign(a, b));
    if (s.call == "ldexp") return bits(std::ldexp(a, static_cast<std::int32_t>(rb)));
    throw std::logic_error("cannot evaluate " + std::string(s.call));
  }

  static std::uint64_t in_integer(const Step& s, std::uint64_t a, std::uint64_t b) {
    const auto wrapped = [&](std::uint64_t value) {
      return static_cast<std::uint64_t>(wrap_to(s.type, static_cast<std::int64_t>(value)));
    };
    switch (s.kind) {
      case kind_of<Add>: return wrapped(a + b);
      case kind_of<Sub>: return wrapped(a - b);
      case kind_of<Mul>: return wrapped(a * b);
      default: break;
    }
    if (s.type.is_bool() && s.call.empty()) {
      if (s.from.is_uint()) return compare(s.kind, a, b);
      return compare(s.kind, static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
    }
    if (s.call == "bitwise_and") return a & b;
    if (s.call == "bitwise_or") return a | b;
    if (s.call == "bitwise_xor") return a ^ b;
    if (s.call == "shift_left") return b < s.type.bits ? wrapped(a << b) : 0;
    if (s.call == "shift_right" && s.type.is_uint()) return b < s.type.bits ? a >> b : 0;
    throw std::logic_error("cannot evaluate " + std::string(s.call));
  }

  template <class T>
  static bool compare(std::uint16_t kind, T a, T b) {
    switch (kind) {
      case kind_of<EQ>: return a == b;
      case kind_of<NE>: return a != b;
      case kind_of<LT>: return a < b;
      case kind_of<LE>: return a <= b;
      case kind_of<GT>: return a > b;
      case kind_of<GE>: return a >= b;
      default: throw std::logic_error("no comparison");
    }
  }

  std::unordered_map<Ref, std::size_t, RefHash, RefEqual> registers_;
  std::vector<std::uint64_t> values_;
  std::vector<Step> steps_;
  std::size_t result_ = 0;
  DataType type_;
};

}  // namespace loopsmith::testing
