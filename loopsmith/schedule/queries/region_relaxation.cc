// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/region_relaxation.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"

namespace loopsmith {

using arith::Interval;

namespace {

/// True for memory that the threads over an axis fill together, each a part of it. What all blocks
/// see, is not filled together: each iteration computes what it needs.
bool is_shared_among(MemoryScope scope, ThreadAxis axis) {
  if (scope == MemoryScope::warp) return axis == ThreadAxis::thread_x;
  return is_shared(scope) && is_thread_axis(axis);
}

Interval range_of_values(const For& loop) {
  const Expr last = loop.min + (loop.extent - 1) * loop.step;
  const auto* step = as_int(loop.step);
  if (!step) return {};
  return *step > 0 ? Interval{loop.min, last} : Interval{last, loop.min};
}

}  // namespace

// ---- Relaxing ----

Relaxer::Relaxer(const Schedule& schedule, NodeId node, LoopRV loop, MemoryScope scope,
                 NodeId owner)
    : loop_(schedule.get(loop)), forms_(ranges_around(schedule, node)) {
  const NodeId top = schedule.node(loop);
  bool is_inner = true;
  for (NodeId at = node; at != no_node; at = schedule.at(at).parent) {
    if (at == top) is_inner = false;
    if (const auto* let = schedule.as<LetStmt>(at); let && is_inner) relaxed_[let->var] = {};
    const auto* around = schedule.as<For>(at);
    if (!around) continue;
    const bool is_relaxed = is_inner || (is_shared_among(scope, thread_axis_of(*around)) &&
                                         (owner == no_node || !is_inside(schedule, owner, at)));
    if (!is_relaxed) continue;
    const Interval values = range_of_values(*around);
    relaxed_[around->loop_var] =
        values.min.defined() ? std::optional(values) : std::optional<Interval>();
  }
}

void Relaxer::bind(const Ptr<Var>& axis, const Expr& value) {
  forms_.bind(axis, value);
  values_[axis] = value;
}

bool Relaxer::is_relaxed(const Expr& expr) const {
  if (expr.is<Var>()) return relaxed_.contains(expr);
  const auto variables = free_variables(expr);
  return std::ranges::any_of(variables, [&](const auto& v) { return relaxed_.contains(v); }) ||
         reads_what_changes(expr);
}

bool Relaxer::reads_what_changes(const Expr& expr) const {
  std::unordered_set<const Object*> loaded;
  pre_order_visit(expr, [&](const Ref& ref) {
    if (const auto* load = ref.as<BufferLoad>()) loaded.insert(load->buffer->data.get());
    return true;
  });
  if (loaded.empty()) return false;
  bool found = false;
  pre_order_visit(loop_.body, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    const auto* declared = ref.as<DeclBuffer>();
    found = found || loaded.contains(ref.get()) ||
            (store && loaded.contains(store->buffer->data.get())) ||
            (declared && loaded.contains(declared->buffer->data.get()));
    return !found && !ref.is<Buffer>();
  });
  return found;
}

std::optional<Interval> Relaxer::of_form(const IndexForm& form, DataType type) const {
  IndexForm outer;
  __int128 low = form.constant, high = form.constant;
  std::vector<Interval> more;
  for (const IndexTerm& term : form.terms) {
    const std::int64_t weight = term.coefficient;
    const bool is_variable = term.kind == IndexTerm::Kind::variable;
    if (!is_relaxed(is_variable ? term.atom : term.inner())) {
      outer.terms.push_back(term);
    } else if (term.kind == IndexTerm::Kind::quotient) {
      const auto inner_form = forms_.read(term.inner());
      const auto inner = inner_form ? of_form(*inner_form, type) : std::nullopt;
      if (!inner) return {};
      const Expr by = int_imm(type, term.by);
      const Expr first = floordiv(inner->min, by) * int_imm(type, weight);
      const Expr last = floordiv(inner->max, by) * int_imm(type, weight);
      more.push_back(weight > 0 ? Interval{first, last} : Interval{last, first});
    } else {
      if (!term.is_bounded) return {};
      const __int128 a = static_cast<__int128>(weight) * term.min;
      const __int128 b = static_cast<__int128>(weight) * term.max;
      low += std::min(a, b);
      high += std::max(a, b);
    }
  }
  constexpr __int128 most = INT64_MAX / 4;
  if (low < -most || high > most) return {};
  const auto end = [&](__int128 constant, auto pick) {
    IndexForm sum = outer;
    sum.constant = static_cast<std::int64_t>(constant);
    Expr expr = forms_.write(sum, type);
    for (const Interval& part : more) expr = expr + pick(part);
    if (more.empty()) return expr;
    const auto joined = forms_.read(expr);
    return joined ? forms_.write(*joined, type) : expr;
  };
  return Interval{end(low, [](const Interval& part) { return part.min; }),
                  end(high, [](const Interval& part) { return part.max; })};
}

Interval Relaxer::of_any(const Expr& expr) const {
  const auto interval = arith::relax(substitute(expr, values_), relaxed_);
  if (!interval) return {};
  Analyzer analyzer;
  Interval result{analyzer.simplify(interval->min), analyzer.simplify(interval->max)};
  if (is_relaxed(result.min)) result.min = nullptr;
  if (is_relaxed(result.max)) result.max = nullptr;
  return result;
}

Interval Relaxer::operator()(const Expr& expr) const {
  if (const auto form = forms_.read(expr)) {
    if (auto interval = of_form(*form, expr.dtype())) return *std::move(interval);
  }
  return of_any(expr);
}

ElementRegion accessed_region(const Schedule& schedule, const BufferAccess& use, LoopRV loop,
                              MemoryScope scope, NodeId owner) {
  Relaxer relax(schedule, use.place.node, loop, scope, owner);
  ElementRegion box;
  if (!use.region) {
    for (const Expr& index : *use.indices) box.push_back(relax(index));
    return box;
  }
  const auto* realize = schedule.as<BlockRealize>(use.place.node);
  for (std::size_t i = 0; realize && i < realize->iter_values.size(); ++i) {
    relax.bind(realize->block->iter_vars[i]->var, realize->iter_values[i]);
  }
  for (const auto& part : use.region->region) {
    Interval first = relax(part->min);
    if (!is_const_int(part->extent, 1)) {
      first.max = relax(part->min + part->extent - int_imm(part->extent.dtype(), 1)).max;
    }
    box.push_back(std::move(first));
  }
  return box;
}

ElementRegion join(const ElementRegion& a, const ElementRegion& b) {
  const IndexForms forms;
  const auto pick = [&](const Expr& x, const Expr& y, bool is_min) {
    if (!x.defined() || !y.defined()) return Expr();
    if (x.same_as(y) || structural_equal(x, y)) return x;
    if (const auto form = forms.read(y - x); form && form->terms.empty()) {
      return (form->constant >= 0) == is_min ? x : y;
    }
    return is_min ? min(x, y) : max(x, y);
  };
  ElementRegion box;
  for (std::size_t d = 0; d < a.size(); ++d) {
    box.push_back({pick(a[d].min, b[d].min, true), pick(a[d].max, b[d].max, false)});
  }
  return box;
}

}  // namespace loopsmith
