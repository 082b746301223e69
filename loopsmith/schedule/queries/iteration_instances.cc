// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/iteration_instances.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/queries/produced_region.h"

namespace loopsmith {
namespace {

using Loops = std::vector<const For*>;

/// The loops from a node up to `around`; nullopt where one has a step, or where there is more than
/// loops and sequences.
std::optional<Loops> loops_below(const Schedule& schedule, NodeId node, NodeId around) {
  Loops found;
  for (; node != around; node = schedule.at(node).parent) {
    if (const auto* loop = schedule.as<For>(node)) {
      if (!is_const_int(loop->step, 1)) return {};
      found.push_back(loop);
    } else if (!schedule.as<SeqStmt>(node)) {
      return {};
    }
  }
  return found;
}

/// A box of neighbours: from `first`, in terms of loops outside, `count` on.
struct Window {
  IndexForm first;
  std::int64_t count = 0;
};

/// What windows of `width` at `form` cover together in all iterations of `inner`: those of them
/// that it uses are taken away. nullopt where windows leave gaps, or are no sum of loops.
std::optional<Window> window_of(IndexForm form, std::int64_t width, Loops& inner) {
  Window window;
  window.first.constant = form.constant;
  std::vector<RadixTerm> digits;
  for (IndexTerm& term : form.terms) {
    if (term.kind != IndexTerm::Kind::variable) {
      const bool uses_inner = std::ranges::any_of(
          inner, [&](const For* loop) { return uses_variable(term.atom, loop->loop_var); });
      if (uses_inner) return {};
      window.first.terms.push_back(std::move(term));
      continue;
    }
    const auto found = std::ranges::find_if(
        inner, [&](const For* loop) { return loop->loop_var.get() == term.atom.get(); });
    if (found == inner.end()) {
      window.first.terms.push_back(std::move(term));
      continue;
    }
    if (!term.is_bounded || !is_const_int((*found)->min, term.min) || term.coefficient < 0)
      return {};
    const std::int64_t* extent = as_int((*found)->extent);
    if (!extent || *extent < 1 || *extent != term.max - term.min + 1) return {};
    digits.push_back({term.coefficient, *extent});
    window.first.constant += term.coefficient * term.min;
    inner.erase(found);
  }
  const auto reach = reach_of(std::move(digits), width, false);
  if (!reach) return {};
  window.count = *reach;
  return window;
}

/// The values of each axis in an iteration of `around`.
std::optional<std::vector<Window>> windows_in(const Schedule& schedule, BlockRV block,
                                              NodeId around) {
  const NodeId node = schedule.node(block);
  auto inner = loops_below(schedule, schedule.at(node).parent, around);
  if (!inner) return {};
  const Loops all = *inner;
  const IndexForms forms(ranges_around(schedule, node));
  std::vector<Window> found;
  for (const Expr& value : schedule.realize(block).iter_values) {
    auto form = forms.read(value);
    auto window = form ? window_of(*std::move(form), 1, *inner) : std::nullopt;
    if (!window) return {};
    // A loop that an axis before uses, too: the values are no box.
    const bool is_apart = std::ranges::none_of(window->first.terms, [&](const IndexTerm& term) {
      return std::ranges::any_of(
          all, [&](const For* loop) { return uses_variable(term.atom, loop->loop_var); });
    });
    if (!is_apart) return {};
    found.push_back(*std::move(window));
  }
  return found;
}

/// True when `a` is less than or equal to `b` for all values of their atoms.
bool is_at_most(const IndexForms& forms, const Expr& a, const Expr& b) {
  const auto form = forms.read(b - a);
  const auto range = form ? form->range() : std::nullopt;
  return range && range->first >= 0;
}

}  // namespace

NodeId common_loop(const Schedule& schedule, NodeId a, NodeId b) {
  for (NodeId node = common_ancestor(schedule, a, b); node != no_node;
       node = schedule.at(node).parent) {
    if (schedule.as<For>(node) || schedule.as<While>(node)) return node;
    if (schedule.as<BlockRealize>(node)) break;
  }
  return no_node;
}

bool runs_in_iteration(const Schedule& schedule, BlockRV block, NodeId around, NodeId place,
                       std::span<const AxisValues> values) {
  const auto windows = windows_in(schedule, block, around);
  if (!windows) return false;
  const IndexForms forms(ranges_around(schedule, place));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const DataType type = values[i].min.dtype();
    if (!as_int(values[i].extent)) return false;
    const Expr first = forms.write((*windows)[i].first, type);
    const Expr end = first + int_imm(type, (*windows)[i].count);
    if (!is_at_most(forms, first, values[i].min) ||
        !is_at_most(forms, values[i].min + values[i].extent, end)) {
      return false;
    }
  }
  return true;
}

bool are_those_of_iteration(const Schedule& schedule, BlockRV block, NodeId around, NodeId place,
                            std::span<const AxisValues> values) {
  const auto windows = windows_in(schedule, block, around);
  auto inner = loops_below(schedule, place, around);
  if (!windows || !inner) return false;
  const IndexForms forms(ranges_around(schedule, place));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t* width = as_int(values[i].extent);
    auto form = forms.read(values[i].min);
    if (!width || !form) return false;
    const auto window = window_of(*std::move(form), *width, *inner);
    if (!window || window->count != (*windows)[i].count) return false;
    const DataType type = values[i].min.dtype();
    const auto shift =
        forms.read(forms.write(window->first, type) - forms.write((*windows)[i].first, type));
    if (!shift || !shift->terms.empty() || shift->constant != 0) return false;
  }
  return true;
}

}  // namespace loopsmith
