// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/relations.h"

#include "loopsmith/arith/at_least_one.h"
#include "loopsmith/support/error.h"

namespace loopsmith::te {
namespace {

Ptr<Range> from_zero(const Expr& extent) {
  return range(zero_of(extent.dtype()), extent);
}

const Expr& extent_of(const AxisDomains& domains, const IterVar& axis) {
  return domains.at(axis)->extent;
}

/// The value of an axis, counted from the start of its domain.
Expr counted(const AxisDomains& domains, const AxisValues& values, const IterVar& axis) {
  return values.at(axis) - domains.at(axis)->min;
}

}  // namespace

AxisDomains domains_of(const StageData& stage, std::string_view call) {
  AxisDomains domains;
  for (const IterVar& axis : root_axes(stage.op)) domains[axis] = axis->dom;
  for (const AxisStep& step : stage.steps) {
    if (const auto* split = std::get_if<SplitStep>(&step)) {
      const Expr extent = extent_of(domains, split->parent);
      const bool by_factor = split->factor.defined();
      Analyzer analyzer;
      const Expr fixed = at_least_one(
          loopsmith::cast(extent.dtype(), by_factor ? split->factor : split->nparts), analyzer);
      const Expr other = analyzer.simplify(ceildiv(extent, fixed));
      domains[split->outer] = from_zero(by_factor ? other : fixed);
      domains[split->inner] = from_zero(by_factor ? fixed : other);
    } else if (const auto* fuse = std::get_if<FuseStep>(&step)) {
      domains[fuse->fused] =
          from_zero(extent_of(domains, fuse->outer) * extent_of(domains, fuse->inner));
    } else if (const auto* singleton = std::get_if<SingletonStep>(&step)) {
      domains[singleton->axis] = range(0, 1);
    } else {
      require(!std::holds_alternative<LayoutStep>(step), ErrorKind::schedule, "layout_comes_last",
              hint("call it before transform_layout"), current_span,
              "{}: the layout of stage {} was transformed before", call, name_of(stage));
    }
  }
  return domains;
}

void pass_up(const StageData& stage, const AxisDomains& domains, AxisValues& values) {
  for (auto step = stage.steps.rbegin(); step != stage.steps.rend(); ++step) {
    if (const auto* split = std::get_if<SplitStep>(&*step)) {
      if (!values.contains(split->outer) || !values.contains(split->inner)) continue;
      values[split->parent] = values.at(split->outer) * extent_of(domains, split->inner) +
                              values.at(split->inner) + domains.at(split->parent)->min;
    } else if (const auto* fuse = std::get_if<FuseStep>(&*step)) {
      if (!values.contains(fuse->fused)) continue;
      const Expr value = values.at(fuse->fused);
      const Expr& extent = extent_of(domains, fuse->inner);
      values[fuse->outer] = floordiv(value, extent) + domains.at(fuse->outer)->min;
      values[fuse->inner] = floormod(value, extent) + domains.at(fuse->inner)->min;
    }
  }
}

void pass_down(const StageData& stage, const AxisDomains& domains, AxisValues& values) {
  for (const AxisStep& step : stage.steps) {
    if (const auto* split = std::get_if<SplitStep>(&step)) {
      if (!values.contains(split->parent)) continue;
      const Expr value = counted(domains, values, split->parent);
      const Expr& extent = extent_of(domains, split->inner);
      values[split->outer] = floordiv(value, extent);
      values[split->inner] = floormod(value, extent);
    } else if (const auto* fuse = std::get_if<FuseStep>(&step)) {
      if (!values.contains(fuse->outer) || !values.contains(fuse->inner)) continue;
      values[fuse->fused] =
          counted(domains, values, fuse->outer) * extent_of(domains, fuse->inner) +
          counted(domains, values, fuse->inner);
    } else if (const auto* singleton = std::get_if<SingletonStep>(&step)) {
      values[singleton->axis] = Expr(0);
    }
  }
}

std::vector<Expr> guards_of(const StageData& stage, const AxisDomains& domains,
                            const AxisValues& values) {
  std::vector<Expr> guards;
  Analyzer analyzer;
  for (const AxisStep& step : stage.steps) {
    const auto* split = std::get_if<SplitStep>(&step);
    if (!split || !values.contains(split->parent)) continue;
    const Expr& extent = extent_of(domains, split->parent);
    const Expr rounded = extent_of(domains, split->outer) * extent_of(domains, split->inner);
    if (analyzer.can_prove(rounded == extent)) continue;
    guards.push_back(counted(domains, values, split->parent) < extent);
  }
  return guards;
}

}  // namespace loopsmith::te
