// SPDX-License-Identifier: Apache-2.0
// What may help where loops do not fit.
#include <algorithm>

#include "loopsmith/ir/live_values.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/fixes/candidate_fixes.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {
namespace {

/// An argument that is a list; an empty one where it is not.
Argument::List list_of(const RefusedCall& call, std::string_view parameter) {
  const Argument* argument = argument_of(call, parameter);
  const auto* list = argument ? argument->as<Argument::List>() : nullptr;
  return list ? *list : Argument::List();
}

std::vector<LoopRV> loops_of(const RefusedCall& call) {
  std::vector<LoopRV> loops;
  for (const Argument& item : list_of(call, "loops")) {
    if (const auto* loop = item.as<LoopRV>()) loops.push_back(*loop);
  }
  return loops;
}

std::optional<LoopRV> loop_of(const RefusedCall& call) {
  const Argument* loop = argument_of(call, "loop");
  const auto* handle = loop ? loop->as<LoopRV>() : nullptr;
  return handle ? std::optional(*handle) : std::nullopt;
}

/// The loops around the first block inside a loop, that loop among them.
Handles<LoopRV> nest_of(const Schedule& schedule, LoopRV loop) {
  const auto blocks = child_blocks(schedule, schedule.node(loop));
  if (!blocks.empty()) return loops_around(schedule, schedule.node(blocks[0]));
  Handles<LoopRV> nest = loops_around(schedule, schedule.node(loop));
  for (NodeId node = schedule.node(loop); node != no_node; node = only_child(schedule, node)) {
    if (schedule.as<For>(node)) nest.push_back(schedule.loop_at(node));
  }
  return nest;
}

std::size_t depth_of(const Schedule& schedule, LoopRV loop) {
  return loops_around(schedule, schedule.node(loop)).size();
}

/// In the order in which they are nested.
std::vector<LoopRV> outermost_first(const Schedule& schedule, std::vector<LoopRV> loops) {
  std::ranges::stable_sort(loops, {}, [&](LoopRV loop) { return depth_of(schedule, loop); });
  return loops;
}

/// The variables that are stored in a loop.
std::vector<Ptr<Buffer>> variables_in(const Schedule& schedule, LoopRV loop) {
  std::vector<Ptr<Buffer>> found;
  pre_order_visit(schedule.statement(schedule.node(loop)), [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    const bool is_new = store && has_one_element(*store->buffer) &&
                        std::ranges::none_of(found, [&](const auto& each) {
                          return each->name == store->buffer->name;
                        });
    if (is_new) found.push_back(store->buffer);
    return !is_expr(*ref.get());
  });
  return found;
}

}  // namespace

Fixes other_loops(const RefusedCall& call) {
  Fixes fixes;
  const auto loop = loop_of(call);
  if (!loop) return fixes;
  const std::vector<Ptr<Buffer>> variables = variables_in(call.schedule, *loop);
  for (const Ptr<Buffer>& each : variables) {
    // The loops may tell its value.
    if (!each->dtype.is_index()) continue;
    fixes.push_back({call_of(substitute_scalar, {Argument(each->name), *loop}), again(call)});
  }
  if (call.schedule.get(*loop).body.is<IfThenElse>()) {
    fixes.push_back({call_of(store_last, {*loop}), again(call)});
  }
  // The last iteration leaves variables to statements that read them afterwards.
  if (!variables.empty())
    fixes.push_back({call_of(peel, {*loop, std::int64_t{0}, std::int64_t{1}}), again(call)});
  for (const LoopRV other : nest_of(call.schedule, *loop)) {
    if (other.index != loop->index) fixes.push_back({again_with(call, "loop", other)});
  }
  // Threads want outer loops, lanes inner ones.
  if (call.primitive.name == vectorize.name) std::ranges::reverse(fixes);
  return fixes;
}

Fixes partial_results(const RefusedCall& call) {
  Fixes fixes;
  const auto loop = loop_of(call);
  if (!loop) return fixes;
  // rfactor(loop), of which the loop at the same place is free.
  const std::size_t depth = depth_of(call.schedule, *loop);
  const BlockRV partial{0, 0};
  Argument::List loops;
  for (std::uint32_t i = 0; i <= depth; ++i) loops.emplace_back(LoopRV{0, i});
  const Argument free = loops.back();
  Step factor = call_of(rfactor, {*loop, std::int64_t{0}});
  factor.result = partial;
  Step look = call_of(get_loops, {partial});
  look.result = std::move(loops);
  fixes.push_back({factor, look, again_with(call, "loop", free)});
  for (Fix& other : other_loops(call)) fixes.push_back(std::move(other));
  return fixes;
}

Fixes windows_one_by_one(const RefusedCall& call) {
  Fixes fixes = other_loops(call);
  const auto loop = loop_of(call);
  if (!loop) return fixes;
  // As many iterations as a loop inside has reach an element; those as far apart do not conflict.
  for (const LoopRV inner : nest_of(call.schedule, *loop)) {
    const std::int64_t* window = as_int(call.schedule.get(inner).extent);
    if (!window || depth_of(call.schedule, inner) <= depth_of(call.schedule, *loop)) continue;
    const Argument far{LoopRV{0, 0}}, near{LoopRV{0, 1}};
    Step cut = call_of(split, {*loop, Argument::List{Argument(), Argument(*window)}});
    cut.result = Argument::List{far, near};
    fixes.push_back(
        {cut, call_of(reorder, {Argument::List{near, far}}), again_with(call, "loop", far)});
  }
  return fixes;
}

Fixes inits_before(const RefusedCall& call) {
  const auto loops = loops_of(call);
  if (loops.empty()) return {};
  Fix fix;
  for (const BlockRV block : child_blocks(call.schedule, call.schedule.node(loops.back()))) {
    if (!call.schedule.get(block).init) continue;
    fix.push_back(call_of(decompose_reduction, {block, loops[0]}));
  }
  fix.push_back(again(call));
  return {std::move(fix)};
}

Fixes other_orders(const RefusedCall& call) {
  Fixes fixes;
  const auto loops = loops_of(call);
  constexpr std::size_t most = 4;  // 24 orders.
  if (loops.size() <= most) {
    // Those that keep most of what was asked for come first.
    std::vector<std::size_t> order(loops.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::vector<std::pair<std::size_t, Argument::List>> orders;
    const auto nested = outermost_first(call.schedule, loops);
    while (std::ranges::next_permutation(order).found) {
      Argument::List list;
      std::size_t inversions = 0;
      for (std::size_t i = 0; i < order.size(); ++i) {
        list.emplace_back(loops[order[i]]);
        for (std::size_t k = i + 1; k < order.size(); ++k) inversions += order[i] > order[k];
      }
      const bool changes_nothing = std::ranges::equal(
          order, nested, [&](std::size_t i, LoopRV loop) { return loops[i] == loop; });
      if (!changes_nothing) orders.emplace_back(inversions, std::move(list));
    }
    std::ranges::stable_sort(orders, {}, [](const auto& candidate) { return candidate.first; });
    for (auto& [inversions, list] : orders) {
      fixes.push_back({again_with(call, "loops", std::move(list))});
    }
  }
  return fixes;
}

Fixes innermost(const RefusedCall& call) {
  const auto loop = loop_of(call);
  if (!loop) return {};
  const auto nest = nest_of(call.schedule, *loop);
  const auto place = std::ranges::find(nest, loop->index, &LoopRV::index);
  std::vector<LoopRV> order(
      std::find_if(place, nest.end(), [&](LoopRV each) { return each.index != loop->index; }),
      nest.end());
  if (order.empty()) return {};
  order.push_back(*loop);
  return {{call_of(reorder, {to_argument(order)}), again(call)}};
}

Fixes loops_once(const RefusedCall& call) {
  std::vector<LoopRV> once;
  for (const LoopRV loop : loops_of(call)) {
    if (std::ranges::find(once, loop) == once.end()) once.push_back(loop);
  }
  return {{again_with(call, "loops", to_argument(once))}};
}

Fixes loops_below(const RefusedCall& call) {
  const auto* shared = call.refusal.subjects[0].as<LoopRV>();
  std::vector<LoopRV> below;
  for (const LoopRV loop : loops_of(call)) {
    const NodeId node = call.schedule.node(loop);
    if (loop.index != shared->index && is_inside(call.schedule, node, call.schedule.node(*shared)))
      below.push_back(loop);
  }
  if (below.size() < 2) return {};
  return {{again_with(call, "loops", to_argument(below))}};
}

Fixes neighbours(const RefusedCall& call) {
  const auto given = loops_of(call);
  if (given.empty()) return {};
  const auto loops = outermost_first(call.schedule, given);
  const Step fuse_them = again_with(call, "loops", to_argument(loops));
  Fixes fixes;
  if (loops != given) fixes.push_back({fuse_them});

  // All loops of the band, those that are given last; or first.
  const auto nest = nest_of(call.schedule, loops.back());
  const auto first = std::ranges::find(nest, loops.front().index, &LoopRV::index);
  const auto last = std::ranges::find(nest, loops.back().index, &LoopRV::index);
  if (first == nest.end() || last == nest.end() || last < first) return fixes;
  std::vector<LoopRV> between(first, last + 1);
  std::erase_if(between, [&](LoopRV loop) {
    return std::ranges::any_of(loops, [&](LoopRV l) { return l.index == loop.index; });
  });
  for (const bool at_the_end : {true, false}) {
    std::vector<LoopRV> band = at_the_end ? between : loops;
    const std::vector<LoopRV>& rest = at_the_end ? loops : between;
    band.insert(band.end(), rest.begin(), rest.end());
    fixes.push_back({call_of(reorder, {to_argument(band)}), fuse_them});
  }
  return fixes;
}

Fixes without_annotations(const RefusedCall& call) {
  const auto* loop = call.refusal.subjects[0].as<LoopRV>();
  if (!loop) return {};
  Fix fix;
  for (const auto& [key, value] : call.schedule.get(*loop).annotations) {
    fix.push_back(call_of(unannotate, {*loop, key}));
  }
  fix.push_back(again(call));
  return {fix};
}

Fixes an_inferred_factor(const RefusedCall& call) {
  Fixes fixes;
  const Argument::List factors = list_of(call, "factors");
  for (std::size_t i = 0; i < factors.size(); ++i) {
    Argument::List changed = factors;
    changed[i] = Argument();
    fixes.push_back({again_with(call, "factors", std::move(changed))});
  }
  return fixes;
}

Fixes one_inferred_factor(const RefusedCall& call) {
  Argument::List kept;
  bool has_one = false;
  for (const Argument& factor : list_of(call, "factors")) {
    const auto* number = factor.as<std::int64_t>();
    const bool is_inferred = factor.is_none() || (number && *number == -1);
    if (!is_inferred || !has_one) kept.push_back(factor);
    has_one = has_one || is_inferred;
  }
  return {{again_with(call, "factors", std::move(kept))}};
}

Fixes no_names(const RefusedCall& call) {
  return {{again_with(call, "names", Argument())}};
}

}  // namespace loopsmith
