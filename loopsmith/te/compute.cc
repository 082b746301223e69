// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/compute.h"

#include <algorithm>

#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith::te {
namespace {

bool contains_reduction(const Expr& expr) {
  bool found = false;
  pre_order_visit(expr, [&](const Ref& ref) {
    found |= ref.is<Reduce>();
    return !found && !ref.is<loopsmith::Tensor>();
  });
  return found;
}

/// Reductions occur on top of a value only.
void require_reductions_on_top(std::string_view name, const Expr& body) {
  std::vector<Expr> parts{body};
  if (const auto* reduce = body.as<Reduce>()) {
    parts = reduce->source;
    parts.insert(parts.end(), reduce->init.begin(), reduce->init.end());
    parts.push_back(reduce->condition);
  }
  for (const Expr& part : parts) {
    require(!contains_reduction(part), ErrorKind::user, "reduction_is_on_top",
            hint("compute the inner reduction as a tensor of its own, and read that"), current_span,
            "compute {}: a reduction stands inside another expression", name);
  }
}

bool same_elements(const auto& a, const auto& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Ref& x, const Ref& y) { return x.same_as(y); });
}

/// Each value of the reduction is an output, once: all are needed to compute any.
void require_whole_tuple(std::string_view name, const std::vector<Expr>& bodies,
                         std::size_t count) {
  std::vector<bool> found(count);
  for (const Expr& body : bodies) {
    found[static_cast<std::size_t>(body.as<Reduce>()->value_index)] = true;
  }
  const bool all = std::find(found.begin(), found.end(), false) == found.end();
  require(all && bodies.size() == count, ErrorKind::user, "outputs_hold_whole_tuple",
          hint("return all of the tuple, and read the output that you need"), current_span,
          "compute {}: {} outputs for a reduction of {} values", name, bodies.size(), count);
}

/// Several outputs are parts of one reduction, or none is a reduction.
void require_one_reduction(std::string_view name, const std::vector<Expr>& bodies) {
  const auto* first = bodies[0].as<Reduce>();
  for (const Expr& body : bodies) {
    const auto* other = body.as<Reduce>();
    require((first != nullptr) == (other != nullptr), ErrorKind::user, "all_outputs_reduce",
            hint("make the outputs that do not reduce a compute of their own"), current_span,
            "compute {}: some outputs are reductions, others are not", name);
    if (!first) continue;
    require(first->combiner.same_as(other->combiner) && same_elements(first->axis, other->axis) &&
                same_elements(first->source, other->source) &&
                same_elements(first->init, other->init) &&
                first->condition.same_as(other->condition),
            ErrorKind::user, "outputs_share_reduction",
            hint("reduce a tuple of values once, or make each a compute of its own"), current_span,
            "compute {}: its outputs come from different reductions", name);
  }
  if (first) require_whole_tuple(name, bodies, first->source.size());
}

void require_distinct_reduce_axes(std::string_view name, const Expr& body) {
  const auto* reduce = body.as<Reduce>();
  if (!reduce) return;
  for (std::size_t i = 0; i < reduce->axis.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      require(!reduce->axis[i].same_as(reduce->axis[j]), ErrorKind::user, "axis_occurs_once",
              hint("name each axis once"), current_span,
              "compute {}: it reduces twice over axis {}", name, reduce->axis[i]->var->name);
    }
  }
}

void verify(std::string_view name, const std::vector<Expr>& bodies) {
  require(!bodies.empty(), ErrorKind::user, "compute_has_value", hint("give one value or more"),
          current_span, "compute {}: the function gives no value", name);
  for (const Expr& body : bodies) {
    require(body.defined(), ErrorKind::type_mismatch, "value_is_expression",
            hint("give an expression"), current_span, "compute {}: a value is missing", name);
    require(!body.dtype().is_void() && !body.dtype().is_handle(), ErrorKind::type_mismatch,
            "tensor_of_numbers", hint("give a number for each element"), current_span,
            "compute {}: a value is {}, not a number", name, to_string(body.dtype()));
    require_reductions_on_top(name, body);
  }
  require_one_reduction(name, bodies);
  require_distinct_reduce_axes(name, bodies[0]);
}

std::vector<Ptr<loopsmith::IterVar>> axes_of(std::string_view name, const std::vector<Expr>& shape,
                                             const std::vector<std::string>& names) {
  require(names.empty() || names.size() == shape.size(), ErrorKind::user, "one_name_an_axis",
          hint("name each axis, or none"), current_span, "compute {}: {} names for {} axes", name,
          names.size(), shape.size());
  std::vector<Ptr<loopsmith::IterVar>> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const DataType type = shape[i].dtype();
    auto variable = var(names.empty() ? fmt::format("i{}", i) : names[i], type);
    axes.push_back(make(loopsmith::IterVar{.dom = range(zero_of(type), shape[i]),
                                           .var = std::move(variable),
                                           .iter_type = IterType::data_par}));
  }
  return axes;
}

}  // namespace

void detail::require_one_parameter_a_dimension(const std::string& name, std::size_t count,
                                               std::size_t given) {
  require(given == count, ErrorKind::type_mismatch, "one_parameter_a_dimension",
          hint("give the function one parameter for each dimension"), current_span,
          "compute {}: the function takes {} indices, the shape has {} dimensions", name, count,
          given);
}

std::vector<Tensor> compute_outputs(std::vector<Expr> shape, const ComputeFunction& function,
                                    std::string name, ComputeOptions options, const Place& place) {
  const SpanScope scope(span_of(place));
  detail::require_shape("compute", name, shape, f32);
  auto axes = axes_of(name, shape, options.axes);
  const std::vector<Expr> indices = [&] {
    std::vector<Expr> variables;
    for (const auto& axis : axes) variables.emplace_back(axis->var);
    return variables;
  }();
  std::vector<Expr> bodies = function(indices);
  verify(name, bodies);
  for (const Expr& body : bodies) detail::require_shape("compute", name, shape, body.dtype());

  const Ref op = make(ComputeOp{.name = std::move(name),
                                .tag = std::move(options.tag),
                                .attrs = std::move(options.attrs),
                                .axis = std::move(axes),
                                .body = std::move(bodies)});
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < output_count(op); ++i) outputs.push_back(output(op, i));
  return outputs;
}

}  // namespace loopsmith::te
