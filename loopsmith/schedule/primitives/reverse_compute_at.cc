// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/reverse_compute_at.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/iter_map.h"
#include "loopsmith/arith/trip_counts.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/schedule/legality/quick_answers.h"
#include "loopsmith/schedule/legality/reassociation.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/queries/produced_region.h"

namespace loopsmith {
namespace {

using arith::Interval;

class ReversePlanner {
 public:
  ReversePlanner(const Schedule& schedule, const ReverseComputeAtArguments& arguments)
      : schedule_(schedule),
        arguments_(arguments),
        handle_(arguments.block),
        loop_(arguments.loop.loop),
        block_(schedule.get(handle_)),
        here_{schedule.node(handle_)},
        target_(schedule.node(loop_)),
        around_(common_loop(schedule, here_.node, target_)),
        uses_(accesses_in_scope(schedule, scope_of(schedule, here_.node))) {}

  Planned<MovePlan> find() {
    collect_inputs();
    if (inputs_.empty()) {
      return Refusal{&producers_are_in_the_loop, {Argument(handle_), Argument(loop_)}};
    }
    const std::uint32_t end = slots_in_loop(schedule_, loop_);
    const auto place = place_between(after_, end, arguments_.index, end);
    if (!place) {
      return Refusal{&index_is_possible,
                     {Argument(arguments_.index), Argument(loop_), Argument(std::int64_t{after_}),
                      Argument(std::int64_t{end})}};
    }
    const Instances instances = instances_of(schedule_, handle_);
    if (!instances.unknown.empty()) {
      return Refusal{&instances_are_known, {Argument(handle_), Argument(instances.unknown)}};
    }
    MovePlan plan{handle_,
                  loop_,
                  *place,
                  instances_within(schedule_, handle_, loop_, solve(), instances),
                  arguments_.preserve_unit_loops,
                  reduction_out_of_order(schedule_, handle_, uses_)};
    const std::vector<AxisValues> values = values_of(plan.instances);
    const bool has_inputs = computes_inputs(plan.instances);
    // In an iteration of a loop around both places, fewer instances are to be served.
    const bool serves_iteration =
        has_inputs && around_ != no_node &&
        are_those_of_iteration(schedule_, handle_, around_, target_, values);
    bool is_served = serves_iteration ||
                     (has_inputs && (serves_all(plan.instances) || serves_digits(plan.instances)));
    if (!is_served && is_finished_) {
      if (auto skewed = skewed_consumer(schedule_, handle_, loop_, inputs_, instances)) {
        plan.instances = std::move(skewed->instances);
        plan.extensions = std::move(skewed->extensions);
        is_served = true;
      }
    }
    const bool is_proved = is_served && (around_ == no_node || serves_iteration) &&
                           !has_condition() && !has_unsure_loops() && keeps_inputs() &&
                           lags_behind_nothing(schedule_, handle_, loop_, uses_);
    plan.preservation = {scope_of(schedule_, here_.node), is_proved};
    return plan;
  }

 private:
  /// A write inside the loop, and the box that an iteration computes.
  struct Producer {
    BufferAccess use;
    ElementRegion box;
  };

  const BufferRegion* region_of(const std::vector<Ptr<BufferRegion>>& regions,
                                const Buffer* buffer) const {
    for (const auto& region : regions) {
      if (region->buffer.get() == buffer) return region.get();
    }
    return nullptr;
  }

  /// Finds what an iteration of the loop computes of what the block reads.
  void collect_inputs() {
    const Place target{target_};
    for (const BufferAccess& use : uses_.all) {
      if (!use.is_write || use.place.node == here_.node) continue;
      if (!region_of(block_.reads, use.buffer)) continue;
      if (!is_inside(schedule_, use.place, target_) || !is_before(schedule_, target, here_))
        continue;
      is_finished_ = is_finished_ && finishes_in_an_iteration(schedule_, use, loop_, uses_);
      producers_.push_back({use, accessed_region(schedule_, use, loop_, MemoryScope::local)});
      for (const auto& read : block_.reads) {
        if (read->buffer.get() == use.buffer)
          inputs_.push_back({read.get(), producers_.back().box});
      }
      after_ = std::max(after_, slot_in_loop(schedule_, use.place, loop_) + 1);
    }
  }

  /// True when the loop is under a condition that the block is not under.
  bool has_condition() const {
    NodeId node = schedule_.at(target_).parent;
    for (; node != no_node && !is_inside(schedule_, here_, node);
         node = schedule_.at(node).parent) {
      if (schedule_.as<IfThenElse>(node) || schedule_.as<While>(node)) return true;
    }
    return false;
  }

  /// True when a loop may have no iteration although the block has instances, or one of its own
  /// although its axes have values.
  bool has_unsure_loops() const {
    std::vector<Expr> known;
    for (const auto& axis : block_.iter_vars) known.push_back(axis->dom->extent);
    const auto own = loops_around(schedule_, here_.node);
    const bool runs = std::ranges::all_of(
        own, [&](LoopRV each) { return arith::runs_with(schedule_.get(each).extent, known); });
    if (!runs) return true;
    for (const LoopRV each : own) known.push_back(schedule_.get(each).extent);
    return std::ranges::any_of(
        loops_around(schedule_, schedule_.at(target_).first_child),
        [&](LoopRV each) { return !arith::runs_with(schedule_.get(each).extent, known); });
  }

  std::vector<Interval> solve() const {
    std::vector<Interval> axes(block_.iter_vars.size());
    for (const ComputedInput& input : inputs_) {
      const auto values = axes_accessing(block_, *input.read, input.box);
      for (std::size_t i = 0; i < axes.size(); ++i) {
        if (!axes[i].min.defined()) axes[i] = values[i];
      }
    }
    return axes;
  }

  /// True when an iteration computes what its instances read.
  bool computes_inputs(const RequiredInstances& place) const {
    if (!is_finished_) return false;
    const IndexForms forms(ranges_around(schedule_, target_));
    arith::Intervals values;
    for (std::size_t i = 0; i < place.axes.size(); ++i) {
      const AxisRange& run = place.axes[i];
      const Expr last = run.min + run.extent - int_imm(run.min.dtype(), 1);
      values[block_.iter_vars[i]->var] = Interval{run.min, last};
    }
    const auto is_less_equal = [&](const Expr& a, const Expr& b) {
      if (a.same_as(b)) return true;
      const auto form = forms.read(b - a);
      if (form && form->terms.empty()) return form->constant >= 0;
      Analyzer analyzer;
      for (const For* around : loops_above()) {
        if (is_const_int(around->step, 1)) {
          analyzer.bind(around->loop_var, range(around->min, around->extent));
        }
      }
      return analyzer.can_prove(a <= b, ProofStrength::symbolic_bound);
    };
    for (const ComputedInput& input : inputs_) {
      for (std::size_t d = 0; d < input.box.size(); ++d) {
        const Range& part = *input.read->region[d];
        const auto first = arith::relax(part.min, values);
        const auto last =
            is_const_int(part.extent, 1)
                ? first
                : arith::relax(part.min + part.extent - int_imm(part.extent.dtype(), 1), values);
        const Interval& computed = input.box[d];
        if (!first || !last || !computed.min.defined() || !computed.max.defined() ||
            !is_less_equal(computed.min, first->min) || !is_less_equal(last->max, computed.max)) {
          return false;
        }
      }
    }
    return true;
  }

  /// True when no loop inside of the one around both places runs the producers again: what they
  /// compute is then what they compute last.
  bool keeps_inputs() const {
    return std::ranges::all_of(producers_, [&](const Producer& producer) {
      return std::ranges::all_of(loops_above(around_), [&](const For* around) {
        const auto uses = [&](const Expr& expr) {
          return expr.defined() && uses_variable(expr, around->loop_var);
        };
        return is_const_int(around->extent, 1) ||
               std::ranges::any_of(producer.box, [&](const Interval& side) {
                 return uses(side.min) || uses(side.max);
               });
      });
    });
  }

  /// The loop and those around it, up to the one that is given.
  std::vector<const For*> loops_above(NodeId until = no_node) const {
    std::vector<const For*> loops;
    for (NodeId node = target_; node != until; node = schedule_.at(node).parent) {
      if (schedule_.as<BlockRealize>(node)) break;
      if (const auto* around = schedule_.as<For>(node)) loops.push_back(around);
    }
    return loops;
  }

  /// True when the iterations of the loop and those around it run every instance; of a reduction
  /// each once, in its order.
  bool serves_all(const RequiredInstances& place) const {
    const IndexForms forms(ranges_around(schedule_, target_));
    std::vector<const For*> unused = loops_above();
    bool is_reduced = false;
    for (std::size_t i = 0; i < place.axes.size(); ++i) {
      const IterVar& axis = *block_.iter_vars[i];
      const AxisRange& run = place.axes[i];
      if (same(run.min, axis.dom->min) && same(run.extent, axis.dom->extent)) continue;
      const bool is_reduction = axis.iter_type == IterType::comm_reduce;
      is_reduced = is_reduced || is_reduction;
      const auto form = forms.read(run.min);
      const auto* width = run.extent.as<IntImm>();
      if (!form || !width) return false;
      std::vector<RadixTerm> digits;
      std::int64_t low = form->constant;
      const For* only = nullptr;
      for (const IndexTerm& term : form->terms) {
        const auto found = std::ranges::find_if(
            unused, [&](const For* around) { return around->loop_var.get() == term.atom.get(); });
        if (term.kind != IndexTerm::Kind::variable || found == unused.end()) return false;
        only = *found;
        unused.erase(found);
        if (!is_const_int(only->step, 1) || (is_reduction && term.coefficient < 0)) return false;
        if (!term.is_bounded && form->terms.size() > 1) return false;
        if (!term.is_bounded) continue;
        digits.push_back({std::abs(term.coefficient), term.max - term.min + 1});
        low += std::min(term.coefficient * term.min, term.coefficient * term.max);
      }
      if (only && digits.empty()) {
        if (!reaches_end(axis, form->terms[0].coefficient, form->constant, *only, width->value)) {
          return false;
        }
        continue;
      }
      const auto reach = reach_of(std::move(digits), width->value, is_reduction);
      const auto* first = axis.dom->min.as<IntImm>();
      const auto* extent = axis.dom->extent.as<IntImm>();
      if (!reach || !first || !extent || low > first->value ||
          low + *reach < first->value + extent->value) {
        return false;
      }
    }
    return !is_reduced || std::ranges::all_of(unused, [](const For* around) {
      return is_const_int(around->extent, 1);
    });
  }

  /// The same, where axes are digits of fused loops; each iteration has a window of each.
  bool serves_digits(const RequiredInstances& place) const {
    std::vector<Iterator> iterators;
    for (const For* around : loops_above()) {
      if (!is_const_int(around->step, 1)) return false;
      iterators.insert(iterators.begin(), {around->loop_var, around->min, around->extent});
    }
    std::vector<Expr> digits;
    std::vector<const Range*> domains;
    std::vector<std::int64_t> widths;
    for (std::size_t i = 0; i < place.axes.size(); ++i) {
      const IterVar& axis = *block_.iter_vars[i];
      const AxisRange& run = place.axes[i];
      if (same(run.min, axis.dom->min) && same(run.extent, axis.dom->extent)) continue;
      const std::int64_t* width = as_int(run.extent);
      if (axis.iter_type == IterType::comm_reduce || !width) return false;
      digits.push_back(run.min);
      domains.push_back(axis.dom.get());
      widths.push_back(*width);
    }
    Analyzer analyzer;
    const IterMapResult map =
        detect_iter_map(digits, iterators, {.level = IterMapLevel::surjective}, analyzer);
    if (!map.ok()) return false;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      const IterSumExpr& sum = map.indices[i];
      const std::int64_t *first = as_int(domains[i]->min), *extent = as_int(domains[i]->extent);
      if (!sum.base.is_constant() || !first || !extent || sum.args.size() > 1) return false;
      std::int64_t last = sum.base.constant;
      if (!sum.args.empty()) {
        const IterSplitExpr& digit = sum.args[0];
        if (!digit.scale.is_constant() || !digit.extent.is_constant()) return false;
        // Windows that leave no gaps.
        if (digit.scale.constant < 1 || digit.scale.constant > widths[i]) return false;
        last += digit.scale.constant * (digit.extent.constant - 1);
      }
      if (sum.base.constant > *first || last + widths[i] < *first + *extent) return false;
    }
    return true;
  }

  /// A loop with symbolic bounds: min = weight * loop + constant, in windows of `width`.
  static bool reaches_end(const IterVar& axis, std::int64_t weight, std::int64_t constant,
                          const For& around, std::int64_t width) {
    if (weight < 1 || weight > width) return false;
    if (axis.iter_type == IterType::comm_reduce && weight != width) return false;
    const DataType type = axis.var->dtype;
    const Expr shift = int_imm(type, constant);
    const Expr factor = int_imm(type, weight);
    const Expr first = around.min * factor + shift;
    const Expr end =
        (around.min + around.extent - int_imm(type, 1)) * factor + shift + int_imm(type, width);
    Analyzer analyzer;
    return analyzer.can_prove(first <= axis.dom->min) &&
           analyzer.can_prove(end >= axis.dom->min + axis.dom->extent,
                              ProofStrength::symbolic_bound);
  }

  static bool same(const Expr& a, const Expr& b) { return a.same_as(b) || structural_equal(a, b); }

  const Schedule& schedule_;
  const ReverseComputeAtArguments& arguments_;
  const BlockRV handle_;
  const LoopRV loop_;
  const Block& block_;
  const Place here_;
  const NodeId target_;
  const NodeId around_;  ///< The innermost loop around the block and the loop; no_node: none.
  const ScopeAccesses uses_;
  std::vector<ComputedInput> inputs_;
  std::vector<Producer> producers_;
  std::uint32_t after_ = 0;
  bool is_finished_ = true;  ///< An iteration of the loop finishes what it computes of the inputs.
};

}  // namespace

Planned<ReverseComputeAtPlan> plan_reverse_compute_at(const Schedule& schedule,
                                                      const ReverseComputeAtArguments& arguments) {
  const auto as_plan = [](auto planned) -> Planned<ReverseComputeAtPlan> {
    if (auto* refusal = std::get_if<Refusal>(&planned)) return std::move(*refusal);
    return ReverseComputeAtPlan(std::get<0>(std::move(planned)));
  };
  if (arguments.loop.is_mark()) {
    if (arguments.loop.mark() == LocationMark::root) return ReverseComputeAtPlan(Nothing{});
    return as_plan(plan_reverse_compute_inline(schedule, {.block = arguments.block}));
  }
  if (auto refusal = refuse_place(schedule, arguments.block, arguments.loop.loop)) {
    return *std::move(refusal);
  }
  return as_plan(ReversePlanner(schedule, arguments).find());
}

Nothing commit_reverse_compute_at(Schedule& schedule, ReverseComputeAtPlan&& plan) {
  if (auto* move = std::get_if<MovePlan>(&plan)) commit_move(schedule, std::move(*move));
  if (auto* paired = std::get_if<ProducerConsumerPair>(&plan)) {
    commit_reverse_compute_inline(schedule, std::move(*paired));
  }
  return {};
}

}  // namespace loopsmith
