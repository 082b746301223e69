// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/differentiate.h"

#include <algorithm>
#include <unordered_map>

#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/math_functions.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/deep_call.h"
#include "loopsmith/support/error.h"

namespace loopsmith::te {
namespace {

bool is_one(const Expr& expr) {
  const double* number = as_float(expr);
  return number && *number == 1;
}

/// What the whole changes with a part of it: a factor, where guards hold.
struct Sensitivity {
  std::vector<Expr> guards;
  Expr factor;

  Sensitivity times(const Expr& other) const { return {guards, product_of(factor, other)}; }
  Sensitivity negative() const { return {guards, -factor}; }
  Sensitivity where(const Expr& guard) const {
    Sensitivity copy = *this;
    copy.guards.push_back(guard);
    return copy;
  }
};

Sensitivity sum_of(const std::vector<Sensitivity>& parts) {
  Sensitivity sum = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (are_same_indices(sum.guards, parts[i].guards)) {
      sum.factor = sum.factor + parts[i].factor;
    } else {
      sum = {{}, guarded(sum.guards, sum.factor) + guarded(parts[i].guards, parts[i].factor)};
    }
  }
  return sum;
}

class Differentiator {
 public:
  Differentiator(std::string_view whose, const std::function<bool(const Tensor&)>& is_wanted)
      : whose_(whose), is_wanted_(is_wanted) {}

  std::vector<ReadDerivative> operator()(const Expr& body) {
    if (!order(body)) return {};
    add(body, {{}, const_of(body.dtype(), 1)});
    // Each part after all that it is a part of.
    for (auto part = order_.rbegin(); part != order_.rend(); ++part) {
      const auto whole = parts_.find(part->get());
      if (whole != parts_.end()) pass_on(*part, sum_of(whole->second));
    }
    return std::move(reads_);
  }

 private:
  /// Lists the parts through which wanted elements count, inner ones first; false: there is none.
  bool order(const Expr& expr) {
    if (const auto known = counts_.find(expr.get()); known != counts_.end()) return known->second;
    bool counts = false;
    if (expr.dtype().is_float()) {
      const auto* load = expr.as<ProducerLoad>();
      counts = load && is_wanted_(Tensor(load->producer));
      for (const Expr& part : parts_of(expr)) counts |= deep_call([&] { return order(part); });
      if (counts) order_.push_back(expr);
    }
    counts_[expr.get()] = counts;
    return counts;
  }

  /// The value of a `let`, with what is bound in place of the variable.
  Expr unbound(const Expr& expr) {
    Expr& body = unbound_[expr.get()];
    const auto* let = expr.as<Let>();
    if (!body.defined()) body = substitute(let->body, {{let->var, let->value}});
    return body;
  }

  /// The operands that are numbers, without indices and conditions.
  std::vector<Expr> parts_of(const Expr& expr) {
    if (expr.is<ProducerLoad>()) return {};
    if (const auto* choice = expr.as<Select>()) return {choice->true_value, choice->false_value};
    if (expr.is<Let>()) return {unbound(expr)};
    const auto* call = expr.as<Call>();
    if (call && call->op == op("if_then_else")) return {call->args[1], call->args[2]};
    std::vector<Expr> parts;
    for_each_child(*expr.get(), [&](const Ref& child, Role) {
      if (const Expr part = Expr::from(child); part.defined()) parts.push_back(part);
    });
    return parts;
  }

  void add(const Expr& part, Sensitivity sensitivity) {
    const auto counts = counts_.find(part.get());
    if (counts == counts_.end() || !counts->second) return;
    parts_[part.get()].push_back(std::move(sensitivity));
  }

  void pass_on(const Expr& expr, const Sensitivity& whole) {
    if (const auto* load = expr.as<ProducerLoad>()) return add_read(*load, whole);
    if (const auto* sum = expr.as<Add>()) {
      add(sum->a, whole);
      add(sum->b, whole);
    } else if (const auto* difference = expr.as<Sub>()) {
      add(difference->a, whole);
      add(difference->b, whole.negative());
    } else if (const auto* product = expr.as<Mul>()) {
      add(product->a, whole.times(product->b));
      add(product->b, whole.times(product->a));
    } else if (const auto* quotient = expr.as<Div>()) {
      add(quotient->a, {whole.guards, whole.factor / quotient->b});
      add(quotient->b, {whole.guards, -(product_of(whole.factor, expr) / quotient->b)});
    } else if (const auto* larger = expr.as<Max>()) {
      choose(larger->a >= larger->b, larger->a, larger->b, whole);
    } else if (const auto* smaller = expr.as<Min>()) {
      choose(smaller->a <= smaller->b, smaller->a, smaller->b, whole);
    } else if (const auto* choice = expr.as<Select>()) {
      choose(choice->condition, choice->true_value, choice->false_value, whole);
    } else if (const auto* cast = expr.as<Cast>()) {
      add(cast->value, whole);
    } else if (expr.is<Let>()) {
      add(unbound(expr), whole);
    } else {
      pass_through_call(expr, whole);
    }
  }

  void choose(const Expr& condition, const Expr& one, const Expr& other, const Sensitivity& whole) {
    add(one, whole.where(condition));
    add(other, whole.where(!condition));
  }

  void pass_through_call(const Expr& expr, const Sensitivity& whole) {
    const auto* call = expr.as<Call>();
    if (call && call->op == op("if_then_else")) {
      return choose(call->args[0], call->args[1], call->args[2], whole);
    }
    const auto partials = partial_derivatives(expr);
    require(partials.has_value(), ErrorKind::user, "value_is_differentiable",
            hint("compute it from functions of te whose derivatives are known, or give the "
                 "gradient of what reads it"),
            expr.span(), "gradient: the derivative of {} in {} is not known", to_string(expr),
            whose_);
    for (std::size_t i = 0; i < partials->size(); ++i) {
      if ((*partials)[i].defined()) add(call->args[i], whole.times((*partials)[i]));
    }
  }

  /// Elements that are read twice under the same conditions count once, with both factors.
  void add_read(const ProducerLoad& load, const Sensitivity& whole) {
    const auto same_element = [&](const ReadDerivative& other) {
      return other.tensor == Tensor(load.producer) &&
             std::ranges::equal(other.indices, load.indices, StructuralEqual()) &&
             are_same_indices(other.guards, whole.guards);
    };
    const auto known = std::ranges::find_if(reads_, same_element);
    if (known == reads_.end()) {
      reads_.push_back({load.producer, load.indices, whole.guards, whole.factor});
    } else {
      known->factor = known->factor + whole.factor;
    }
  }

  std::string_view whose_;
  const std::function<bool(const Tensor&)>& is_wanted_;
  std::vector<Expr> order_;
  std::unordered_map<const Object*, bool> counts_;
  std::unordered_map<const Object*, Expr> unbound_;
  std::unordered_map<const Object*, std::vector<Sensitivity>> parts_;
  std::vector<ReadDerivative> reads_;
};

}  // namespace

Expr product_of(const Expr& a, const Expr& b) {
  if (is_one(a)) return b;
  if (is_one(b)) return a;
  const auto* quotient = b.as<Div>();
  if (quotient && is_one(quotient->a)) return a / quotient->b;
  return a * b;
}

Expr guarded(const std::vector<Expr>& guards, const Expr& value) {
  if (guards.empty()) return value;
  Expr all = guards[0];
  for (std::size_t i = 1; i < guards.size(); ++i) all = all && guards[i];
  return if_then_else(all, value, zero_of(value.dtype()));
}

std::vector<ReadDerivative> derivatives_by_reads(
    std::string_view whose, const Expr& body, const std::function<bool(const Tensor&)>& is_wanted) {
  return Differentiator(whose, is_wanted)(body);
}

}  // namespace loopsmith::te
