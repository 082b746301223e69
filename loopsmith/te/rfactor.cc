// SPDX-License-Identifier: Apache-2.0
// Partial results of a reduction, as a stage of a schedule.
#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te/dataflow.h"
#include "loopsmith/te/relations.h"
#include "loopsmith/te/schedule.h"

namespace loopsmith::te {
namespace {

/// The axes of a stage that have to do with one of its reduction.
struct Related {
  std::vector<IterVar> roots;   ///< Of the operation.
  std::vector<IterVar> leaves;  ///< The loops that come from them.
};

Related related_to(const StageData& stage, const IterVar& axis) {
  std::vector<IterVar> derived{axis};
  for (auto step = stage.steps.rbegin(); step != stage.steps.rend(); ++step) {
    if (const auto* split = std::get_if<SplitStep>(&*step)) {
      if (holds(derived, split->outer) || holds(derived, split->inner)) {
        derived.push_back(split->parent);
      }
    } else if (const auto* fuse = std::get_if<FuseStep>(&*step);
               fuse && holds(derived, fuse->fused)) {
      derived.push_back(fuse->outer);
      derived.push_back(fuse->inner);
    }
  }
  Related related;
  for (const IterVar& root : root_axes(stage.op)) {
    if (!holds(derived, root)) continue;
    require(root->iter_type == IterType::comm_reduce, ErrorKind::schedule, "factor_is_of_reduction",
            hint("factor an axis that is fused with no output axis"), current_span,
            "rfactor: axis {} of stage {} uses {}, an axis of the output", axis->var->name,
            te::name_of(stage), root->var->name);
    related.roots.push_back(root);
  }
  // What else comes from them.
  std::vector<IterVar> made = related.roots;
  for (const AxisStep& step : stage.steps) {
    if (const auto* split = std::get_if<SplitStep>(&step); split && holds(made, split->parent)) {
      made.push_back(split->outer);
      made.push_back(split->inner);
    }
    const auto* fuse = std::get_if<FuseStep>(&step);
    if (fuse && (holds(made, fuse->outer) || holds(made, fuse->inner))) {
      require(holds(made, fuse->outer) && holds(made, fuse->inner), ErrorKind::schedule,
              "factor_is_of_reduction", hint("call rfactor before the axes are fused"),
              current_span,
              "rfactor: axes {} and {} of stage {}, of which one is of the reduction "
              "that is factored, are fused",
              fuse->outer->var->name, fuse->inner->var->name, te::name_of(stage));
      made.push_back(fuse->fused);
    }
  }
  for (const IterVar& leaf : stage.leaf_iter_vars) {
    if (holds(made, leaf)) related.leaves.push_back(leaf);
  }
  return related;
}

Ptr<loopsmith::IterVar> axis_like(const IterVar& axis, const Ptr<Range>& domain, IterType type) {
  return make(loopsmith::IterVar{
      .dom = domain, .var = var(axis->var->name, axis->var->dtype), .iter_type = type});
}

/// The reductions of an operation over other axes: each value once, as its outputs have them.
std::vector<Expr> bodies_of(const ComputeOp& op, const Reduce& reduce) {
  std::vector<Expr> bodies;
  for (const Expr& body : op.body) {
    Reduce one = reduce;
    one.value_index = body.as<Reduce>()->value_index;
    bodies.emplace_back(make(std::move(one)));
  }
  return bodies;
}

/// The partial results: an output for each value of `axis`, which is output axis `place`.
Ref factored(const ScheduleData& schedule, const StageData& stage, const ComputeOp& op,
             const IterVar& axis, std::size_t place) {
  const AxisDomains domains = domains_of(stage, "rfactor");
  const Related related = related_to(stage, axis);
  AxisValues values;
  Analyzer analyzer;
  Ptr<loopsmith::IterVar> factor;
  Reduce reduce = *op.body[0].as<Reduce>();
  std::vector<Ptr<loopsmith::IterVar>> kept;
  for (const auto& own : reduce.axis) {
    if (!holds(related.roots, own)) kept.push_back(own);
  }
  for (const IterVar& leaf : related.leaves) {
    const bool is_factor = leaf.same_as(axis);
    const Ptr<Range>& domain = domains.at(leaf);
    if (!is_factor) {
      // It is the same loop, of the partial results now.
      kept.push_back(make(
          loopsmith::IterVar{.dom = domain, .var = leaf->var, .iter_type = IterType::comm_reduce}));
      values[leaf] = kept.back()->var;
      analyzer.bind(kept.back()->var, domain);
      continue;
    }
    // A dimension of a tensor starts at 0.
    const Ptr<Range> counted = range(zero_of(domain->extent.dtype()), domain->extent);
    factor = axis_like(leaf, counted, IterType::data_par);
    values[leaf] = factor->var + domain->min;
    analyzer.bind(factor->var, counted);
  }
  pass_up(stage, domains, values);
  Substitution by_root;
  for (const IterVar& root : related.roots) {
    by_root[root->var] = analyzer.simplify(values.at(root));
  }
  for (Expr& source : reduce.source) source = substitute(source, by_root);
  reduce.condition = substitute(reduce.condition, by_root);
  for (const Expr& guard : guards_of(stage, domains, values)) {
    reduce.condition = reduce.condition && analyzer.simplify(guard);
  }
  reduce.axis = kept;
  reduce.init.clear();
  ComputeOp partial = op;
  partial.name = op.name + ".rf";
  while (has_stage_named(schedule, partial.name)) partial.name += ".rf";
  partial.axis.insert(partial.axis.begin() + static_cast<std::ptrdiff_t>(place), factor);
  if (kept.empty()) {
    // Nothing is left to combine: each partial result is one value.
    partial.body.clear();
    for (const Expr& body : op.body) {
      const auto index = static_cast<std::size_t>(body.as<Reduce>()->value_index);
      partial.body.push_back(if_then_else(reduce.condition, reduce.source[index],
                                          reduce.combiner->identity_element[index]));
    }
  } else {
    partial.body = bodies_of(op, reduce);
  }
  return make(std::move(partial));
}

/// The combination of the partial results.
Ref combined(const ComputeOp& op, const Ref& partial, const IterVar& axis, std::size_t place) {
  ComputeOp whole = op;
  whole.axis.clear();
  std::vector<Expr> indices;
  for (std::size_t i = 0; i < op.axis.size(); ++i) {
    auto variable = var(fmt::format("ax{}", i), op.axis[i]->var->dtype);
    indices.emplace_back(variable);
    whole.axis.push_back(
        make(loopsmith::IterVar{.dom = op.axis[i]->dom, .var = std::move(variable)}));
  }
  const Ptr<Range>& domain = partial.as<ComputeOp>()->axis[place]->dom;
  const auto factor = make(loopsmith::IterVar{.dom = domain,
                                              .var = var(axis->var->name + ".v", axis->var->dtype),
                                              .iter_type = IterType::comm_reduce});
  indices.insert(indices.begin() + static_cast<std::ptrdiff_t>(place), factor->var);
  Reduce reduce = *op.body[0].as<Reduce>();
  Substitution by_axis;
  for (std::size_t i = 0; i < op.axis.size(); ++i) by_axis[op.axis[i]->var] = whole.axis[i]->var;
  for (Expr& init : reduce.init) init = substitute(init, by_axis);
  for (std::size_t i = 0; i < op.body.size(); ++i) {
    const auto value = static_cast<std::size_t>(op.body[i].as<Reduce>()->value_index);
    reduce.source[value] = output(partial, i).at(indices);
  }
  reduce.axis = {factor};
  reduce.condition = true;
  whole.body = bodies_of(op, reduce);
  return make(std::move(whole));
}

}  // namespace

std::vector<Tensor> Schedule::rfactor(const Tensor& tensor, const IterVar& axis,
                                      std::int64_t factor_axis) {
  const Stage stage = (*this)[tensor];
  const StageData& data = stage.data();
  stage.leaf("rfactor", axis);
  const auto* op = data.op.as<ComputeOp>();
  require(op && op->body[0].is<Reduce>(), ErrorKind::schedule, "factored_is_reduction",
          hint("factor what te.compute makes with a reduction on top"), current_span,
          "rfactor: stage {} is no reduction", te::name_of(data));
  stage.require_kind("rfactor", axis, {IterType::comm_reduce},
                     hint("factor an axis of the reduction"));
  const auto dimensions = static_cast<std::int64_t>(op->axis.size());
  require(factor_axis >= -(dimensions + 1) && factor_axis <= dimensions, ErrorKind::schedule,
          "factor_axis_is_in_range",
          hint("the partial results have one dimension more than the results"), current_span,
          "rfactor: factor_axis is {}, not within {} and {}", factor_axis, -(dimensions + 1),
          dimensions);
  const auto place =
      static_cast<std::size_t>(factor_axis < 0 ? factor_axis + dimensions + 1 : factor_axis);
  const Ref partial = factored(*data_, data, *op, axis, place);
  const Ref whole = combined(*op, partial, axis, place);
  insert_stage(*data_, partial, stage.id(), false);
  replace_operation(*data_, stage.id(), whole);
  reset_axes(data_->stages[stage.id()]);
  std::vector<Tensor> partials;
  for (std::size_t i = 0; i < output_count(partial); ++i) partials.push_back(output(partial, i));
  return partials;
}

}  // namespace loopsmith::te
