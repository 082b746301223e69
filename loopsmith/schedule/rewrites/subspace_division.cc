// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/subspace_division.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/iter_map.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

void add_range(IndexForms& forms, const IterVar& axis) {
  const std::int64_t* min = as_int(axis.dom->min);
  const std::int64_t* extent = as_int(axis.dom->extent);
  if (min && extent && *extent > 0) {
    forms.add_range({axis.var.get(), *min, *min + *extent - 1});
  }
}

}  // namespace

/// What is bound to an axis. Of one that uses loops of both sides: value == outer * extent + inner
/// + base.
struct SubspaceDivider::Parts {
  bool by_outer = false;
  bool by_inner = false;
  Expr outer;
  Expr outer_extent;
  Expr inner;
  Expr inner_extent;
  Expr base;
};

std::nullopt_t SubspaceDivider::fail(std::string problem) {
  problem_ = std::move(problem);
  return std::nullopt;
}

bool SubspaceDivider::uses_any(const Expr& expr, const std::vector<LoopRV>& loops) const {
  if (expr.is<IntImm>()) return false;
  const auto used = free_variables(expr);
  return std::ranges::any_of(loops, [&](LoopRV loop) {
    return std::ranges::any_of(
        used, [&](const Ptr<Var>& var) { return var.same_as(schedule_.get(loop).loop_var); });
  });
}

std::optional<DividedBlock> SubspaceDivider::divide(BlockRV block,
                                                    const std::vector<LoopRV>& inner) {
  const BlockRealize& realize = schedule_.realize(block);
  std::vector<Parts> parts;
  for (const Expr& value : realize.iter_values) {
    if (reads_memory(value)) return fail("a binding reads memory");
    parts.push_back({.by_outer = uses_any(value, outer_), .by_inner = uses_any(value, inner)});
  }
  const auto is_mixed = [](const Parts& part) { return part.by_outer && part.by_inner; };
  if (std::ranges::any_of(parts, is_mixed) && !divide_mixed(realize, inner, parts)) return {};

  DividedBlock made;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const IterVar& axis = *realize.block->iter_vars[i];
    if (uses_any(axis.dom->min, inner) || uses_any(axis.dom->extent, inner)) {
      return fail("the domain of an axis depends on loops inside");
    }
    if (!add_axis(axis, realize.iter_values[i], parts[i], made)) return {};
  }
  for (const auto& axis : outer_axes_.axes) add_range(made.forms, *axis);
  for (const auto& axis : made.inner.axes) add_range(made.forms, *axis);
  if (!divide_conditions(realize.predicate, inner, made)) return {};
  return made;
}

/// Finds the parts of the axes that use loops of both sides.
bool SubspaceDivider::divide_mixed(const BlockRealize& realize, const std::vector<LoopRV>& inner,
                                   std::vector<Parts>& parts) {
  std::vector<LoopRV> all = outer_;
  all.insert(all.end(), inner.begin(), inner.end());
  std::vector<Iterator> iterators;
  for (const LoopRV handle : all) {
    const For& loop = schedule_.get(handle);
    if (uses_any(loop.min, all) || uses_any(loop.extent, all)) {
      fail(fmt::format("the bounds of loop {} depend on other loops", loop.loop_var->name));
      return false;
    }
    if (!is_const_int(loop.step, 1)) {
      fail(fmt::format("loop {} has a step", loop.loop_var->name));
      return false;
    }
    iterators.push_back({loop.loop_var, loop.min, loop.extent});
  }
  std::vector<Ptr<Var>> subspace;
  for (const LoopRV handle : inner) subspace.push_back(schedule_.get(handle).loop_var);
  std::vector<Expr> values;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].by_outer && parts[i].by_inner) values.push_back(realize.iter_values[i]);
  }
  Analyzer analyzer;
  const SubspaceDivision division =
      subspace_divide(values, iterators, subspace, {.level = IterMapLevel::no_check}, analyzer);
  if (!division.ok()) {
    fail("its axes are no digits of loops, those inside the lower ones");
    return false;
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].by_outer || !parts[i].by_inner) continue;
    const SubspacePart& part = division.parts[next++];
    const DataType type = realize.iter_values[i].dtype();
    IterSumExpr inside = part.inner;
    inside.base = 0;
    parts[i].outer = normalize_iter_map_to_expr(part.outer, type, analyzer);
    parts[i].outer_extent = part.outer_extent.expr(type);
    parts[i].inner = normalize_iter_map_to_expr(inside, type, analyzer);
    parts[i].inner_extent = part.inner_extent.expr(type);
    parts[i].base = part.inner.base.expr(type);
  }
  return true;
}

/// The outer axis of that domain and binding; a new one where there is none yet.
Ptr<Var> SubspaceDivider::outer_axis(IterVar axis, const Expr& value) {
  for (std::size_t i = 0; i < outer_axes_.axes.size(); ++i) {
    const IterVar& known = *outer_axes_.axes[i];
    if (known.iter_type == axis.iter_type && structural_equal(outer_axes_.values[i], value) &&
        structural_equal(known.dom, axis.dom) && !is_const_int(axis.dom->extent, 1)) {
      return known.var;
    }
  }
  axis.var = var(axis.var->name, axis.var->dtype);
  outer_axes_.axes.push_back(make(IterVar(axis)));
  outer_axes_.values.push_back(value);
  if (value.is<Var>()) loops_[value] = axis.var;
  return axis.var;
}

bool SubspaceDivider::add_axis(const IterVar& axis, const Expr& value, const Parts& parts,
                               DividedBlock& made) {
  const DataType type = axis.var->dtype;
  const auto named = [&](std::string_view suffix, const Expr& extent) {
    IterVar part = axis;
    part.var = var(axis.var->name + std::string(suffix), type);
    part.dom = range(zero_of(type), cast(type, extent));
    return part;
  };
  const auto is_left_out = [&](const IterVar& part) {
    return !preserve_unit_iters_ && is_const_int(part.dom->extent, 1);
  };
  if (!parts.by_inner) {
    const bool is_unit = is_left_out(axis);
    made.forms.bind(axis.var, is_unit ? axis.dom->min : Expr(outer_axis(axis, value)));
    return true;
  }
  if (!parts.by_outer) {
    const IterVar unit = named("_o", int_imm(type, 1));
    if (!is_left_out(unit)) outer_axis(unit, zero_of(type));
    if (is_left_out(axis)) {
      made.forms.bind(axis.var, axis.dom->min);
      return true;
    }
    IterVar kept = axis;
    const Expr min = in_axes(axis.dom->min);
    const Expr extent = in_axes(axis.dom->extent);
    if (!min.defined() || !extent.defined()) {
      fail("the domain of an axis depends on loops outside");
      return false;
    }
    if (!min.same_as(axis.dom->min) || !extent.same_as(axis.dom->extent)) {
      kept.dom = range(min, extent);
    }
    made.inner.axes.push_back(make(std::move(kept)));
    made.inner.values.push_back(value);
    return true;
  }
  const bool is_whole = is_const_int(parts.inner_extent, 1);
  const IterVar above = named(is_whole ? "" : "_o", parts.outer_extent);
  Expr now = outer_axis(above, parts.outer);
  if (!is_whole) {
    const IterVar below = named("_i", parts.inner_extent);
    made.inner.axes.push_back(make(IterVar(below)));
    made.inner.values.push_back(parts.inner);
    now = now * cast(type, parts.inner_extent) + below.var;
  }
  made.forms.bind(axis.var, now + cast(type, parts.base));
  return true;
}

bool SubspaceDivider::divide_conditions(const Expr& predicate, const std::vector<LoopRV>& inner,
                                        DividedBlock& made) {
  for (const Expr& condition : arith::conjuncts(predicate)) {
    if (!uses_any(condition, inner) && !reads_memory(condition)) {
      made.outer_predicate = made.outer_predicate && condition;
      continue;
    }
    const Expr inside = in_axes(condition);
    if (!inside.defined()) {
      fail("its axes do not tell a condition on loops outside");
      return false;
    }
    made.inner_predicate = made.inner_predicate && inside;
  }
  return true;
}

Expr SubspaceDivider::in_axes(const Expr& expr) {
  if (!uses_any(expr, outer_)) return expr;
  const Expr simple = substitute(expr, loops_);
  if (!uses_any(simple, outer_)) return simple;
  invert_outer();
  const Expr general = substitute(expr, loops_);
  if (uses_any(general, outer_)) return nullptr;
  Analyzer analyzer;
  for (const auto& axis : outer_axes_.axes) analyzer.bind(axis->var, axis->dom);
  return analyzer.simplify(general);
}

/// Finds what the loops outside are, where the outer axes are digits that tell all of them.
void SubspaceDivider::invert_outer() {
  std::vector<Iterator> iterators;
  for (const LoopRV handle : outer_) {
    const For& loop = schedule_.get(handle);
    const bool is_plain =
        is_const_int(loop.step, 1) && !uses_any(loop.min, outer_) && !uses_any(loop.extent, outer_);
    if (!is_plain) return;
    iterators.push_back({loop.loop_var, loop.min, loop.extent});
  }
  Analyzer analyzer;
  const IterMapResult map =
      detect_iter_map(outer_axes_.values, iterators, {.level = IterMapLevel::bijective}, analyzer);
  if (!map.ok()) return;
  std::vector<Expr> axes;
  for (const auto& axis : outer_axes_.axes) axes.emplace_back(axis->var);
  for (auto& [loop, value] : inverse_affine_iter_map(map.indices, axes, analyzer).value()) {
    loops_.try_emplace(loop, value);
  }
}

}  // namespace loopsmith
