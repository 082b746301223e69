// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/radix_terms.h"

#include <algorithm>
#include <optional>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith {
namespace {

bool are_same(const Expr& a, const Expr& b) {
  return a.same_as(b) || structural_equal(a, b);
}

bool are_proved_equal(const Expr& a, const Expr& b) {
  return are_same(a, b) || Analyzer().can_prove_equal(a, b);
}

/// What `x // m`, given as `value`, and `x % m` make: x. The former may also be written y // (k *
/// m) where x is y // k, or (x % (m * k)) // m, where they make x % (m * k); null for anything
/// else.
Expr joined(const Expr& value, const Expr& x, const Expr& m) {
  const auto* quotient = value.as<FloorDiv>();
  if (!quotient) return {};
  if (are_same(quotient->a, x) && are_proved_equal(quotient->b, m)) return x;
  const auto* inner = x.as<FloorDiv>();
  if (inner && are_same(quotient->a, inner->a) && are_proved_equal(quotient->b, inner->b * m))
    return x;
  const auto* part = quotient->a.as<FloorMod>();
  const auto* product = part ? part->b.as<Mul>() : nullptr;
  const bool is_digit = product && are_same(part->a, x) && are_same(quotient->b, m) &&
                        (are_same(product->a, m) || are_same(product->b, m));
  return is_digit ? Expr(quotient->a) : Expr();
}

/// True for a number above 0, one of `positive`, one of them in a wider type, and a product of
/// such.
bool is_positive(const Expr& m, std::span<const Expr> positive) {
  if (const std::int64_t* number = as_int(m)) return *number > 0;
  const auto is_it = [&](const Expr& each) { return are_proved_equal(each, m); };
  if (std::ranges::any_of(positive, is_it)) return true;
  if (const auto* wide = m.as<Cast>()) {
    const DataType type = wide->dtype, narrow = wide->value.dtype();
    const bool keeps = type.is_index() && narrow.is_index() && type.bits >= narrow.bits;
    return keeps && is_positive(wide->value, positive);
  }
  const auto* product = m.as<Mul>();
  return product && is_positive(product->a, positive) && is_positive(product->b, positive);
}

/// Takes one pair of digits for the value that they make; false when there is none.
bool join_one(std::vector<Expr>& values, std::span<const Expr> positive) {
  for (std::size_t low = 0; low < values.size(); ++low) {
    const auto* remainder = values[low].as<FloorMod>();
    if (!remainder || !is_positive(remainder->b, positive)) continue;
    for (std::size_t high = 0; high < values.size(); ++high) {
      const Expr made = joined(values[high], remainder->a, remainder->b);
      if (!made.defined()) continue;
      values[low] = made;
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(high));
      return true;
    }
  }
  return false;
}

/// `expr / by`, where that is told by its form; null elsewhere.
Expr quotient(const Expr& expr, const Expr& by) {
  if (are_same(expr, by)) return int_imm(expr.dtype(), 1);
  const std::int64_t *number = as_int(expr), *divisor = as_int(by);
  if (number && divisor && *divisor > 0 && *number % *divisor == 0) {
    return int_imm(expr.dtype(), *number / *divisor);
  }
  if (const auto* sum = expr.as<Add>()) {
    const Expr a = quotient(sum->a, by);
    const Expr b = a.defined() ? quotient(sum->b, by) : Expr();
    return b.defined() ? a + b : Expr();
  }
  if (const auto* product = expr.as<Mul>()) {
    if (const Expr a = quotient(product->a, by); a.defined()) return a * product->b;
    if (const Expr b = quotient(product->b, by); b.defined()) return product->a * b;
  }
  return {};
}

/// True when the variable is that of a loop that counts from 0.
bool is_digit_of(const For& loop, const Expr& variable) {
  return loop.loop_var.same_as(variable) && is_const_int(loop.min, 0) && is_const_int(loop.step, 1);
}

/// Takes one sum apart; false when there is none.
bool split_one(std::vector<Expr>& values, std::span<const For* const> loops) {
  for (Expr& value : values) {
    const auto* sum = value.as<Add>();
    if (!sum || !sum->b.is<Var>()) continue;
    const auto loop =
        std::ranges::find_if(loops, [&](const For* each) { return is_digit_of(*each, sum->b); });
    if (loop == loops.end()) continue;
    const Expr rest = quotient(sum->a, (*loop)->extent);
    if (!rest.defined()) continue;
    const Expr digit = sum->b;
    value = rest;
    values.push_back(digit);
    return true;
  }
  return false;
}

}  // namespace

std::vector<Expr> plain_radix_terms(std::vector<Expr> values, std::span<const For* const> loops,
                                    std::span<const Expr> positive) {
  while (join_one(values, positive) || split_one(values, loops)) {
  }
  return values;
}

}  // namespace loopsmith
