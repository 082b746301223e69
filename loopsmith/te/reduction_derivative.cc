// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/reduction_derivative.h"

#include <algorithm>

#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te/reduce.h"

namespace loopsmith::te {
namespace {

/// A compute over axes of its own in the place of those of another one.
class Renewed {
 public:
  Renewed(const ComputeOp& op, std::string_view suffix) {
    compute_.name = op.name + std::string(suffix);
    for (const auto& axis : op.axis) compute_.axis.push_back(renewed(axis));
    for (const auto& axis : op.reduce_axis()) reduced_.emplace_back(renewed(axis));
  }

  const std::vector<IterVar>& reduced() const { return reduced_; }
  Expr operator()(const Expr& expr) const { return clone_with(expr, by_); }

  /// The compute of these values, in terms of its own axes.
  Ref of(std::vector<Expr> bodies) && {
    compute_.body = std::move(bodies);
    return make(std::move(compute_));
  }
  /// The same, with an output for each value of the axes to reduce over.
  Ref of_each(std::vector<Expr> bodies) && {
    Substitution from_first;  // A dimension of a tensor starts at 0.
    for (const IterVar& axis : reduced_) {
      const Expr zero = zero_of(axis->var->dtype);
      from_first[axis->var] = axis->var + axis->dom->min;
      compute_.axis.push_back(
          make(loopsmith::IterVar{.dom = range(zero, axis->dom->extent), .var = axis->var}));
    }
    for (Expr& body : bodies) body = substitute(body, from_first);
    return std::move(*this).of(std::move(bodies));
  }

 private:
  Ptr<loopsmith::IterVar> renewed(const Ptr<loopsmith::IterVar>& axis) {
    loopsmith::IterVar copy = *axis;
    copy.var = var(axis->var->name, axis->var->dtype);
    by_[axis->var] = copy.var;
    return make(std::move(copy));
  }

  ComputeOp compute_;
  std::vector<IterVar> reduced_;
  Substitution by_;
};

/// A reduction of `value` over the same axes.
Tensor reduced_alike(const ComputeOp& op, const Reducer& reducer, const Expr& value,
                     std::string_view suffix) {
  Renewed renewed(op, suffix);
  const Expr where = renewed(op.body[0].as<Reduce>()->condition);
  const Expr body = reducer(renewed(value), Axes(renewed.reduced()), {.where = where});
  return te::output(std::move(renewed).of({body}), 0);
}

class ReductionDerivative {
 public:
  ReductionDerivative(const Ref& self, std::size_t output)
      : self_(self),
        op_(*self.as<ComputeOp>()),
        reduce_(*op_.body[0].as<Reduce>()),
        index_(static_cast<std::size_t>(op_.body[output].as<Reduce>()->value_index)) {
    for (const auto& axis : op_.axis) place_.emplace_back(axis->var);
  }

  std::vector<ValueDerivative> operator()() {
    const CommReducer& combiner = *reduce_.combiner;
    if (combiner.lhs.size() == 1) {
      const Expr& result = combiner.result[0];
      if (joins<Add>(result)) return of_sum();
      if (joins<Mul>(result)) return of_product();
      if (joins<Max>(result) || joins<Min>(result)) return of_choice();
    }
    require(is_choice(combiner), ErrorKind::user, "reduction_is_differentiable",
            hint("reduce by te.sum, te.prod, te.min, te.max, or by a choice of one operand; or "
                 "compute the logarithm or another function of such a reduction"),
            self_.span(), "gradient: the combiner of {} is no sum, product, min, max or choice",
            op_.name);
    return of_choice();
  }

 private:
  template <class Node>
  bool joins(const Expr& result) const {
    const auto* node = result.as<Node>();
    const Expr& left = reduce_.combiner->lhs[0];
    const Expr& right = reduce_.combiner->rhs[0];
    return node && ((node->a.same_as(left) && node->b.same_as(right)) ||
                    (node->a.same_as(right) && node->b.same_as(left)));
  }

  /// True when the result is one of the operands as a whole.
  static bool is_choice(const CommReducer& combiner) {
    const auto* first = combiner.result[0].as<Select>();
    for (std::size_t i = 0; first && i < combiner.result.size(); ++i) {
      const auto* one = combiner.result[i].as<Select>();
      const Expr left = combiner.lhs[i];
      const Expr right = combiner.rhs[i];
      if (!one || !structural_equal(one->condition, first->condition)) return false;
      const bool in_order = one->true_value.same_as(left) && one->false_value.same_as(right);
      const bool turned = one->true_value.same_as(right) && one->false_value.same_as(left);
      const bool as_first = first->true_value.same_as(combiner.lhs[0]);
      if (as_first ? !in_order : !turned) return false;
    }
    return first != nullptr;
  }

  const Expr& source() const { return reduce_.source[index_]; }
  Expr number(double value) const { return const_of(source().dtype(), value); }

  /// Value `i` of the reduction, where this value is combined into it.
  Expr result(std::size_t i) const { return result_of(self_, i); }
  Expr result_of(const Ref& op, std::size_t i) const {
    for (std::size_t k = 0; k < op_.body.size(); ++k) {
      if (static_cast<std::size_t>(op_.body[k].as<Reduce>()->value_index) == i) {
        return te::output(op, k).at(place_);
      }
    }
    check(false, "gradient", "no output of {} holds value {} of the reduction", op_.name, i);
    return {};
  }

  void require_no_init(std::string_view what) const {
    require(reduce_.init.empty(), ErrorKind::user, "reduction_starts_from_identity",
            hint("combine the start with the result in a compute of its own"), self_.span(),
            "gradient: {} {} starts from a value of its own", what, op_.name);
  }

  std::vector<ValueDerivative> of_sum() const {
    std::vector<ValueDerivative> all{{source(), {reduce_.condition}, number(1)}};
    // What it starts from counts once, not for each value of the axes to reduce over.
    if (!reduce_.init.empty()) {
      std::vector<Expr> first;
      for (const auto& axis : reduce_.axis) first.push_back(axis->var == axis->dom->min);
      all.push_back({reduce_.init[0], std::move(first), number(1)});
    }
    return all;
  }

  /// The product of the other values: of those that are not 0, if no other one is.
  std::vector<ValueDerivative> of_product() const {
    require_no_init("the product");
    const Expr zero = number(0);
    const Expr is_zero = source() == zero;
    const Tensor product =
        reduced_alike(op_, prod_reducer(), select(is_zero, number(1), source()), ".nonzero");
    const Tensor zeros =
        reduced_alike(op_, sum_reducer(), select(is_zero, number(1), zero), ".zeros");
    const Expr others = zeros.at(place_) - select(is_zero, number(1), zero);
    const Expr factor = product.at(place_) / select(is_zero, number(1), source());
    return {{source(), {reduce_.condition, others == zero}, factor}};
  }

  /// 1 for the value that is chosen; where several are, each has its share.
  std::vector<ValueDerivative> of_choice() const {
    require_no_init("the choice");
    Expr is_chosen = true;
    const Compared compared = is_stored() ? as_they_are() : stored();
    for (std::size_t i = 0; i < compared.values.size(); ++i) {
      is_chosen = is_chosen && compared.values[i] == compared.results[i];
    }
    Expr factor = number(1);
    if (!is_told_by_index()) {
      const Expr share = select(is_chosen, number(1), number(0));
      factor = factor / reduced_alike(op_, sum_reducer(), share, ".count").at(place_);
    }
    return {{source(), {reduce_.condition, is_chosen}, factor}};
  }

  /// The values that are combined, and the results that they are compared with.
  struct Compared {
    std::vector<Expr> values;
    std::vector<Expr> results;
  };

  /// True when the values are the same numbers whenever they are computed: not so for operations
  /// on floats, of which two may be rounded as one.
  bool is_stored() const {
    return std::ranges::all_of(reduce_.source, [](const Expr& value) {
      return value.is<ProducerLoad>() || !value.dtype().is_float();
    });
  }

  Compared as_they_are() const {
    Compared compared{reduce_.source, {}};
    for (std::size_t i = 0; i < reduce_.source.size(); ++i) compared.results.push_back(result(i));
    return compared;
  }

  /// The values as tensors, and what is chosen of these.
  Compared stored() const {
    Renewed each(op_, ".values");
    std::vector<Expr> values;
    for (const Expr& value : reduce_.source) {
      values.push_back(if_then_else(each(reduce_.condition), each(value), zero_of(value.dtype())));
    }
    const Ref stored_values = std::move(each).of_each(std::move(values));
    std::vector<Expr> indices = place_;
    for (const auto& axis : reduce_.axis) indices.push_back(axis->var - axis->dom->min);
    Compared compared;
    for (std::size_t i = 0; i < reduce_.source.size(); ++i) {
      compared.values.push_back(te::output(stored_values, i).at(indices));
    }
    const Ref chosen = chosen_of(compared.values);
    for (std::size_t i = 0; i < reduce_.source.size(); ++i) {
      compared.results.push_back(result_of(chosen, i));
    }
    return compared;
  }

  /// The same reduction of other values.
  Ref chosen_of(const std::vector<Expr>& values) const {
    Renewed renewed(op_, ".chosen");
    std::vector<Expr> bodies;
    Reduce reduce = reduce_;
    reduce.axis.assign(renewed.reduced().begin(), renewed.reduced().end());
    for (std::size_t i = 0; i < values.size(); ++i) reduce.source[i] = renewed(values[i]);
    reduce.condition = renewed(reduce.condition);
    for (const Expr& body : op_.body) {
      reduce.value_index = body.as<Reduce>()->value_index;
      bodies.emplace_back(make(Reduce(reduce)));
    }
    return std::move(renewed).of(std::move(bodies));
  }

  /// True when one of the values is the axis itself: equal for one only.
  bool is_told_by_index() const {
    return reduce_.axis.size() == 1 && std::ranges::any_of(reduce_.source, [&](const Expr& value) {
             return value.same_as(reduce_.axis[0]->var);
           });
  }

  const Ref& self_;
  const ComputeOp& op_;
  const Reduce& reduce_;
  std::size_t index_;
  std::vector<Expr> place_;
};

}  // namespace

std::vector<ValueDerivative> reduction_derivatives(const Ref& op, std::size_t output) {
  return ReductionDerivative(op, output)();
}

}  // namespace loopsmith::te
