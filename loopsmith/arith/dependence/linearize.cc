// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/linearize.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "loopsmith/arith/dependence/delinearize.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith::dependence {
namespace {

/// An expression of more nodes than this, shared ones counted each time, is not linear.
constexpr int max_nodes = 10000;
/// Each doubles the cases of a question.
constexpr std::size_t max_maxima = 8;

}  // namespace

void Linearizer::bind(const Ptr<Var>& variable, std::optional<Linear> value) {
  values_[variable.get()] = std::move(value);
}

void Linearizer::bind(const Ptr<Var>& variable, const Expr& value) {
  bind(variable, linear(value));
  if (values_.at(variable.get()) || !value.dtype().is_index()) return;
  if (auto form = polynomial(value)) polynomials_[variable.get()] = *std::move(form);
}

Symbol Linearizer::new_symbol(SymbolInfo info) {
  program_.symbols.push_back(std::move(info));
  return static_cast<Symbol>(program_.symbols.size() - 1);
}

bool Linearizer::is_parametric(const Expr& expr) const {
  bool result = true;
  pre_order_visit(expr, [&](const Ref& node) {
    if (const auto* variable = node.as<Var>()) {
      result = result && !values_.contains(variable) && variable->dtype.is_index();
    } else if (node.is<BufferLoad>() || node.is<Let>() || node.is<Reduce>()) {
      result = false;
    } else if (const auto* call = node.as<Call>()) {
      result = result && call->op.is_pure();
    }
    return result;
  });
  return result;
}

std::optional<Linear> Linearizer::parameter(const Expr& expr) {
  if (!expr.dtype().is_index() || !expr.dtype().is_scalar() || !is_parametric(expr)) {
    return std::nullopt;
  }
  const auto [found, is_new] = parameters_.try_emplace(expr, 0);
  if (is_new) {
    const auto* variable = expr.as<Var>();
    const bool is_size = variable && variable->is_size;
    found->second = new_symbol({.kind = SymbolKind::parameter,
                                .range = {is_size ? 0 : Interval::neg_inf, Interval::pos_inf},
                                .source = expr});
  }
  return linear_of(found->second);
}

std::optional<Linear> Linearizer::divide(const Linear& dividend, std::int64_t divisor) {
  // floor((divisor * whole + rest) / divisor) is whole + floor(rest / divisor).
  Linear whole{floor_quotient(dividend.constant, divisor)};
  Linear rest{dividend.constant - whole.constant * divisor};
  for (const Term& term : dividend.terms) {
    if (term.coefficient % divisor == 0) {
      whole.terms.push_back({term.symbol, term.coefficient / divisor});
    } else {
      rest.terms.push_back(term);
    }
  }
  if (rest.is_constant()) return whole;
  const Interval range = program_.range(rest);
  if (range.min_value >= 0 && range.max_value < divisor) return whole;

  for (const Symbol symbol : quotients_) {
    const SymbolInfo& info = program_.symbols[static_cast<std::size_t>(symbol)];
    if (info.divisor == divisor && info.dividend == rest) return sum(whole, linear_of(symbol));
  }
  const Symbol symbol = new_symbol({.kind = SymbolKind::quotient,
                                    .range = arith::floor_divide(range, arith::point(divisor)),
                                    .dividend = rest,
                                    .divisor = divisor});
  quotients_.push_back(symbol);
  return sum(whole, linear_of(symbol));
}

bool Linearizer::fits(const Linear& form, DataType type) const {
  const auto below = sum(Linear{max_int(type)}, form, -1);
  const auto above = sum(form, Linear{min_int(type)}, -1);
  return below && above && is_known(*below) && is_known(*above);
}

bool Linearizer::is_known(Linear form) const {
  // Sizes have values of their types.
  const auto is_never_negative = [&](const Linear& sum_of_symbols) {
    Interval least = arith::point(sum_of_symbols.constant);
    for (const Term& term : sum_of_symbols.terms) {
      const SymbolInfo& info = program_.symbols[static_cast<std::size_t>(term.symbol)];
      Interval range = info.range;
      if (info.source.defined()) {
        range.min_value = std::max(range.min_value, min_int(info.source.dtype()));
        range.max_value = std::min(range.max_value, max_int(info.source.dtype()));
      }
      least = arith::add(least, arith::multiply(range, arith::point(term.coefficient)));
    }
    return least.min_value >= 0;
  };
  if (is_never_negative(form)) return true;
  // What is rounded down, q, has d * q <= x and x <= d * q + d - 1.
  for (std::size_t i = 0; i < form.terms.size(); ++i) {
    const auto [symbol, factor] = form.terms[i];
    const SymbolInfo& info = program_.symbols[static_cast<std::size_t>(symbol)];
    if (info.kind != SymbolKind::quotient) continue;
    const std::int64_t common = std::gcd(factor, info.divisor);
    auto least = product(form, info.divisor / common);
    if (least) least = sum(*least, linear_of(symbol), -least->coefficient(symbol));
    if (least) least = sum(*least, info.dividend, factor / common);
    if (least && factor > 0) least = sum(*least, Linear{info.divisor - 1}, -(factor / common));
    return least && is_known(*std::move(least));
  }
  return std::ranges::any_of(guards_, [&](const Clause& clause) {
    return clause.size() == 1 && std::ranges::any_of(clause[0], [&](const Constraint& guard) {
             // Without the symbol that both have with the same sign, the form is no more than it
             // was.
             return std::ranges::any_of(form.terms, [&](const Term& term) {
               const std::int64_t factor = guard.form.coefficient(term.symbol);
               if (factor == 0 || (factor > 0) != (term.coefficient > 0)) return false;
               const auto scaled = product(form, std::abs(factor));
               const auto rest =
                   scaled ? sum(*scaled, guard.form, -std::abs(term.coefficient)) : std::nullopt;
               return rest && is_never_negative(*rest);
             });
           });
  });
}

std::optional<Linear> Linearizer::larger(const Linear& a, const Linear& b) {
  const auto difference = sum(a, b, -1);
  if (!difference) return std::nullopt;
  const Interval range = program_.range(*difference);
  if (range.min_value >= 0) return a;
  if (range.max_value <= 0) return b;
  // max(y - 1, 0) is max(y, 1) - 1: one symbol stands for both.
  const Linear& moving = a.is_constant() ? b : a;
  const Linear shift{moving.constant};
  const auto first = sum(moving, shift, -1), second = sum(a.is_constant() ? a : b, shift, -1);
  if (!first || !second) return std::nullopt;
  for (const Symbol symbol : maxima_) {
    const SymbolInfo& info = program_.symbols[static_cast<std::size_t>(symbol)];
    if (info.dividend == *first && info.other == *second) return sum(linear_of(symbol), shift);
  }
  if (maxima_.size() >= max_maxima) return std::nullopt;
  const Interval of_first = program_.range(*first), of_second = program_.range(*second);
  maxima_.push_back(new_symbol({.kind = SymbolKind::maximum,
                                .range = {std::max(of_first.min_value, of_second.min_value),
                                          std::max(of_first.max_value, of_second.max_value)},
                                .dividend = *first,
                                .other = *second}));
  return sum(linear_of(maxima_.back()), shift);
}

/// A minimum or a maximum with loops in it; min(a, b) is -max(-a, -b).
std::optional<Linear> Linearizer::extreme(const Expr& expr) {
  const auto largest = operands_of<Max>(expr), smallest = operands_of<Min>(expr);
  if ((!largest && !smallest) || is_parametric(expr)) return std::nullopt;
  const Operands& sides = largest ? *largest : *smallest;
  const auto a = part(sides.a), b = part(sides.b);
  if (!a || !b) return std::nullopt;
  if (largest) return larger(*a, *b);
  const auto c = product(*a, -1), d = product(*b, -1);
  const auto negative = c && d ? larger(*c, *d) : std::nullopt;
  return negative ? product(*negative, -1) : std::nullopt;
}

std::optional<Linear> Linearizer::linear(const Expr& expr) {
  hopeless_ = false;
  nodes_left_ = max_nodes;
  return part(expr);
}

std::optional<Linear> Linearizer::part(const Expr& expr) {
  return deep_call([&]() -> std::optional<Linear> {
    if (const auto* value = expr.as<IntImm>()) return Linear{value->value};
    std::optional<Linear> result;
    if (nodes_left_-- > 0 && expr.dtype().is_index() && expr.dtype().is_scalar()) {
      const auto known = expr.is<Var>() ? values_.find(expr.get()) : values_.end();
      if (known != values_.end()) {
        result = known->second;
      } else {
        result = read(expr);
        if (!result && !hopeless_) result = parameter(expr);
      }
    }
    // What is around something that is neither linear nor made of sizes is neither.
    hopeless_ = hopeless_ || !result;
    return result;
  });
}

std::optional<Linear> Linearizer::read(const Expr& expr) {
  if (const auto add = operands_of<Add>(expr)) {
    const auto a = part(add->a), b = part(add->b);
    return a && b ? sum(*a, *b) : std::nullopt;
  }
  if (const auto sub = operands_of<Sub>(expr)) {
    const auto a = part(sub->a), b = part(sub->b);
    return a && b ? sum(*a, *b, -1) : std::nullopt;
  }
  if (const auto mul = operands_of<Mul>(expr)) {
    const auto a = part(mul->a), b = part(mul->b);
    if (!a || !b) return std::nullopt;
    if (b->is_constant()) return product(*a, b->constant);
    return a->is_constant() ? product(*b, a->constant) : std::nullopt;
  }
  if (const auto* cast = expr.as<Cast>()) {
    auto inside = part(cast->value);
    // What does not fit into the narrower type becomes another value.
    const bool is_narrower = cast->value.dtype().bits > cast->dtype.bits;
    if (!inside || (is_narrower && !fits(*inside, cast->dtype))) return std::nullopt;
    return inside;
  }
  if (is_likely(expr)) return part(expr.as<Call>()->args[0]);
  if (const auto* call = expr.as<Call>()) return shift(*call);
  if (expr.is<Max>() || expr.is<Min>()) return extreme(expr);

  const bool rounds_to_zero = expr.is<Div>() || expr.is<Mod>();
  const bool is_remainder = expr.is<Mod>() || expr.is<FloorMod>();
  std::optional<Operands> division = operands_of<FloorDiv>(expr);
  if (!division) division = operands_of<FloorMod>(expr);
  if (!division) division = operands_of<Div>(expr);
  if (!division) division = operands_of<Mod>(expr);
  if (!division) return std::nullopt;
  const auto a = part(division->a), b = part(division->b);
  if (!a || !b || !b->is_constant() || b->constant <= 0) return std::nullopt;
  if (rounds_to_zero && program_.range(*a).min_value < 0) return std::nullopt;
  const auto quotient = divide(*a, b->constant);
  if (!quotient || !is_remainder) return quotient;
  const auto multiple = product(*quotient, b->constant);
  return multiple ? sum(*a, *multiple, -1) : std::nullopt;
}

/// By a known number of bits: a product that loses none, or a quotient that is rounded down.
std::optional<Linear> Linearizer::shift(const Call& call) {
  const bool is_left = call.op == op("shift_left");
  if (!is_left && call.op != op("shift_right")) return std::nullopt;
  const auto shifted = part(call.args[0]), bits = part(call.args[1]);
  if (!shifted || !bits || !bits->is_constant()) return std::nullopt;
  if (bits->constant < 0 || bits->constant >= call.dtype.bits - 1) return std::nullopt;
  const std::int64_t factor = std::int64_t{1} << bits->constant;
  if (!is_left) return divide(*shifted, factor);
  auto result = product(*shifted, factor);
  return result && fits(*result, call.dtype) ? std::move(result) : std::nullopt;
}

namespace {

/// An expression as sums of the operands of the minimum in it, of which the least is its value:
/// min(a, b) + c as a + c and b + c, and quotients of such sums. Itself where it is none.
std::vector<Expr> operands_of_minimum(const Expr& expr) {
  std::vector<Expr> found;
  const auto each = [&](const Expr& choice, auto&& with_rest) {
    const std::vector<Expr> operands = operands_of_minimum(choice);
    if (operands.size() < 2) return;
    for (const Expr& operand : operands) found.push_back(with_rest(operand));
  };
  if (const auto* minimum = expr.as<Min>()) {
    for (const Expr& side : {minimum->a, minimum->b}) {
      for (const Expr& operand : operands_of_minimum(side)) found.push_back(operand);
    }
  } else if (const auto* sum = expr.as<Add>()) {
    each(sum->a, [&](const Expr& operand) { return operand + sum->b; });
    if (found.empty()) each(sum->b, [&](const Expr& operand) { return sum->a + operand; });
  } else if (const auto* difference = expr.as<Sub>()) {
    each(difference->a, [&](const Expr& operand) { return operand - difference->b; });
  } else if (const auto* quotient = expr.as<FloorDiv>()) {
    const std::int64_t* divisor = as_int(quotient->b);
    if (divisor && *divisor > 0) {
      each(quotient->a, [&](const Expr& operand) { return floordiv(operand, quotient->b); });
    }
  }
  return found.empty() ? std::vector{expr} : found;
}

}  // namespace

std::vector<Linear> Linearizer::upper_bounds(const Expr& expr, bool& is_exact) {
  std::vector<Linear> bounds;
  for (const Expr& operand : operands_of_minimum(expr)) {
    if (auto bound = linear(operand)) {
      bounds.push_back(*std::move(bound));
    } else {
      is_exact = false;
    }
  }
  return bounds;
}

std::optional<Linear> Linearizer::index(const Expr& expr, std::vector<Symbol>& locals) {
  if (const auto* repeated = expr.as<Broadcast>()) return linear(repeated->value);
  const auto* ramp = expr.as<Ramp>();
  if (!ramp) return linear(expr);
  const auto base = linear(ramp->base), stride = linear(ramp->stride);
  if (!base || !stride || !stride->is_constant()) return std::nullopt;
  return sum(*base, linear_of(lane_of(*ramp, locals)), stride->constant);
}

std::optional<Linear> Linearizer::moved_within(const Linear& first, const Expr& extent,
                                               std::vector<Symbol>& locals) {
  const auto count = linear(extent);
  if (!count) return std::nullopt;
  const Interval counts = program_.range(*count);
  const std::int64_t last =
      counts.max_value == Interval::pos_inf ? Interval::pos_inf : counts.max_value - 1;
  const Symbol step = new_symbol({.kind = SymbolKind::local, .range = {0, last}, .extent = *count});
  locals.push_back(step);
  return sum(first, linear_of(step));
}

void Linearizer::read_indices(Access& access) {
  for (const Expr& expr : access.expressions) {
    access.index.push_back(expr.defined() ? index(expr, access.locals) : std::nullopt);
  }
  for (std::size_t i = 0; i < access.index.size(); ++i) {
    const Expr& expr = access.expressions[i];
    if (access.index[i] || !expr.defined()) continue;
    access.products.resize(access.index.size());
    access.products[i] = index_polynomial(expr, access.locals);
  }
}

std::optional<Polynomial> Linearizer::index_polynomial(const Expr& expr,
                                                       std::vector<Symbol>& locals) {
  if (expr.dtype().is_scalar()) return polynomial(expr);
  const auto* ramp = expr.as<Ramp>();
  const auto base = ramp ? polynomial(ramp->base) : std::nullopt;
  const auto stride = base ? linear(ramp->stride) : std::nullopt;
  if (!stride || !stride->is_constant()) return std::nullopt;
  const Linear lane = linear_of(lane_of(*ramp, locals));
  return dependence::sum(*base, polynomial_of(program_, lane), stride->constant);
}

Symbol Linearizer::lane_of(const Ramp& ramp, std::vector<Symbol>& locals) {
  const Symbol lane = new_symbol(
      {.kind = SymbolKind::local, .range = {0, ramp.lanes - 1}, .extent = Linear{ramp.lanes}});
  locals.push_back(lane);
  return lane;
}

std::optional<Polynomial> Linearizer::polynomial(const Expr& expr) {
  nodes_left_ = max_nodes;
  return read_polynomial(expr);
}

std::optional<Polynomial> Linearizer::read_polynomial(const Expr& expr) {
  return deep_call([&]() -> std::optional<Polynomial> {
    const auto add = operands_of<Add>(expr), sub = operands_of<Sub>(expr),
               mul = operands_of<Mul>(expr);
    if (const auto known = polynomials_.find(expr.get()); known != polynomials_.end()) {
      return known->second;
    }
    if ((!add && !sub && !mul) || nodes_left_ <= 0) {
      hopeless_ = false;
      const auto leaf = part(expr);
      if (!leaf) return std::nullopt;
      return polynomial_of(program_, *leaf);
    }
    --nodes_left_;
    const Operands& sides = add ? *add : sub ? *sub : *mul;
    const auto a = mul ? stride(sides.a) : read_polynomial(sides.a);
    const auto b = mul ? stride(sides.b) : read_polynomial(sides.b);
    if (!a || !b) return std::nullopt;
    return mul ? product(*a, *b) : dependence::sum(*a, *b, add ? 1 : -1);
  });
}

/// A side of a product. What is made of sizes with a quotient in it, as (n - 1) // f + 1 or
/// (n + 3) // 4, is the extent of a loop, and so one stride: a parameter of its own.
std::optional<Polynomial> Linearizer::stride(const Expr& expr) {
  if (!expr.is<Add>() && !expr.is<Sub>() && !expr.is<FloorDiv>()) return read_polynomial(expr);
  hopeless_ = false;
  const auto form = part(expr);
  const bool has_quotient =
      form && std::ranges::any_of(form->terms, [&](const Term& term) {
        const SymbolInfo& info = program_.symbols[static_cast<std::size_t>(term.symbol)];
        return info.kind == SymbolKind::quotient || info.source.is<FloorDiv>();
      });
  const auto one = has_quotient ? parameter(expr) : std::nullopt;
  if (!one) return read_polynomial(expr);
  program_.symbols[static_cast<std::size_t>(one->terms[0].symbol)].dividend = *form;
  return polynomial_of(program_, *one);
}

}  // namespace loopsmith::dependence
