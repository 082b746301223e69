// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/index_program.h"

#include <algorithm>
#include <array>

#include "loopsmith/support/deep_call.h"

namespace loopsmith {
namespace {

/// Expressions of more steps are not worth it.
constexpr std::size_t max_steps = 64;

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

}  // namespace

std::optional<IndexProgram> IndexProgram::compile(const Expr& expr, const Slots& slots) {
  IndexProgram program;
  if (!program.append(expr, slots)) return {};
  return program;
}

template <class Node>
bool IndexProgram::append_if(const Expr& expr, const Slots& slots, Code code, bool is_turned) {
  const auto* node = expr.as<Node>();
  if (!node || !append(is_turned ? node->b : node->a, slots)) return false;
  if (!append(is_turned ? node->a : node->b, slots)) return false;
  steps_.push_back({code});
  return true;
}

bool IndexProgram::append(const Expr& expr, const Slots& slots) {
  const DataType type = expr.dtype();
  if (steps_.size() >= max_steps || !type.is_scalar() || !(type.is_index() || type.is_bool())) {
    return false;
  }
  if (const auto* constant = expr.as<IntImm>()) {
    steps_.push_back({Code::constant, constant->value});
    return true;
  }
  if (expr.is<Var>()) {
    const auto slot = slots.find(expr.get());
    if (slot == slots.end()) return false;
    steps_.push_back({Code::variable, static_cast<std::int64_t>(slot->second)});
    return true;
  }
  if (const auto* cast = expr.as<Cast>()) return append(cast->value, slots);
  if (const auto* negated = expr.as<Not>()) {
    if (!append(negated->a, slots)) return false;
    steps_.push_back({Code::negation});
    return true;
  }
  return append_if<Add>(expr, slots, Code::add) || append_if<Sub>(expr, slots, Code::subtract) ||
         append_if<Mul>(expr, slots, Code::multiply) ||
         append_if<FloorDiv>(expr, slots, Code::floor_divide) ||
         append_if<FloorMod>(expr, slots, Code::floor_modulo) ||
         append_if<Min>(expr, slots, Code::minimum) || append_if<Max>(expr, slots, Code::maximum) ||
         append_if<EQ>(expr, slots, Code::equal) || append_if<NE>(expr, slots, Code::unequal) ||
         append_if<LT>(expr, slots, Code::less) ||
         append_if<LE>(expr, slots, Code::less_or_equal) ||
         append_if<GT>(expr, slots, Code::less, true) ||
         append_if<GE>(expr, slots, Code::less_or_equal, true) ||
         append_if<And>(expr, slots, Code::both) || append_if<Or>(expr, slots, Code::either);
}

std::optional<std::int64_t> IndexProgram::evaluate(std::span<const std::int64_t> values) const {
  std::array<std::int64_t, 2 * max_steps> stack;
  std::size_t height = 0;
  for (const Step& step : steps_) {
    if (step.code == Code::constant || step.code == Code::variable) {
      stack[height++] =
          step.code == Code::constant ? step.number : values[static_cast<std::size_t>(step.number)];
      continue;
    }
    if (step.code == Code::negation) {
      stack[height - 1] = stack[height - 1] == 0;
      continue;
    }
    const std::int64_t b = stack[--height];
    std::int64_t& a = stack[height - 1];
    bool fails = false;
    switch (step.code) {
      case Code::add: fails = __builtin_add_overflow(a, b, &a); break;
      case Code::subtract: fails = __builtin_sub_overflow(a, b, &a); break;
      case Code::multiply: fails = __builtin_mul_overflow(a, b, &a); break;
      case Code::floor_divide:
        fails = b <= 0;
        if (!fails) a = floor_quotient(a, b);
        break;
      case Code::floor_modulo:
        fails = b <= 0;
        if (!fails) a -= floor_quotient(a, b) * b;
        break;
      case Code::minimum: a = std::min(a, b); break;
      case Code::maximum: a = std::max(a, b); break;
      case Code::equal: a = a == b; break;
      case Code::unequal: a = a != b; break;
      case Code::less: a = a < b; break;
      case Code::less_or_equal: a = a <= b; break;
      case Code::both: a = a != 0 && b != 0; break;
      case Code::either: a = a != 0 || b != 0; break;
      default: break;
    }
    if (fails) return {};
  }
  return stack[0];
}

}  // namespace loopsmith
