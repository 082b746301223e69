// SPDX-License-Identifier: Apache-2.0
// An operation reads an element t of a tensor at those of its axes where an index is t. So what
// changes with t is the sum over these of: what changes with the result there, times by what the
// result changes with the element. `readers_of_element` finds them; no sum over all axes with a
// condition is left where the indices are linear.
#include "loopsmith/te/gradient.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te/differentiate.h"
#include "loopsmith/te/readers.h"
#include "loopsmith/te/reduce.h"
#include "loopsmith/te/reduction_derivative.h"
#include "loopsmith/te/same_extent.h"

namespace loopsmith::te {
namespace {

IterVar axis_of(std::string name, const Expr& extent) {
  const DataType type = extent.dtype();
  return make(
      loopsmith::IterVar{.dom = range(zero_of(type), extent), .var = var(std::move(name), type)});
}

std::vector<Expr> variables_of(const std::vector<IterVar>& axes) {
  return {axes.begin(), axes.end()};
}

/// A part of a derivative: the sum over `axes` of `value`, where the conditions hold.
struct Term {
  std::string reader;
  std::vector<IterVar> axes;
  std::vector<Expr> conditions;
  Expr value;
};

/// The derivative by a tensor, in the making: its axes, and what is to be added.
struct Derivative {
  std::vector<IterVar> prefix;
  std::vector<IterVar> coordinates;
  std::vector<Term> terms;
};

/// `body` as a tensor over axes of its own.
Tensor tensor_over(const std::string& name, const std::vector<IterVar>& axes,
                   const std::vector<IterVar>& reduced, const std::vector<Expr>& conditions,
                   const Expr& value) {
  ComputeOp op{.name = name};
  Substitution by;
  const auto renewed = [&](const IterVar& axis) {
    loopsmith::IterVar copy = *axis;
    copy.var = var(axis->var->name, axis->var->dtype);
    by[axis->var] = copy.var;
    return make(std::move(copy));
  };
  for (const IterVar& axis : axes) op.axis.push_back(renewed(axis));
  std::vector<IterVar> over;
  for (const IterVar& axis : reduced) over.emplace_back(renewed(axis));
  if (reduced.empty()) {
    op.body = {clone_with(guarded(conditions, value), by)};
  } else {
    Expr where = true;
    for (const Expr& condition : conditions) where = where && condition;
    op.body = {sum(clone_with(value, by), Axes(over), {.where = clone_with(where, by)})};
  }
  return output(make(std::move(op)), 0);
}

class Gradient {
 public:
  Gradient(const Tensor& result, const std::vector<Tensor>& inputs, const Tensor& head)
      : result_(result), inputs_(inputs), head_(head), order_(post_order({result})) {
    const std::size_t count = head.defined() ? head.ndim() - result.ndim() : result.ndim();
    for (std::size_t i = 0; i < count; ++i) {
      prefix_.push_back(head.defined() ? head.shape()[i] : result.shape()[i]);
    }
    for (const Tensor& input : inputs) wanted_.insert(input->op.get());
    for (const Ref& op : order_) {
      for (const Tensor& read : input_tensors(op)) {
        if (wanted_.contains(read->op.get())) wanted_.insert(op.get());
      }
    }
  }

  std::vector<Tensor> operator()() {
    for (auto op = order_.rbegin(); op != order_.rend(); ++op) {
      if (wanted_.contains(op->get())) pass_on(*op);
    }
    std::vector<Tensor> all;
    for (const Tensor& input : inputs_) all.push_back(derivative_by(input));
    return all;
  }

 private:
  using Key = std::pair<const Object*, std::int64_t>;
  static Key key(const Tensor& tensor) { return {tensor->op.get(), tensor->value_index}; }

  bool is_on_the_way(const Tensor& tensor) const { return wanted_.contains(tensor->op.get()); }

  /// Adds to the derivatives by what an operation reads.
  void pass_on(const Ref& op) {
    const auto inputs = input_tensors(op);
    const bool reads = std::ranges::any_of(inputs, [&](const auto& t) { return is_on_the_way(t); });
    if (op.is<PlaceholderOp>() || !reads) return;
    require(!op.is<ScanOp>(), ErrorKind::user, "scan_has_no_gradient",
            hint("write its steps as computes of their own, or take the gradient by tensors that "
                 "are computed from it"),
            op.span(),
            "gradient: {} is a scan: its derivative would run its steps backwards, and need all of "
            "their states",
            name_of(op));
    require(op.is<ComputeOp>(), ErrorKind::user, "extern_has_no_gradient",
            hint("give the gradient of what it computes, as head of what it reads"), op.span(),
            "gradient: {} is made by a statement, whose derivative is not known", name_of(op));
    for (std::size_t i = 0; i < output_count(op); ++i) {
      const Tensor tensor = output(op, i);
      if (!is_result(tensor) && !derivatives_.contains(key(tensor))) continue;
      if (tensor.dtype().is_float()) pass_on(op, i);
    }
  }

  bool is_result(const Tensor& tensor) const { return tensor == result_; }

  void pass_on(const Ref& op, std::size_t index) {
    const auto& compute = *op.as<ComputeOp>();
    std::vector<ValueDerivative> parts{{compute.body[index], {}, {}}};
    if (compute.body[index].is<Reduce>()) parts = reduction_derivatives(op, index);
    for (const ValueDerivative& part : parts) {
      const auto reads = derivatives_by_reads(
          compute.name, part.value, [&](const Tensor& read) { return is_on_the_way(read); });
      for (ReadDerivative read : reads) {
        read.guards.insert(read.guards.end(), part.guards.begin(), part.guards.end());
        if (part.factor.defined()) read.factor = product_of(read.factor, part.factor);
        add(op, index, read);
      }
    }
  }

  /// Adds what changes with an element through one place where an operation reads it.
  void add(const Ref& op, std::size_t index, const ReadDerivative& read) {
    const auto& compute = *op.as<ComputeOp>();
    Derivative& derivative = derivative_of(read);
    ElementRead element{.guards = read.guards};
    for (const auto& axis : compute.axis) element.axes.emplace_back(axis);
    for (const auto& axis : compute.reduce_axis()) element.axes.emplace_back(axis);
    element.known = derivative.prefix;
    element.known.insert(element.known.end(), derivative.coordinates.begin(),
                         derivative.coordinates.end());
    for (std::size_t i = 0; i < read.indices.size(); ++i) {
      element.equations.push_back(read.indices[i] == derivative.coordinates[i]);
    }
    const Expr incoming = change_with(output(op, index), derivative.prefix, element.equations);
    const Expr value = loopsmith::cast(read.tensor.dtype(), product_of(incoming, read.factor));
    for (const Readers& readers : readers_of_element(element)) {
      derivative.terms.push_back(simplified(element, readers, compute.name, value));
    }
  }

  /// What changes with an element of a tensor, at the axes of its operation. For the result
  /// without a head it is 1 where these are the prefix: an equation.
  Expr change_with(const Tensor& tensor, const std::vector<IterVar>& prefix,
                   std::vector<Expr>& equations) {
    const auto& axes = tensor->op.as<ComputeOp>()->axis;
    if (is_result(tensor) && !head_.defined()) {
      for (std::size_t i = 0; i < axes.size(); ++i) {
        equations.push_back(Expr(axes[i]->var) == Expr(prefix[i]));
      }
      return const_of(tensor.dtype(), 1);
    }
    std::vector<Expr> indices = variables_of(prefix);
    for (const auto& axis : axes) indices.emplace_back(axis->var);
    return derivative_by(tensor).at(std::move(indices));
  }

  static Term simplified(const ElementRead& element, const Readers& readers,
                         const std::string& reader, const Expr& value) {
    Analyzer analyzer;
    bind_axes(analyzer, element.known);
    bind_axes(analyzer, readers.axes);
    Term term{reader, readers.axes, readers.conditions, {}};
    std::vector<ConstraintScope> scopes;
    for (const Expr& condition : term.conditions) {
      scopes.push_back(analyzer.constraint_scope(condition));
    }
    term.value = analyzer.simplify(substitute(value, readers.values));
    while (!scopes.empty()) scopes.pop_back();
    return term;
  }

  Derivative& derivative_of(const ReadDerivative& read) {
    const auto [place, is_new] = derivatives_.emplace(key(read.tensor), Derivative());
    Derivative& derivative = place->second;
    if (!is_new) return derivative;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < read.indices.size(); ++i) {
      const auto* plain = read.indices[i].as<Var>();
      names.push_back(plain ? plain->name : fmt::format("ax{}", i));
    }
    set_axes(derivative, read.tensor, names);
    return derivative;
  }

  void set_axes(Derivative& derivative, const Tensor& tensor,
                const std::vector<std::string>& names) const {
    for (std::size_t i = 0; i < prefix_.size(); ++i) {
      derivative.prefix.push_back(axis_of(fmt::format("o{}", i), prefix_[i]));
    }
    for (std::size_t i = 0; i < tensor.ndim(); ++i) {
      derivative.coordinates.push_back(axis_of(names[i], tensor.shape()[i]));
    }
  }

  /// The derivative by a tensor, of which all readers have been seen.
  Tensor derivative_by(const Tensor& tensor) {
    const auto known = made_.find(key(tensor));
    if (known != made_.end()) return known->second;
    return made_.emplace(key(tensor), make_derivative(tensor)).first->second;
  }

  Tensor make_derivative(const Tensor& tensor) {
    if (is_result(tensor) && head_.defined()) return head_;
    Derivative derivative = derivatives_[key(tensor)];
    if (derivative.coordinates.empty() && derivative.prefix.empty()) {
      std::vector<std::string> names;
      for (std::size_t i = 0; i < tensor.ndim(); ++i) names.push_back(fmt::format("ax{}", i));
      set_axes(derivative, tensor, names);
    }
    if (is_result(tensor)) derivative.terms = {identity(derivative, tensor.dtype())};
    return sum_of(derivative, tensor);
  }

  /// 1 where the coordinates are the prefix.
  static Term identity(const Derivative& derivative, DataType dtype) {
    Term term{.value = const_of(dtype, 1)};
    for (std::size_t i = 0; i < derivative.prefix.size(); ++i) {
      term.conditions.push_back(Expr(derivative.prefix[i]) == Expr(derivative.coordinates[i]));
    }
    return term;
  }

  static Tensor sum_of(const Derivative& derivative, const Tensor& tensor) {
    std::vector<IterVar> axes = derivative.prefix;
    axes.insert(axes.end(), derivative.coordinates.begin(), derivative.coordinates.end());
    const std::string name = tensor.name() + ".grad";
    if (derivative.terms.size() == 1) {
      const Term& term = derivative.terms[0];
      return tensor_over(name, axes, term.axes, term.conditions, term.value);
    }
    Expr total;
    for (const Term& term : derivative.terms) {
      const bool reduces = !term.axes.empty();
      const Expr part = reduces ? tensor_over(name + "." + term.reader, axes, term.axes,
                                              term.conditions, term.value)
                                      .at(variables_of(axes))
                                : guarded(term.conditions, term.value);
      total = total.defined() ? total + part : part;
    }
    if (!total.defined()) total = zero_of(tensor.dtype());
    return tensor_over(name, axes, {}, {}, total);
  }

  const Tensor& result_;
  const std::vector<Tensor>& inputs_;
  const Tensor& head_;
  std::vector<Ref> order_;
  std::vector<Expr> prefix_;
  std::unordered_set<const Object*> wanted_;  ///< Operations that depend on inputs, and theirs.
  std::map<Key, Derivative> derivatives_;
  std::map<Key, Tensor> made_;
};

void require_floats(std::string_view what, const Tensor& tensor) {
  require(tensor.defined(), ErrorKind::type_mismatch, "tensor_is_given", hint("give a tensor"),
          current_span, "gradient: the {} is missing", what);
  require(tensor.dtype().is_float(), ErrorKind::type_mismatch, "gradient_is_of_floats",
          hint("cast it to a floating-point type first"), current_span,
          "gradient: the {} {} is {}: only floating-point numbers have derivatives", what,
          tensor.name(), to_string(tensor.dtype()));
}

void require_head(const Tensor& output, const Tensor& head) {
  const std::size_t prefix = head.ndim() - std::min(head.ndim(), output.ndim());
  bool fits = head.ndim() >= output.ndim();
  for (std::size_t i = 0; fits && i < output.ndim(); ++i) {
    fits = same_extent(head.shape()[prefix + i], output.shape()[i]);
  }
  require(fits, ErrorKind::type_mismatch, "head_ends_in_output",
          hint("give it the output's shape, after any other dimensions"), current_span,
          "gradient: the last dimensions of head {} are not those of {}", head.name(),
          output.name());
  require(head.dtype() == output.dtype(), ErrorKind::type_mismatch, "head_has_type_of_output",
          hint("cast it to the type of the output"), current_span,
          "gradient: head {} is {}, {} is {}", head.name(), to_string(head.dtype()), output.name(),
          to_string(output.dtype()));
}

}  // namespace

std::vector<Tensor> gradient(const Tensor& output, const std::vector<Tensor>& inputs,
                             const Tensor& head) {
  require_floats("output", output);
  for (const Tensor& input : inputs) require_floats("input", input);
  if (head.defined()) require_head(output, head);
  return Gradient(output, inputs, head)();
}

}  // namespace loopsmith::te
