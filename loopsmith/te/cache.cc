// SPDX-License-Identifier: Apache-2.0
// Copies of tensors in other memory, as stages of a schedule.
#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te/dataflow.h"
#include "loopsmith/te/relations.h"
#include "loopsmith/te/schedule.h"

namespace loopsmith::te {
namespace {

/// `A.shared`, or `A.d.shared` where that is taken.
std::string cache_name(const ScheduleData& schedule, std::string name, const std::string& scope) {
  const std::string ending = "." + scope;
  std::string whole = name + ending;
  while (has_stage_named(schedule, whole)) {
    name += ".d";
    whole = name;
    whole += ending;
  }
  return whole;
}

void require_scope(std::string_view call, const std::string& scope) {
  require(!scope.empty(), ErrorKind::schedule, "scope_is_given",
          hint("say global, shared, local or another memory"), current_span,
          "{}: the memory of the copy has no name", call);
}

/// The axes of the cache, and the body of the operation in them.
class Relayout {
 public:
  Relayout(const StageData& stage, const ComputeOp& op)
      : stage_(stage), op_(op), domains_(domains_of(stage, "cache_write")) {
    const auto reduced = op.reduce_axis();
    const auto is_reduced = [&](const IterVar& axis) {
      return std::ranges::any_of(reduced, [&](const auto& one) { return one.same_as(axis); });
    };
    for (const IterVar& leaf : stage.leaf_iter_vars) {
      if (is_reduced(leaf)) continue;
      require(leaf->iter_type == IterType::data_par, ErrorKind::schedule,
              "layout_is_of_output_axes",
              hint("call cache_write before the reduction is split, and split that of the cache"),
              current_span,
              "cache_write: axis {} of stage {} is no axis of the output, in whose order the cache "
              "could be kept",
              leaf->var->name, te::name_of(stage));
      auto variable = var(leaf->var->name + ".c", leaf->var->dtype);
      values_[leaf] = variable;
      axes_.push_back(make(loopsmith::IterVar{
          .dom = domains_.at(leaf), .var = std::move(variable), .iter_type = IterType::data_par}));
      leaves_.push_back(leaf);
    }
    pass_up(stage, domains_, values_);
  }

  Ref cache(std::string name) const {
    Substitution by_axis;
    Analyzer analyzer;
    for (const auto& axis : axes_) analyzer.bind(axis->var, axis->dom);
    for (const auto& axis : op_.axis) by_axis[axis->var] = analyzer.simplify(values_.at(axis));
    Expr guard = true;
    for (const Expr& one : guards_of(stage_, domains_, values_)) guard = guard && one;
    ComputeOp copy = op_;
    copy.name = std::move(name);
    copy.axis = axes_;
    copy.body = bodies(by_axis, guard);
    return make(std::move(copy));
  }

  /// The element of output `index` of the cache at the axes of the operation.
  Expr element(const Ref& cache, std::size_t index) const {
    AxisValues values;
    Analyzer analyzer;
    for (const auto& axis : op_.axis) {
      values[axis] = axis->var;
      analyzer.bind(axis->var, axis->dom);
    }
    pass_down(stage_, domains_, values);
    std::vector<Expr> indices;
    for (const IterVar& leaf : leaves_) indices.push_back(analyzer.simplify(values.at(leaf)));
    return output(cache, index).at(std::move(indices));
  }

 private:
  std::vector<Expr> bodies(const Substitution& by_axis, const Expr& guard) const {
    std::vector<Expr> all;
    if (!op_.body[0].is<Reduce>()) {
      for (const Expr& body : op_.body) {
        const Expr value = substitute(body, by_axis);
        all.push_back(is_const_int(guard, 1) ? value
                                             : if_then_else(guard, value, zero_of(value.dtype())));
      }
      return all;
    }
    // All outputs share the parts of one reduction.
    Reduce shared = *substitute(op_.body[0], by_axis).as<Reduce>();
    shared.condition = shared.condition && guard;
    for (const Expr& body : op_.body) {
      Reduce one = shared;
      one.value_index = body.as<Reduce>()->value_index;
      all.emplace_back(make(std::move(one)));
    }
    return all;
  }

  const StageData& stage_;
  const ComputeOp& op_;
  AxisDomains domains_;
  AxisValues values_;
  std::vector<IterVar> leaves_;
  std::vector<Ptr<loopsmith::IterVar>> axes_;
};

/// The loads of a tensor in a compute.
std::vector<Ptr<ProducerLoad>> loads_of(const ComputeOp& op, const Tensor& tensor) {
  std::vector<Ptr<ProducerLoad>> loads;
  for (const Expr& body : op.body) {
    pre_order_visit(body, [&](const Ref& ref) {
      const auto load = Ptr<ProducerLoad>::from(ref);
      if (load && Tensor(load->producer) == tensor) loads.push_back(load);
      return !ref.is<loopsmith::Tensor>();
    });
  }
  return loads;
}

/// How many rows before their own all readers of a state read it.
Expr rows_back(const Tensor& state, const std::vector<const ComputeOp*>& readers) {
  Expr distance;
  for (const ComputeOp* reader : readers) {
    for (const auto& load : loads_of(*reader, state)) {
      const Expr back = Analyzer().simplify(reader->axis[0]->var - load->indices[0]);
      const bool is_same = !distance.defined() || structural_equal(distance, back);
      require(as_int(back) && is_same, ErrorKind::schedule, "rows_are_at_one_distance",
              hint("call cache_read for each reader that reads rows at one distance"), current_span,
              "cache_read: {} reads the state {} at rows of several distances before its own",
              reader->name, state.name());
      distance = back;
    }
  }
  return distance;
}

/// The compute with elements of the copy, at its own row, in place of those of the state.
Ref with_own_row(const ComputeOp& op, const Tensor& state, const Tensor& copy) {
  ComputeOp changed = op;
  Rewriter rewrite;
  rewrite.on<ProducerLoad>([&](const ProducerLoad& load) -> Expr {
    if (!(Tensor(load.producer) == state)) return rewrite.children(load);
    std::vector<Expr> indices = load.indices;
    for (Expr& index : indices) index = rewrite(index);
    indices[0] = op.axis[0]->var;
    return copy.at(std::move(indices));
  });
  for (Expr& body : changed.body) body = rewrite(body);
  return make(std::move(changed));
}

}  // namespace

/// A copy of the rows of a state, in the step that reads them: row t of the copy is the row before
/// t that the step reads.
Tensor Schedule::cache_state(const Tensor& state, const std::string& scope,
                             const std::vector<StageId>& readers) {
  std::vector<const ComputeOp*> ops;
  for (const StageId id : readers) {
    const auto* op = data_->stages[id].op.as<ComputeOp>();
    require(op && !op->axis.empty(), ErrorKind::schedule, "reader_is_step",
            hint("name computes of the scan's steps"), current_span,
            "cache_read: stage {} reads the state {}, but is no compute with a time axis",
            te::name_of(data_->stages[id]), state.name());
    ops.push_back(op);
  }
  const Expr distance = rows_back(state, ops);
  ComputeOp copy{.name = cache_name(*data_, state.name(), scope)};
  std::vector<Expr> indices;
  for (std::size_t i = 0; i < state.ndim(); ++i) {
    const DataType type = state.shape()[i].dtype();
    auto variable = var(fmt::format("ax{}", i), type);
    indices.emplace_back(i == 0 ? variable - distance : Expr(variable));
    const Ptr<Range> domain = range(zero_of(type), state.shape()[i]);
    copy.axis.push_back(make(loopsmith::IterVar{
        .dom = domain, .var = std::move(variable), .iter_type = IterType::data_par}));
  }
  copy.body = {make(ProducerLoad{.producer = state, .indices = std::move(indices)})};
  const Ref made = make(std::move(copy));
  const StageId id = insert_stage(*data_, made, data_->find(state->op), true);
  data_->stages[id].scope = scope;
  for (const StageId reader : readers) {
    const Ref op = data_->stages[reader].op;
    replace_operation(*data_, reader, with_own_row(*op.as<ComputeOp>(), state, output(made, 0)));
  }
  return output(made, 0);
}

Tensor Schedule::cache_read(const Tensor& tensor, const std::string& scope,
                            const std::vector<Ref>& readers) {
  require_scope("cache_read", scope);
  const StageId source = (*this)[tensor].id();
  const Tensor from = data_->current(tensor);
  std::vector<StageId> ids;
  for (const Ref& reader : readers) {
    const Stage stage = (*this)[reader];
    const auto inputs = input_tensors(stage.op());
    require(std::ranges::find(inputs, from) != inputs.end(), ErrorKind::schedule,
            "reader_reads_tensor", hint("name stages that read it"), current_span,
            "cache_read: stage {} does not read tensor {}", te::name_of(stage.data()), from.name());
    ids.push_back(stage.id());
  }
  require(!ids.empty(), ErrorKind::schedule, "cache_has_reader",
          hint("name the stages that are to read the copy"), current_span,
          "cache_read: no operation is given to read the copy of tensor {}", from.name());
  if (data_->is_state(from->op)) return cache_state(from, scope, ids);
  std::vector<Ptr<loopsmith::IterVar>> axes;
  std::vector<Expr> indices;
  for (std::size_t i = 0; i < from.ndim(); ++i) {
    const DataType type = from.shape()[i].dtype();
    auto variable = var(fmt::format("ax{}", i), type);
    indices.emplace_back(variable);
    axes.push_back(make(loopsmith::IterVar{.dom = range(zero_of(type), from.shape()[i]),
                                           .var = std::move(variable)}));
  }
  const Ref op = make(ComputeOp{.name = cache_name(*data_, from.name(), scope),
                                .axis = std::move(axes),
                                .body = {from.at(std::move(indices))}});
  const StageId made = insert_stage(*data_, op, source, true);
  data_->stages[made].scope = scope;
  const Tensor copy = output(op, 0);
  redirect_readers(*data_, ids, from, copy);
  return copy;
}

std::vector<Tensor> Schedule::cache_write(const std::vector<Tensor>& tensors,
                                          const std::string& scope) {
  require_scope("cache_write", scope);
  require(!tensors.empty(), ErrorKind::schedule, "cached_tensor_is_given",
          hint("give a tensor, or all of one operation"), current_span,
          "cache_write: no tensor is given");
  const Stage stage = (*this)[tensors[0]];
  const auto* op = stage.op().as<ComputeOp>();
  require(op, ErrorKind::schedule, "cached_is_compute", hint("cache what te.compute makes"),
          current_span, "cache_write: tensor {} is not made by a compute",
          te::name_of(stage.data()));
  for (const Tensor& tensor : tensors) {
    require((*this)[tensor].id() == stage.id(), ErrorKind::schedule, "cached_share_operation",
            hint("call it once for each operation"), current_span,
            "cache_write: tensors {} and {} are made by different operations", tensors[0].name(),
            tensor.name());
  }
  require(tensors.size() == op->body.size(), ErrorKind::schedule, "all_outputs_are_cached",
          hint("give all of them, in a list"), current_span,
          "cache_write: {} of the {} outputs of {} are given", tensors.size(), op->body.size(),
          te::name_of(stage.data()));
  const Relayout relayout(stage.data(), *op);
  const Ref cache = relayout.cache(cache_name(*data_, op->name, scope));
  ComputeOp copy = *op;
  for (std::size_t i = 0; i < copy.body.size(); ++i) copy.body[i] = relayout.element(cache, i);
  const StageId made = insert_stage(*data_, cache, stage.id(), false);
  data_->stages[made].scope = scope;
  replace_operation(*data_, stage.id(), make(std::move(copy)));
  reset_axes(data_->stages[stage.id()]);
  std::vector<Tensor> caches;
  for (const Tensor& tensor : tensors) {
    caches.push_back(output(cache, static_cast<std::size_t>(tensor->value_index)));
  }
  return caches;
}

}  // namespace loopsmith::te
