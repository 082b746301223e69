// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/infer_regions.h"
#include "loopsmith/arith/reducers.h"
#include "loopsmith/arith/relax.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te/lower_ops.h"

namespace loopsmith::te {
namespace {

/// One block in the making: its axes, and what they take the place of.
struct BlockAxes {
  std::vector<Ptr<loopsmith::IterVar>> iter_vars;
  std::vector<Expr> values;   ///< What the loops bind them to.
  std::vector<Expr> indices;  ///< Of the element that the block computes.
  Substitution substitution;

  void add(const loopsmith::IterVar& axis, const Expr& value, IterType type) {
    auto variable = var("v_" + axis.var->name, axis.var->dtype);
    iter_vars.push_back(
        make(loopsmith::IterVar{.dom = axis.dom, .var = variable, .iter_type = type}));
    values.push_back(value);
    substitution[axis.var] = variable;
    if (type != IterType::comm_reduce) indices.emplace_back(variable);
  }
};

struct Loop {
  Ptr<Var> loop_var;
  Ptr<Range> domain;
};

/// The loops of an operation, and each time new axes for a block in them.
class Nest {
 public:
  Nest(const ComputeOp& op, const TimeLoop* time) : axes_(op.axis), time_(time) {
    auto reduce_axis = op.reduce_axis();
    for (auto& axis : reduce_axis) axis = rectangular(axis, op.axis);
    is_empty_reduction_ = std::ranges::any_of(
        reduce_axis, [](const auto& axis) { return is_const_int(axis->dom->extent, 0); });
    if (!is_empty_reduction_) axes_.insert(axes_.end(), reduce_axis.begin(), reduce_axis.end());
    for (std::size_t i = time ? 1 : 0; i < axes_.size(); ++i) {
      loops_.push_back({var(axes_[i]->var->name, axes_[i]->var->dtype), axes_[i]->dom});
    }
  }

  /// When values of the axes to reduce over belong to the element that is computed.
  const Expr& condition() const { return condition_; }

  /// True where the axes to reduce over are known to be empty: they are no loops then.
  bool is_empty_reduction() const { return is_empty_reduction_; }

  BlockAxes block_axes() const {
    BlockAxes axes;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      if (time_ && i == 0) {
        axes.add(*axes_[0], cast(axes_[0]->var->dtype, time_->loop_var), IterType::ordered);
        axes.iter_vars[0] = with_domain(axes.iter_vars[0], time_->domain);
      } else {
        axes.add(*axes_[i], loops_[time_ ? i - 1 : i].loop_var, axes_[i]->iter_type);
      }
    }
    if (axes_.empty()) {
      // A block has an axis, were it only for one value.
      axes.iter_vars.push_back(make(loopsmith::IterVar{.dom = range(0, 1), .var = var("vi", i32)}));
      axes.values.emplace_back(0);
    }
    return axes;
  }

  Stmt around(Stmt body) const {
    for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop) {
      body = for_loop(loop->loop_var, loop->domain->min, loop->domain->extent, std::move(body));
    }
    return body;
  }

 private:
  /// An axis whose ends depend on which element is computed runs through the values that it has for
  /// any of them; a loop that is empty for some would not even initialize those.
  Ptr<loopsmith::IterVar> rectangular(const Ptr<loopsmith::IterVar>& axis,
                                      const std::vector<Ptr<loopsmith::IterVar>>& spatial) {
    const Expr begin = axis->dom->min, end = begin + axis->dom->extent;
    arith::Intervals ranges;
    bool depends = false;
    for (const auto& outer : spatial) {
      const Expr& first = outer->dom->min;
      ranges[outer->var] = arith::Interval{first, first + outer->dom->extent - 1};
      depends = depends || uses_variable(begin, outer->var) || uses_variable(end, outer->var);
    }
    const auto low = arith::relax(begin, ranges), high = arith::relax(end, ranges);
    if (!depends || !low || !high) return axis;
    condition_ = condition_ && begin <= axis->var && axis->var < end;
    Analyzer analyzer;
    return with_domain(
        axis, range(analyzer.simplify(low->min), analyzer.simplify(max(high->max - low->min, 0))));
  }

  static Ptr<loopsmith::IterVar> with_domain(const Ptr<loopsmith::IterVar>& axis,
                                             const Ptr<Range>& domain) {
    loopsmith::IterVar copy = *axis;
    copy.dom = domain;
    return make(std::move(copy));
  }

  std::vector<Ptr<loopsmith::IterVar>> axes_;
  const TimeLoop* time_;
  std::vector<Loop> loops_;
  Expr condition_ = true;
  bool is_empty_reduction_ = false;
};

Stmt realize(BlockAxes axes, std::string name, Attrs annotations, Stmt init, Stmt body) {
  const auto block = make(Block{.iter_vars = std::move(axes.iter_vars),
                                .name_hint = std::move(name),
                                .annotations = std::move(annotations),
                                .init = std::move(init),
                                .body = std::move(body)});
  return make(BlockRealize{.iter_values = std::move(axes.values), .block = detect_regions(block)});
}

/// What combines with a value to that value, exactly.
Expr neutral_value(const CommReducer& combiner, std::size_t i) {
  // The identity of max is the least finite number; -infinity is below it.
  const DataType type = combiner.identity_element[i].dtype();
  const bool has_infinity = type.is_float() && type.code != TypeCode::float8_e4m3;
  if (has_infinity && combiner.result[i].is<Max>()) return -infinity(type);
  if (has_infinity && combiner.result[i].is<Min>()) return infinity(type);
  return combiner.identity_element[i];
}

/// The combiner of a reduction, which may depend on the element: where the axes are.
Ptr<CommReducer> combiner_at(const ComputeOp& op, const BlockAxes& axes) {
  return clone_with(op.body[0], axes.substitution).as<Reduce>()->combiner;
}

class Reduction {
 public:
  Reduction(const ComputeOp& op, const Ref& self, const Nest& nest, const BlockAxes& axes,
            LowerContext& context)
      : reduce_(*op.body[0].as<Reduce>()), combiner_(combiner_at(op, axes)) {
    const auto load = [&](const Expr& expr) {
      return load_buffers(expr, context.buffers, axes.substitution);
    };
    const Expr condition = load(nest.condition() && reduce_.condition);
    for (std::size_t i = 0; i < combiner_->result.size(); ++i) {
      const Expr value = load(reduce_.source[i]);
      sources_.push_back(if_then_else(condition, value, neutral_value(*combiner_, i)));
      inits_.push_back(reduce_.init.empty() ? combiner_->identity_element[i]
                                            : load(reduce_.init[i]));
    }
    for (const Expr& body : op.body) {
      value_indices_.push_back(static_cast<std::size_t>(body.as<Reduce>()->value_index));
      buffers_.push_back(context.buffers.get(output(self, buffers_.size())));
    }
    indices_ = axes.indices;
  }

  Stmt init() const {
    std::vector<Stmt> stores;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      stores.push_back(store(buffers_[i], inits_[value_indices_[i]], indices_));
    }
    return seq(std::move(stores));
  }

  /// All values are combined before one is stored.
  Stmt update() const {
    Substitution operands;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      operands[combiner_->lhs[i]] = loopsmith::load(accumulator(i), indices_);
      operands[combiner_->rhs[i]] = sources_[i];
    }
    std::vector<Expr> results;
    for (const std::size_t i : value_indices_) {
      results.push_back(clone_with(combiner_->result[i], operands));
    }
    if (buffers_.size() == 1) return store(buffers_[0], results[0], indices_);

    std::vector<Ptr<Var>> combined;
    std::vector<Stmt> stores;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      combined.push_back(var("v_" + buffers_[i]->name, results[i].dtype()));
      stores.push_back(store(buffers_[i], combined[i], indices_));
    }
    Stmt body = seq(std::move(stores));
    for (std::size_t i = buffers_.size(); i-- > 0;) {
      body = make(LetStmt{.value = results[i], .var = combined[i], .body = std::move(body)});
    }
    return body;
  }

 private:
  const Ptr<Buffer>& accumulator(std::size_t value_index) const {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (value_indices_[i] == value_index) return buffers_[i];
    }
    check(false, "lower_compute", "no output holds value {} of the reduction", value_index);
    return buffers_[0];
  }

  const Reduce& reduce_;
  const Ptr<CommReducer> combiner_;
  std::vector<Expr> sources_;
  std::vector<Expr> inits_;
  std::vector<std::size_t> value_indices_;  ///< Of the outputs.
  std::vector<Ptr<Buffer>> buffers_;
  std::vector<Expr> indices_;
};

/// Annotations of a reduction: its reducer among them where the statements do not tell it, with
/// parameters of its own, as another reduction may have the same one.
Attrs with_reducer(Attrs annotations, const ComputeOp& op, const BlockAxes& axes,
                   const Reduction& reduction) {
  const Block block{.init = reduction.init(), .body = reduction.update()};
  if (reduction_of(block)) return annotations;
  return annotations.with(reducer_annotation, combiner_at(op, axes));
}

Stmt lower_reduction(const ComputeOp& op, const Ref& self, LowerContext& context,
                     const Nest& nest) {
  BlockAxes axes = nest.block_axes();
  const Reduction reduction(op, self, nest, axes, context);
  // No update ever runs where the axes are empty, so an init would not run either.
  const bool is_empty = nest.is_empty_reduction();
  Attrs annotations = with_reducer(context.annotations(op.attrs), op, axes, reduction);
  return nest.around(realize(std::move(axes), context.block_name(op.name, self),
                             std::move(annotations), is_empty ? nullptr : reduction.init(),
                             is_empty ? reduction.init() : reduction.update()));
}

}  // namespace

Stmt lower_compute(const ComputeOp& op, const Ref& self, LowerContext& context,
                   const TimeLoop* time) {
  const Nest nest(op, time);
  if (op.body[0].is<Reduce>()) return lower_reduction(op, self, context, nest);
  std::vector<Stmt> blocks;
  for (std::size_t i = 0; i < op.body.size(); ++i) {
    const Tensor tensor = output(self, i);
    BlockAxes axes = nest.block_axes();
    const Expr value = load_buffers(op.body[i], context.buffers, axes.substitution);
    const Stmt body = store(context.buffers.get(tensor), value, axes.indices);
    blocks.push_back(realize(std::move(axes), context.block_name(tensor.name(), self),
                             context.annotations(op.attrs), nullptr, body));
  }
  return nest.around(seq(std::move(blocks)));
}

}  // namespace loopsmith::te
