// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/empty_inits.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/empty_reductions.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/arith/trip_counts.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/changed_nests.h"
#include "loopsmith/schedule/queries/empty_reductions.h"

namespace loopsmith {
namespace {

using arith::PathStep;

/// What stands between a block and what is around it, from the outside in.
std::vector<PathStep> path_to(const Schedule& schedule, NodeId block) {
  std::vector<PathStep> path;
  for (NodeId below = block, node = schedule.at(block).parent; node != no_node;
       below = node, node = schedule.at(node).parent) {
    if (const auto* loop = schedule.as<For>(node)) {
      path.push_back({.loop = loop});
    } else if (const auto* branch = schedule.as<IfThenElse>(node)) {
      const bool is_then = schedule.at(below).slot == 0;
      path.push_back({.condition = is_then ? branch->condition : !branch->condition});
    } else if (schedule.as<SeqStmt>(node)) {
      path.emplace_back();
    } else {
      break;
    }
  }
  std::ranges::reverse(path);
  return path;
}

/// When an init is given where there is nothing to reduce.
struct GivenInit {
  std::string loop;              ///< The one that it runs before.
  std::vector<Expr> conditions;  ///< Those that read no loop.
  bool is_never = false;         ///< Where there is nothing to reduce, other loops do not run.
  std::ptrdiff_t sequences = 0;  ///< From that loop to the block.
  /// How many conditions read a loop that binds a reduction axis, and another one: these are none
  /// of the init's.
  std::ptrdiff_t mixed_conditions = 0;
  std::vector<Expr> extents = {};  ///< Of domains, where they read loops of the reduction.
  /// Loops that bind a reduction axis, and those that bind none, for each of which it runs.
  std::vector<const Object*> reductions = {}, others = {};
  std::vector<Expr> other_extents = {};  ///< Of the others, in their order.
};

/// Nullopt where none is.
std::optional<GivenInit> given_init(const Schedule& schedule, BlockRV block) {
  const std::vector<Expr> domains = unsure_domains(schedule, block);
  if (domains.empty()) return {};
  const BlockRealize& realize = schedule.realize(block);
  const std::vector<PathStep> path = path_to(schedule, schedule.node(block));
  const auto found = arith::init_of_nothing(realize, path);
  if (!found) return {};

  GivenInit given{.loop = found->outermost->loop_var->name, .conditions = {}};
  std::vector<Expr> all = found->conditions;
  bool is_outside = true;
  for (const PathStep& step : path) {
    is_outside = is_outside && step.loop != found->outermost;
    if (step.loop) {
      const bool reduces = arith::is_reduction_loop(realize, step.loop->loop_var);
      (reduces ? given.reductions : given.others).push_back(step.loop->loop_var.get());
      if (!reduces) given.other_extents.push_back(step.loop->extent);
    }
    if (!is_outside || !step.condition.defined()) continue;
    for (const Expr& condition : arith::conjuncts(step.condition)) all.push_back(condition);
  }
  given.is_never = std::ranges::all_of(
      domains, [&](const Expr& domain) { return arith::runs_with(domain, given.other_extents); });
  const auto outermost = std::ranges::find(path, found->outermost, &PathStep::loop);
  given.sequences = std::count_if(outermost, path.end(), [](const PathStep& step) {
    return !step.loop && !step.condition.defined();
  });
  Analyzer analyzer;
  const bool reads_reduction = std::ranges::any_of(domains, [&](const Expr& domain) {
    return std::ranges::any_of(path, [&](const PathStep& step) {
      return step.loop && arith::is_reduction_loop(realize, step.loop->loop_var) &&
             uses_variable(domain, step.loop->loop_var);
    });
  });
  if (reads_reduction) {
    for (const Expr& extent : found->extents) given.extents.push_back(analyzer.simplify(extent));
    std::erase_if(given.extents, [](const Expr& extent) {
      const std::int64_t* known = as_int(extent);
      return known && *known > 0;
    });
    if (given.extents.empty()) return {};
  }
  std::vector<Expr> around = arith::conjuncts(realize.predicate);
  for (const PathStep& step : path) {
    if (!step.condition.defined()) continue;
    std::ranges::copy(arith::conjuncts(step.condition), std::back_inserter(around));
  }
  given.mixed_conditions = std::ranges::count_if(around, [&](const Expr& condition) {
    const auto reads_one_of = [&](const std::vector<const Object*>& loops) {
      return std::ranges::any_of(free_variables(condition), [&](const auto& variable) {
        return std::ranges::find(loops, variable.get()) != loops.end();
      });
    };
    return reads_one_of(given.reductions) && reads_one_of(given.others);
  });
  for (const Expr& condition : all) {
    const bool reads_loops = std::ranges::any_of(path, [&](const PathStep& step) {
      return step.loop && uses_variable(condition, step.loop->loop_var);
    });
    if (reads_loops) continue;
    const Expr plain = analyzer.simplify(condition);
    if (is_const_int(plain, 0)) return {};
    if (!is_const_int(plain, 1)) given.conditions.push_back(plain);
  }
  return given;
}

/// True when a condition that reads no loop keeps a block from running at all.
bool never_runs(const Schedule& schedule, BlockRV block) {
  std::vector<Expr> all = arith::conjuncts(schedule.realize(block).predicate);
  for (const PathStep& step : path_to(schedule, schedule.node(block))) {
    if (step.condition.defined()) all.push_back(step.condition);
  }
  Analyzer analyzer;
  return std::ranges::any_of(
      all, [&](const Expr& each) { return is_const_int(analyzer.simplify(each), 0); });
}

/// Of a block that has come to stand in a new one, which gives its init where it did not, or under
/// a condition that reads loops of the reduction, or not where one of these has no iterations: the
/// loop of the reduction.
std::optional<std::string> loop_started_otherwise(const Schedule& before, const Schedule& after,
                                                  BlockRV block) {
  const auto scope = block_around(before, before.node(block));
  BlockRV outer = block;
  for (auto around = block_around(after, after.node(outer)); around && around != scope;
       around = block_around(after, after.node(outer))) {
    outer = *around;
  }
  if (outer == block) return {};
  const auto old = given_init(before, block);
  if (!old) {
    const bool may_be_empty = after.at(after.node(outer)).may_be_empty;
    const auto now = may_be_empty ? given_init(after, outer) : std::nullopt;
    return now && !now->is_never ? std::optional(now->loop) : std::nullopt;
  }
  const auto is_of_reduction = [&](const Object* loop) {
    return std::ranges::find(old->reductions, loop) != old->reductions.end();
  };
  const std::vector<Expr> domains = unsure_domains(after, outer);
  std::vector<Expr> all{after.realize(outer).predicate};
  for (const PathStep& step : path_to(after, after.node(outer))) {
    if (step.condition.defined()) all.push_back(step.condition);
    const bool keeps_it = !step.loop || !is_of_reduction(step.loop->loop_var.get()) ||
                          arith::runs_with(step.loop->extent, domains);
    if (!keeps_it) return step.loop->loop_var->name;
  }
  const bool reads_reduction = std::ranges::any_of(all, [&](const Expr& condition) {
    return std::ranges::any_of(free_variables(condition), [&](const auto& variable) {
      return is_of_reduction(variable.get());
    });
  });
  return reads_reduction ? std::optional(old->loop) : std::nullopt;
}

bool all_in(const std::vector<Expr>& some, const std::vector<Expr>& all) {
  return std::ranges::all_of(some, [&](const Expr& one) {
    return std::ranges::any_of(all,
                               [&](const Expr& other) { return structural_equal(one, other); });
  });
}

bool have_in_common(const std::vector<const Object*>& a, const std::vector<const Object*>& b) {
  return std::ranges::find_first_of(a, b) != a.end();
}

/// True when a loop that keeps the init from running where it has no iterations has become one with
/// loops of the reduction. Where others stand in its place, the block was moved.
bool loses_condition(const GivenInit& a, const GivenInit& b) {
  const auto has = [](const std::vector<const Object*>& loops, const Object* loop) {
    return std::ranges::find(loops, loop) != loops.end();
  };
  for (std::size_t i = 0; i < b.others.size(); ++i) {
    if (!has(a.others, b.others[i]) && !as_int(b.other_extents[i])) return false;
  }
  const bool has_new_loop = std::ranges::any_of(
      b.reductions, [&](const Object* loop) { return !has(a.reductions, loop); });
  for (std::size_t i = 0; i < a.others.size() && has_new_loop; ++i) {
    const std::int64_t* extent = as_int(a.other_extents[i]);
    if (!has(b.others, a.others[i]) && !(extent && *extent > 0)) return true;
  }
  return false;
}

/// Of an init before a step, and after it.
bool are_alike(const std::optional<GivenInit>& a, const std::optional<GivenInit>& b) {
  if (!a || !b) return (!a || a->is_never) && (!b || b->is_never);
  if (b->mixed_conditions < a->mixed_conditions) return false;
  if (loses_condition(*a, *b) || loses_condition(*b, *a)) return false;
  if (have_in_common(a->reductions, b->others) || have_in_common(a->others, b->reductions)) {
    return false;
  }
  const auto are_same = [](const std::vector<Expr>& some, const std::vector<Expr>& others) {
    return all_in(some, others) && all_in(others, some);
  };
  return are_same(a->conditions, b->conditions) && are_same(a->extents, b->extents);
}

/// Of a block whose place others have taken, each for a part of its instances: the loop before
/// which its init is given no more where there is nothing to reduce.
std::optional<std::string> loop_started_no_more(const Schedule& before, const Schedule& after,
                                                BlockRV block) {
  const auto old = given_init(before, block);
  if (!old || old->is_never) return {};
  const std::vector<Ptr<BufferRegion>>& writes = before.get(block).writes;
  std::vector<BlockRV> known;
  each_changed_node(before, nullptr, [&](NodeId node) {
    if (before.as<BlockRealize>(node)) known.push_back(before.block_at(node));
    return true;
  });
  bool is_lost = false;
  each_changed_node(after, &before, [&](NodeId node) {
    if (!after.at(node).may_be_empty) return true;
    const BlockRV part = after.block_at(node);
    const Block& body = after.get(part);
    const bool is_new = std::ranges::find(known, part) == known.end();
    const bool is_part =
        is_new && body.init && std::ranges::any_of(body.writes, [&](const auto& region) {
          return std::ranges::any_of(writes, [&](const auto& other) {
            return other->buffer->data.same_as(region->buffer->data);
          });
        });
    is_lost = is_part && !never_runs(after, part) && !given_init(after, part);
    return !is_lost;
  });
  return is_lost ? std::optional(old->loop) : std::nullopt;
}

}  // namespace

std::optional<Refusal> refuse_changed_inits(const Schedule& before, const Schedule& after) {
  std::optional<Refusal> refusal;
  each_changed_node(before, &after, [&](NodeId node) {
    if (!before.at(node).may_be_empty) return true;
    const BlockRV block = before.block_at(node);
    // Of a block that is gone the init is up to what took its place, of one with other domains,
    // too, if it runs.
    if (after.refuse(block)) {
      const auto loop = loop_started_no_more(before, after, block);
      if (loop)
        refusal = changed_results(empty_reductions_start, {Argument(*loop), Argument(block)});
      return !loop;
    }
    const bool is_still_empty = after.at(after.node(block)).may_be_empty;
    const auto old = given_init(before, block);
    const auto now = is_still_empty ? given_init(after, block) : std::nullopt;
    const bool is_later = old && now && now->sequences < old->sequences;
    bool is_kept = are_alike(old, now) && !is_later;
    if (!is_still_empty && !never_runs(after, block)) is_kept = true;
    const auto loop = is_kept ? loop_started_otherwise(before, after, block)
                              : std::optional((old ? old : now)->loop);
    if (!loop) return true;
    refusal = changed_results(empty_reductions_start, {Argument(*loop), Argument(block)});
    return false;
  });
  return refusal;
}

}  // namespace loopsmith
