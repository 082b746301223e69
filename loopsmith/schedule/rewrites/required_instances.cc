// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/required_instances.h"

#include <algorithm>
#include <iterator>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"

namespace loopsmith {
namespace {

using arith::Interval;

bool same_value(const Expr& a, const Expr& b) {
  return a.same_as(b) || structural_equal(a, b);
}

/// The number of values between two ends, if it is constant.
std::optional<std::int64_t> width_of(const Interval& interval, const IndexForms& forms) {
  if (!interval.min.defined() || !interval.max.defined()) return {};
  const auto form = forms.read(interval.max - interval.min);
  if (!form || !form->terms.empty()) return {};
  return form->constant + 1;
}

Expr plus(const Expr& a, std::int64_t b) {
  return b < 0 ? a - int_imm(a.dtype(), -b) : a + int_imm(a.dtype(), b);
}
Expr times(const Expr& a, std::int64_t b) {
  return a * int_imm(a.dtype(), b);
}
Expr divided(const Expr& a, std::int64_t b) {
  return floordiv(a, int_imm(a.dtype(), b));
}
Expr divided_up(const Expr& a, std::int64_t b) {
  return divided(plus(a, b - 1), b);
}

/// Bounds of axes that follow from bounds of indices.
class AxisSolver {
 public:
  explicit AxisSolver(const Block& block)
      : block_(block), forms_(forms_of_axes(block)), axes_(block.iter_vars.size()) {}

  /// `index` to `index + width - 1` shares a value with the interval.
  void intersect(const Expr& index, std::int64_t width, const Interval& interval) {
    const auto form = forms_.read(index);
    if (!form || !interval.min.defined() || !interval.max.defined()) return;
    for (std::size_t k = 0; k < form->terms.size(); ++k) {
      IndexForm rest;
      rest.constant = form->constant;
      for (std::size_t i = 0; i < form->terms.size(); ++i) {
        if (i != k) rest.terms.push_back(form->terms[i]);
      }
      const auto range = rest.range();
      if (!range) continue;
      const std::int64_t weight = form->terms[k].coefficient;
      Expr low = plus(interval.min, -(range->second + width - 1));
      Expr high = plus(interval.max, -range->first);
      if (weight < 0) {
        const Expr zero = zero_of(low.dtype());
        std::tie(low, high) = std::pair(zero - high, zero - low);
      }
      const std::int64_t by = std::abs(weight);
      atom(form->terms[k], {divided_up(low, by), divided(high, by)});
    }
  }

  std::vector<Interval> solve() && {
    // v // 8 is a point and v % 8 within bounds: both say where v is.
    for (const RadixTerm& low : digits_) {
      if (low.kind != IndexTerm::Kind::remainder) continue;
      for (const RadixTerm& high : digits_) {
        if (high.kind != IndexTerm::Kind::quotient || high.axis != low.axis || high.by != low.by ||
            high.offset != low.offset || !same_value(high.values.min, high.values.max)) {
          continue;
        }
        const Expr base = plus(times(high.values.min, low.by), -low.offset);
        axes_[low.axis] = {base + low.values.min, base + low.values.max};
      }
    }
    return std::move(axes_);
  }

 private:
  struct RadixTerm {
    IndexTerm::Kind kind;
    std::size_t axis;
    std::int64_t by;
    std::int64_t offset;
    Interval values;
  };

  std::optional<std::size_t> axis_of(const Expr& var) const {
    for (std::size_t i = 0; i < block_.iter_vars.size(); ++i) {
      if (block_.iter_vars[i]->var.same_as(var)) return i;
    }
    return {};
  }

  void atom(const IndexTerm& term, const Interval& values) {
    if (term.kind == IndexTerm::Kind::variable) {
      if (const auto axis = axis_of(term.atom)) narrow(*axis, values);
      return;
    }
    const auto inner = forms_.read(term.inner());
    if (!inner || inner->terms.size() != 1 || inner->terms[0].coefficient != 1) return;
    const auto axis = axis_of(inner->terms[0].atom);
    if (!axis) return;
    digits_.push_back({term.kind, *axis, term.by, inner->constant, values});
    if (term.kind != IndexTerm::Kind::quotient) return;
    const Expr first = plus(times(values.min, term.by), -inner->constant);
    const Expr last = plus(times(values.max, term.by), term.by - 1 - inner->constant);
    narrow(*axis, {first, last});
  }

  void narrow(std::size_t axis, const Interval& values) {
    Interval& known = axes_[axis];
    const auto width = width_of(values, forms_);
    const auto known_width = width_of(known, forms_);
    const bool is_better =
        !known.min.defined() || (width && (!known_width || *width < *known_width));
    if (is_better) known = values;
  }

  const Block& block_;
  IndexForms forms_;
  std::vector<Interval> axes_;
  std::vector<RadixTerm> digits_;
};

}  // namespace

std::vector<Interval> axes_accessing(const Block& block, const BufferRegion& region,
                                     const ElementRegion& box) {
  AxisSolver solver(block);
  for (std::size_t d = 0; d < box.size(); ++d) {
    const auto* width = region.region[d]->extent.as<IntImm>();
    if (width) solver.intersect(region.region[d]->min, width->value, box[d]);
  }
  return std::move(solver).solve();
}

namespace {

/// Says which values of an axis are within its domain.
class Placer {
 public:
  Placer(const Schedule& schedule, LoopRV loop, std::span<const Expr> known)
      : schedule_(schedule),
        node_(schedule.node(loop)),
        forms_(ranges_around(schedule, node_)),
        known_(known) {}

  AxisRange run(const IterVar& axis, Interval values, const Expr& value) {
    const Expr& first = axis.dom->min;
    const Expr last = first + axis.dom->extent - int_imm(first.dtype(), 1);
    const AxisRange whole{axis.dom->min, axis.dom->extent, {}};
    if (!values.min.defined() || !values.max.defined()) return whole;
    const DataType type = axis.var->dtype;
    values = {normal(cast(type, values.min)), normal(cast(type, values.max))};
    const auto width = width_of(values, forms_);
    const auto* extent = axis.dom->extent.as<IntImm>();
    if (width && extent && *width >= extent->value) return whole;
    if (values.min.is<IntImm>() && values.max.is<IntImm>() && first.is<IntImm>() && extent) {
      values = {max(values.min, first), min(values.max, last)};
      return {values.min, max(values.max - values.min + int_imm(type, 1), int_imm(type, 0)), {}};
    }
    if (!width) {
      values = {analyzer().simplify(values.min), analyzer().simplify(values.max)};
      // Of indices that wrap around, the bounds may be beyond the domain.
      if (is_less_equal(values.min, first) && is_less_equal(last, values.max)) return whole;
    }
    AxisRange run{.min = values.min, .extent = Expr(), .guards = {}};
    if (width)
      run.extent = int_imm(type, std::max<std::int64_t>(*width, 0));
    else
      run.extent = analyzer().simplify(values.max - values.min + int_imm(type, 1));
    if (!is_less_equal(first, values.min) && !follows(first, values.min)) {
      run.guards.push_back(value >= first);
    }
    if (!is_less_equal(values.max, last) && !follows(values.max, last)) {
      run.guards.push_back(value < first + axis.dom->extent);
    }
    return run;
  }

  /// Those of the known conditions from which something follows that is not so without them.
  std::vector<Expr> used() && { return std::move(used_); }

  Analyzer& analyzer() {
    if (!analyzer_) {
      analyzer_.emplace();
      for (NodeId at = node_; at != no_node; at = schedule_.at(at).parent) {
        const auto* loop = schedule_.as<For>(at);
        if (!loop || !is_const_int(loop->step, 1)) continue;
        analyzer_->bind(loop->loop_var, range(loop->min, loop->extent));
        // What is placed runs inside the loop, so that this has an iteration.
        if (const auto size = Ptr<Var>::from(loop->extent)) {
          analyzer_->update(size, {.min_value = 1});
        }
      }
    }
    return *analyzer_;
  }

 private:
  Expr normal(const Expr& expr) const {
    const auto form = forms_.read(expr);
    return form ? forms_.write(*form, expr.dtype()) : expr;
  }

  bool is_less_equal(const Expr& a, const Expr& b) {
    if (const auto form = forms_.read(b - a)) {
      if (const auto range = form->range()) {
        if (range->first >= 0) return true;
        return !is_simple(*form) && analyzer().can_prove(a <= b, ProofStrength::symbolic_bound);
      }
    }
    return analyzer().can_prove(a <= b, ProofStrength::symbolic_bound);
  }

  /// True when a known condition implies a <= b: of io * 8 + ii < 12, that of 16 times that.
  bool follows(const Expr& a, const Expr& b) {
    const auto wanted = forms_.read(b - a);
    if (!wanted) return false;
    for (const Expr& condition : known_) {
      const auto comparison = arith::comparison_of(condition);
      if (!comparison || comparison->is_equality) continue;
      auto given = forms_.read(comparison->right - comparison->left);
      if (!given || given->terms.empty()) continue;
      if (comparison->is_strict) --given->constant;
      const IndexTerm& first = given->terms[0];
      const auto same_value = std::ranges::find_if(
          wanted->terms, [&](const IndexTerm& term) { return same_atom(term, first); });
      if (same_value == wanted->terms.end() || same_value->coefficient % first.coefficient != 0)
        continue;
      const std::int64_t times = same_value->coefficient / first.coefficient;
      if (times <= 0) continue;
      const auto rest = difference(*wanted, *given, times).range();
      if (!rest || rest->first < 0) continue;
      const bool is_new =
          std::ranges::none_of(used_, [&](const Expr& other) { return other.same_as(condition); });
      if (is_new) used_.push_back(condition);
      return true;
    }
    return false;
  }

  static bool same_atom(const IndexTerm& a, const IndexTerm& b) {
    return a.kind == b.kind && same_value(a.atom, b.atom);
  }

  /// a - times * b
  static IndexForm difference(IndexForm a, const IndexForm& b, std::int64_t times) {
    for (const IndexTerm& term : b.terms) {
      const auto same_value = std::ranges::find_if(
          a.terms, [&](const IndexTerm& other) { return same_atom(other, term); });
      if (same_value == a.terms.end()) {
        a.terms.push_back(term);
        a.terms.back().coefficient *= -times;
      } else {
        same_value->coefficient -= times * term.coefficient;
      }
    }
    std::erase_if(a.terms, [](const IndexTerm& term) { return term.coefficient == 0; });
    a.constant -= times * b.constant;
    return a;
  }

  /// True when the range of a sum is exact.
  static bool is_simple(const IndexForm& form) {
    return std::ranges::all_of(
        form.terms, [](const auto& term) { return term.kind == IndexTerm::Kind::variable; });
  }

  const Schedule& schedule_;
  const NodeId node_;
  IndexForms forms_;
  std::span<const Expr> known_;
  std::vector<Expr> used_;
  std::optional<Analyzer> analyzer_;
};

}  // namespace

std::vector<AxisValues> values_of(const RequiredInstances& place) {
  std::vector<AxisValues> values;
  values.reserve(place.axes.size());
  for (const AxisRange& run : place.axes) values.push_back({run.min, run.extent});
  return values;
}

RequiredInstances instances_within(const Schedule& schedule, BlockRV handle, LoopRV loop,
                                   const std::vector<Interval>& axes, const Instances& instances,
                                   std::span<const Expr> known) {
  const Block& block = schedule.get(handle);
  Placer placer(schedule, loop, known);
  RequiredInstances place;
  Substitution values;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const IterVar& axis = *block.iter_vars[i];
    place.values.push_back(var(axis.var->name, axis.var->dtype));
    values[axis.var] = place.values.back();
    place.axes.push_back(placer.run(axis, axes[i], place.values.back()));
  }
  for (const Expr& condition : instances.conditions) {
    place.conditions.push_back(substitute(condition, values));
  }
  std::ranges::copy(std::move(placer).used(), std::back_inserter(place.conditions));
  return place;
}

Stmt nest_of(Schedule& schedule, BlockRV block, const RequiredInstances& place,
             bool preserve_unit_loops) {
  const NodeId node = schedule.node(block);
  const std::uint32_t function = schedule.function_of(node);
  BlockRealize realize = schedule.realize(block);
  const SpanScope span(schedule.span_from(realize.span));
  realize.predicate = true;
  Substitution values;
  std::vector<Ptr<Var>> loops;
  std::vector<Expr> extents;
  std::vector<Expr> conditions;
  for (std::size_t i = 0; i < place.axes.size(); ++i) {
    const AxisRange& run = place.axes[i];
    Expr value = run.min;
    if (preserve_unit_loops || !is_const_int(run.extent, 1)) {
      loops.push_back(var(schedule.fresh_loop_name(function, fmt::format("ax{}", loops.size())),
                          run.min.dtype()));
      extents.push_back(run.extent);
      value = run.min + loops.back();
    }
    values[place.values[i]] = value;
    realize.iter_values[i] = value;
    conditions.insert(conditions.end(), run.guards.begin(), run.guards.end());
  }
  conditions.insert(conditions.end(), place.conditions.begin(), place.conditions.end());
  for (const Expr& condition : conditions) {
    realize.predicate = realize.predicate && substitute(condition, values);
  }
  Stmt nest = make(std::move(realize));
  for (std::size_t i = loops.size(); i-- > 0;) {
    nest = for_loop(loops[i], zero_of(extents[i].dtype()), extents[i], std::move(nest));
  }
  return nest;
}

}  // namespace loopsmith
