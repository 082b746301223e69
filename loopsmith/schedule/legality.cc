// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality.h"

#include <algorithm>
#include <cstdlib>

#include "loopsmith/schedule/accesses.h"
#include "loopsmith/schedule/analysis.h"
#include "loopsmith/schedule/rebind.h"

namespace loopsmith {
namespace {

/// Calls `visit` for each pair of accesses to one buffer of which one writes; stops at false.
template <class Visit>
bool each_pair(const ElementAccesses& accesses, Visit&& visit) {
  for (std::size_t i = 0; i < accesses.all.size(); ++i) {
    const ElementAccess& a = accesses.all[i];
    if (!a.is_write || accesses.owned.contains(a.buffer)) continue;
    for (std::size_t k = 0; k < accesses.all.size(); ++k) {
      const ElementAccess& b = accesses.all[k];
      if (a.buffer != b.buffer || (b.is_write && k < i)) continue;
      if (!visit(a, b)) return false;
    }
  }
  return true;
}

bool is_of_one_reduction(const ElementAccess& a, const ElementAccess& b) {
  return a.group && a.group == b.group;
}

std::int64_t step_of(const For& loop) {
  const auto* step = loop.step.as<IntImm>();
  return step ? step->value : 1;
}

// ---- Witnesses: two iterations, found by trying small numbers ----

using Values = std::vector<std::pair<const Object*, std::int64_t>>;

std::optional<std::int64_t> value_of(const Expr& expr, const Values& values) {
  if (const auto* constant = expr.as<IntImm>()) return constant->value;
  if (expr.is<Var>()) {
    for (const auto& [var, value] : values) {
      if (var == expr.get()) return value;
    }
    return {};
  }
  const auto both = [&](const auto* node, auto combine) -> std::optional<std::int64_t> {
    const auto a = value_of(node->a, values);
    const auto b = value_of(node->b, values);
    return a && b ? std::optional<std::int64_t>(combine(*a, *b)) : std::nullopt;
  };
  const auto floor_div = [](std::int64_t a, std::int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  };
  if (const auto* n = expr.as<Add>()) return both(n, std::plus<std::int64_t>());
  if (const auto* n = expr.as<Sub>()) return both(n, std::minus<std::int64_t>());
  if (const auto* n = expr.as<Mul>()) return both(n, std::multiplies<std::int64_t>());
  if (const auto* n = expr.as<FloorDiv>()) return both(n, floor_div);
  if (const auto* n = expr.as<FloorMod>()) {
    return both(n, [&](std::int64_t a, std::int64_t b) { return a - floor_div(a, b) * b; });
  }
  return {};
}

std::optional<std::vector<std::int64_t>> element_at(const ElementAccess& access,
                                                    const Values& values) {
  std::vector<std::int64_t> element;
  for (const auto& form : access.indices) {
    if (!form) return {};
    std::int64_t index = form->constant;
    for (const IndexTerm& term : form->terms) {
      const auto atom = value_of(term.atom, values);
      if (!atom) return {};
      index += *atom * term.coefficient;
    }
    element.push_back(index);
  }
  return element;
}

/// Values of the loops around and inside, at their start, `loop` at iteration `t`.
Values start_values(const ElementAccesses& accesses, const For& loop, std::int64_t t) {
  Values values;
  for (const VarRange& range : accesses.forms.ranges()) {
    const bool is_loop = range.var == loop.loop_var.get();
    values.emplace_back(range.var, is_loop ? *as_int(loop.min) + t * step_of(loop) : range.min);
  }
  return values;
}

Witness::Iteration iteration(const ElementAccesses& accesses, const ElementAccess& access,
                             const Values& values) {
  Witness::Iteration made{.loops = {}, .writes = access.is_write};
  for (const For* loop : accesses.loops) {
    for (const auto& [var, value] : values) {
      if (var == loop->loop_var.get()) made.loops.emplace_back(loop->loop_var->name, value);
    }
  }
  return made;
}

/// Two iterations of `loop` in which `a` and `b` touch one element; nothing when trying small
/// numbers finds none.
std::optional<Witness> find_witness(const ElementAccesses& accesses, const ElementAccess& a,
                                    const ElementAccess& b, const For& loop) {
  const auto* extent = loop.extent.as<IntImm>();
  if (a.is_guarded || b.is_guarded || !extent || !loop.min.is<IntImm>()) return {};
  constexpr std::int64_t most = 8;
  for (std::int64_t t = 0; t < std::min(extent->value, most); ++t) {
    const Values first = start_values(accesses, loop, t);
    const auto element = element_at(a, first);
    if (!element) return {};
    for (std::int64_t u = 0; u < std::min(extent->value, most); ++u) {
      if (u == t) continue;
      const Values second = start_values(accesses, loop, u);
      if (element_at(b, second) != element) continue;
      Witness witness{.first = iteration(accesses, a, first),
                      .second = iteration(accesses, b, second),
                      .buffer = a.buffer->name,
                      .element = *element};
      if (u < t) std::swap(witness.first, witness.second);
      return witness;
    }
  }
  return {};
}

OrderAnswer unknown(std::string why) {
  return {.kind = OrderAnswer::Kind::unknown, .witness = {}, .why = std::move(why)};
}

OrderAnswer proved() {
  return {.kind = OrderAnswer::Kind::proved};
}

/// The block, if it is all there is inside the loop but other loops.
std::optional<BlockRV> only_block(const Schedule& schedule, LoopRV loop) {
  NodeId node = schedule.node(loop);
  while (node != no_node && schedule.as<For>(node)) node = only_child(schedule, node);
  if (node == no_node || !schedule.as<BlockRealize>(node)) return {};
  return schedule.block_at(node);
}

bool has_reduction(const Block& block) {
  return std::ranges::any_of(
      block.iter_vars, [](const auto& axis) { return axis->iter_type == IterType::comm_reduce; });
}

/// True when different iterations of the loops in which a block stands alone are different
/// instances of it.
bool is_injective(const Schedule& schedule, BlockRV block, std::span<const LoopRV> band) {
  ElementAccesses space;
  const NodeId place = schedule.node(block);
  space.forms = IndexForms(ranges_around(schedule, place));
  const auto loops = loops_around(schedule, place);
  for (const LoopRV loop : loops) space.inside.insert(schedule.get(loop).loop_var.get());
  ElementAccess instance;
  for (const Expr& value : schedule.realize(block).iter_values) {
    instance.indices.push_back(space.forms.read(value));
  }
  return std::ranges::all_of(band, [&](LoopRV handle) {
    const For& loop = schedule.get(handle);
    return is_const_int(loop.extent, 1) ||
           is_pinned(space, instance, instance, *loop.loop_var, step_of(loop));
  });
}

}  // namespace

bool axes_are_true(const Schedule& schedule, BlockRV handle) {
  Schedule::Known& known = schedule.axes_are_true(handle);
  if (known != Schedule::Known::not_yet) return known == Schedule::Known::yes;
  known = Schedule::Known::no;
  const Block& block = schedule.get(handle);
  if (schedule.at(schedule.node(handle)).first_child != no_node &&
      !child_blocks(schedule, schedule.node(handle)).empty()) {
    return false;
  }
  const ElementAccesses accesses = accesses_of_block(block);
  if (!accesses.opaque.empty()) return false;
  const bool is_true = std::ranges::all_of(block.iter_vars, [&](const auto& axis) {
    if (is_const_int(axis->dom->extent, 1)) return true;
    const bool is_reduction = axis->iter_type == IterType::comm_reduce;
    if (!is_reduction && axis->iter_type != IterType::data_par) return false;
    return each_pair(accesses, [&](const ElementAccess& a, const ElementAccess& b) {
      return (is_reduction && is_of_one_reduction(a, b)) ||
             is_pinned(accesses, a, b, *axis->var.get());
    });
  });
  if (is_true) known = Schedule::Known::yes;
  return is_true;
}

LoopCarries carried_by(const Schedule& schedule, LoopRV handle) {
  const For& loop = schedule.get(handle);
  if (const auto* extent = loop.extent.as<IntImm>(); extent && extent->value <= 1) {
    return {proved()};
  }
  const ElementAccesses accesses = accesses_inside(schedule, schedule.node(handle));
  if (!accesses.opaque.empty()) return {unknown(accesses.opaque)};
  LoopCarries result{proved()};
  const auto block = only_block(schedule, handle);
  const LoopRV band[] = {handle};
  const bool is_instance_once = !block || is_injective(schedule, *block, band);
  bool has_others = false;
  each_pair(accesses, [&](const ElementAccess& a, const ElementAccess& b) {
    if (is_pinned(accesses, a, b, *loop.loop_var, step_of(loop))) return true;
    if (is_of_one_reduction(a, b) && is_instance_once) {
      if (has_others) return true;
      result.is_reduction = true;
      result.verdict.kind = OrderAnswer::Kind::violated;
      if (!result.verdict.witness) result.verdict.witness = find_witness(accesses, a, b, loop);
      return true;
    }
    has_others = true;
    result.is_reduction = false;
    result.verdict = unknown(fmt::format("accesses to {} are not understood", a.buffer->name));
    if (auto witness = find_witness(accesses, a, b, loop)) {
      result.verdict = {.kind = OrderAnswer::Kind::violated, .witness = std::move(witness)};
      return false;
    }
    return true;
  });
  return result;
}

OrderAnswer may_reorder(const Schedule& schedule, std::span<const LoopRV> band,
                        std::span<const std::size_t> order) {
  if (std::ranges::is_sorted(order)) return proved();
  if (const auto block = only_block(schedule, band[0]); block && axes_are_true(schedule, *block)) {
    if (!has_reduction(schedule.get(*block)) || is_injective(schedule, *block, band)) {
      return proved();
    }
  }
  const ElementAccesses accesses = accesses_inside(schedule, schedule.node(band[0]));
  if (!accesses.opaque.empty()) return unknown(accesses.opaque);
  // Dependences connect iterations that are equal in pinned loops; the others must keep their
  // order.
  std::vector<bool> is_pinned_loop(band.size(), true);
  const ElementAccess* first = nullptr;
  each_pair(accesses, [&](const ElementAccess& a, const ElementAccess& b) {
    for (std::size_t i = 0; i < band.size(); ++i) {
      const For& loop = schedule.get(band[i]);
      if (is_const_int(loop.extent, 1)) continue;
      if (!is_pinned(accesses, a, b, *loop.loop_var, step_of(loop))) {
        is_pinned_loop[i] = false;
        first = first ? first : &a;
      }
    }
    return true;
  });
  std::size_t last = 0;
  for (const std::size_t loop : order) {
    if (is_pinned_loop[loop]) continue;
    if (loop < last) {
      return unknown(fmt::format("accesses to {} are not understood", first->buffer->name));
    }
    last = loop;
  }
  return proved();
}

std::optional<Refusal> refuse_unless_independent(const Schedule& schedule, LoopRV loop,
                                                 bool assume_independent, bool allow_reduction) {
  LoopCarries carries = carried_by(schedule, loop);
  if (carries.verdict.is_proved()) return {};
  if (carries.is_reduction) {
    if (allow_reduction) return {};
    return Refusal{&loop_is_no_reduction, {Argument(loop)}, std::move(carries.verdict.witness)};
  }
  if (carries.verdict.kind == OrderAnswer::Kind::violated) {
    return Refusal{&no_dependence_is_carried, {Argument(loop)}, std::move(carries.verdict.witness)};
  }
  if (assume_independent) return {};
  return Refusal{&dependence_is_known, {Argument(loop), Argument(carries.verdict.why)}};
}

}  // namespace loopsmith
