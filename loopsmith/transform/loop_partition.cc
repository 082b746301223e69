// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/loop_partition.h"

#include <algorithm>
#include <functional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "loopsmith/arith/const_int_bound.h"
#include "loopsmith/arith/data_parameters.h"
#include "loopsmith/arith/relax.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loop_body.h"
#include "loopsmith/transform/loop_rest.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/shorten_loops.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace {

/// Loops around more loops than this are left whole, so that the cost stays linear.
constexpr int max_loops_outside = 8;
/// Bodies that are larger than this are not duplicated.
constexpr int max_statements_copied = 256;

/// Larger bodies are cut in the main part alone.
constexpr int max_statements_cut_twice = 16;

/// Where the conditions of one loop hold: from each of `low`, up to before each of `high`; from
/// each of `ends` on, nothing is done.
struct Part {
  std::vector<Expr> low, high, ends;
  ConditionSet conditions;
};

class Partitioner {
 public:
  explicit Partitioner(const PrimFunc& func) : contents_(measure_loops(func.body)) {
    rewrite_.on<For>([this](const For& node) { return loop(node); });
    rewrite_.on<LetStmt>([this](const LetStmt& node) -> Stmt {
      if (node.var->dtype.is_index()) analyzer_.learn(node.var, node.value);
      return with_lanes(node.var, differs_by_lane(node.value),
                        [&] { return rewrite_.children(node); });
    });
    rewrite_.on<AttrStmt>([this](const AttrStmt& node) -> Stmt {
      if (node.attr_key != "pragma_loop_partition_hint") return rewrite_.children(node);
      const auto* loop = node.body.as<For>();
      if (loop && is_const_int(node.value, 0)) contents_.erase(loop->loop_var.get());
      if (loop && !is_const_int(node.value, 0)) hinted_ = loop->loop_var.get();
      return rewrite_(node.body);
    });
  }
  Ptr<PrimFunc> run(const Ptr<PrimFunc>& func) {
    for (const Ptr<Var>& param : arith::data_parameters(*func)) analyzer_.mark_data(param);
    const auto has_conditions = [](const auto& loop) { return loop.second.has_conditions; };
    return std::ranges::any_of(contents_, has_conditions) ? rewrite_.body_of(func) : func;
  }

 private:
  /// True when lanes of a vectorized loop around may have different values.
  bool differs_by_lane(const Expr& value) const {
    return std::ranges::any_of(lane_values_,
                               [&](const Ptr<Var>& lane) { return uses_variable(value, lane); });
  }
  /// Rewrites what stands inside the definition of a variable.
  template <class Fn>
  Stmt with_lanes(const Ptr<Var>& variable, bool differs, Fn rewrite_inside) {
    if (differs) lane_values_.push_back(variable);
    Stmt result = rewrite_inside();
    if (differs) lane_values_.pop_back();
    return result;
  }
  Stmt loop(const For& node);
  Part find_part(const For& loop);
  using Consider = std::function<void(const Expr& condition)>;
  void visit(const Stmt& stmt, const Consider& consider);
  void consider(const Expr& condition, const For& loop, Part& part);
  bool masks_lanes(const Expr& condition) const;
  bool is_better_masked(const Expr& condition, const For& loop, const arith::Interval& values,
                        std::int64_t scale);
  bool is_worth_it(const For& loop) const;
  Stmt split(const For& loop, const Part& part);
  Stmt tested(const For& loop);
  Stmt tested_by_vectors(const For& loop);
  Stmt specialize(const For& loop, const Part& part);
  Stmt cut_by_others(const For& loop, const Part& part);

  Rewriter rewrite_;
  Analyzer analyzer_;
  LoopContents contents_;
  const Object* hinted_ = nullptr;  // The variable of the loop that a pragma is around.
  arith::Intervals inner_;          // Of the variables defined inside the loop that is looked at.
  std::vector<Ptr<Var>> lanes_;     // Those of them that are vectorised.
  ConditionSet decided_;            // What a loop around was cut by.
  std::vector<Ptr<Var>> lane_values_;  // Variables around that differ from lane to lane.
};

/// True when threads of a warp give each other values, for which all of them have to be there.
bool exchanges_in_warps(const Stmt& stmt) {
  bool found = false;
  pre_order_visit(stmt, [&](const Ref& ref) {
    const auto* call = ref.as<Call>();
    found = found || (call && call->op.name().starts_with("tvm_warp_shuffle"));
    return !found;
  });
  return found;
}

bool Partitioner::is_worth_it(const For& loop) const {
  const bool has_form = loop.kind == ForKind::serial || loop.kind == ForKind::parallel;
  const std::int64_t* extent = as_int(loop.extent);
  if (!has_form || !is_const_int(loop.step, 1) || (extent && *extent <= 2)) return false;
  // Copies that this pass made are not measured, and stay whole.
  const auto found = contents_.find(loop.loop_var.get());
  if (found == contents_.end()) return false;
  const LoopContent& inside = found->second;
  const bool is_small =
      inside.levels <= max_loops_outside && inside.statements <= max_statements_copied;
  return inside.has_conditions && (is_small || hinted_ == loop.loop_var.get()) &&
         !leaves_loop(loop.body) && !has_barrier(loop.body) && !exchanges_in_warps(loop.body);
}

/// True when the condition differs between lanes of a vectorized loop inside.
bool Partitioner::masks_lanes(const Expr& condition) const {
  return std::ranges::any_of(lanes_,
                             [&](const Ptr<Var>& lane) { return uses_variable(condition, lane); });
}

/// True when it is better to mask lanes in all iterations than to cut some off: where lanes differ
/// in half of them or more, as in the window of a convolution.
bool Partitioner::is_better_masked(const Expr& condition, const For& loop,
                                   const arith::Interval& values, std::int64_t scale) {
  const std::int64_t* extent = as_int(loop.extent);
  if (!extent || !masks_lanes(condition)) return false;
  // The last task's own loops are cut.
  if (loop.kind == ForKind::parallel) return false;
  const Expr spread = analyzer_.simplify(values.max - values.min);
  const std::int64_t* known = as_int(spread);
  return known && *known / scale >= *extent / 2;
}

/// True when nothing in `stmt` is done where the condition does not hold.
bool guards_all(const Stmt& stmt, const Expr& condition) {
  if (const auto* loop = stmt.as<For>()) return guards_all(loop->body, condition);
  const auto* branch = stmt.as<IfThenElse>();
  if (!branch || branch->else_case) return false;
  const auto is_it = [&](const Expr& each) { return each.same_as(condition); };
  return std::ranges::any_of(arith::conjuncts(branch->condition), is_it) ||
         guards_all(branch->then_case, condition);
}

/// `condition` holds for all values of inner loops when the loop variable lies between some bounds.
void Partitioner::consider(const Expr& condition, const For& loop, Part& part) {
  // A mask is worth a cut of its own in what the loop around has left over.
  const bool is_decided = decided_.contains(condition.get()) && !masks_lanes(condition);
  if (part.conditions.contains(condition.get()) || is_decided) return;
  const auto comparison = timeless_comparison(condition);
  if (!comparison || !uses_variable(condition, loop.loop_var)) return;
  const bool strict = comparison->is_strict;

  // scale * loop_var + rest < 0, or <= 0.
  Expr difference = comparison->left - comparison->right;
  const Ptr<Var>& variable = loop.loop_var;
  const DataType type = variable->dtype, wide = difference.dtype();
  if (wide.bits < type.bits) return;
  Ptr<Var> place = variable;
  if (wide != type) {
    place = var(variable->name, wide);
    analyzer_.bind_range(place, cast(wide, loop.min), cast(wide, loop.extent));
    difference = analyzer_.simplify(substitute(difference, {{variable, cast(type, place)}}));
  }
  const Expr slope =
      analyzer_.simplify(substitute(difference, {{place, place + int_imm(wide, 1)}}) - difference);
  const std::int64_t* scale = as_int(slope);
  if (!scale || *scale == 0) return;
  const Expr rest = analyzer_.simplify(substitute(difference, {{place, int_imm(wide, 0)}}));
  const auto values = arith::relax(rest, inner_);
  if (!values || uses_variable(values->max, variable) || may_change(values->max, loop.body)) return;

  if (is_better_masked(condition, loop, *values, std::abs(*scale))) return;

  // The largest rest decides: scale * loop_var < limit.
  Expr limit = -values->max;
  if (!strict) limit = limit + int_imm(limit.dtype(), 1);
  if (analyzer_.may_overflow(analyzer_.simplify(limit))) return;
  // What is computed in more bits than the loop counts in may be beyond its ends.
  const auto among_iterations = [&](const Expr& at) -> Expr {
    if (wide == type) return at;
    const Expr begin = cast(wide, loop.min);
    return cast(type, max(min(at, begin + cast(wide, loop.extent)), begin));
  };
  const bool is_end = *scale > 0;
  const Expr bound =
      among_iterations(is_end ? ceildiv(limit, int_imm(wide, *scale))
                              : floordiv(-limit, int_imm(wide, -*scale)) + int_imm(wide, 1));
  // Lanes go in step: all of them would do the first part before any does the second.
  if (differs_by_lane(bound)) return;
  // Where it holds for all inner values in no iteration at all, there is nothing to gain.
  const Expr left = is_end ? bound - loop.min : loop.min + loop.extent - bound;
  const Expr count = analyzer_.simplify(left);
  const std::int64_t* iterations = as_int(count);
  if (iterations && *iterations <= 0) return;
  (is_end ? part.high : part.low).push_back(bound);
  part.conditions.insert(condition.get());
  if (!is_end || uses_variable(values->min, variable) || may_change(values->min, loop.body)) return;
  // The smallest rest decides from where on no iteration of the inner loops has anything to do.
  const Expr least = strict ? -values->min : int_imm(rest.dtype(), 1) - values->min;
  if (!guards_all(loop.body, condition) || analyzer_.may_overflow(analyzer_.simplify(least)))
    return;
  part.ends.push_back(among_iterations(ceildiv(least, int_imm(wide, *scale))));
}

/// Calls `consider` for each condition in `stmt`, with `inner_` and `lanes_` as they are there.
void Partitioner::visit(const Stmt& stmt, const Consider& consider) {
  if (const auto* inner = stmt.as<For>()) {
    const auto content = contents_.find(inner->loop_var.get());
    if (content != contents_.end() && !content->second.has_conditions) return;
  }
  const auto* hint = stmt.as<AttrStmt>();
  if (hint && hint->attr_key == "pragma_loop_partition_hint" && is_const_int(hint->value, 0)) {
    return;
  }
  deep_call([&] {
    if (const auto* branch = stmt.as<IfThenElse>()) {
      for (const Expr& each : arith::conjuncts(branch->condition)) consider(each);
    } else if (const auto* inner = stmt.as<For>()) {
      const Expr one = int_imm(inner->extent.dtype(), 1);
      const Expr last = inner->min + (inner->extent - one) * inner->step;
      const auto first = arith::relax(inner->min, inner_), end = arith::relax(last, inner_);
      const bool is_known = first && end && is_const_int(inner->step, 1);
      inner_[inner->loop_var] =
          is_known ? std::optional(arith::Interval{first->min, end->max}) : std::nullopt;
      if (inner->kind == ForKind::vectorized) lanes_.push_back(inner->loop_var);
    } else if (const auto* let = stmt.as<LetStmt>()) {
      inner_[let->var] =
          let->var->dtype.is_index() ? arith::relax(let->value, inner_) : std::nullopt;
    }
    for_each_child(*stmt.get(), [&](const Ref& child, Role role) {
      if (role == Role::binds || child.is<Buffer>()) return;
      if (const Stmt inner = Stmt::from(child)) return visit(inner, consider);
      for (const Expr& choice : choices_in(child)) {
        for (const Expr& each : arith::conjuncts(choice)) consider(each);
      }
    });
  });
}

Part Partitioner::find_part(const For& loop) {
  Part part;
  inner_.clear();
  lanes_.clear();
  visit(loop.body, [&](const Expr& condition) { consider(condition, loop, part); });
  return part;
}

For over(const For& loop, const Expr& begin, const Expr& end) {
  For copy = loop;
  copy.min = begin;
  copy.extent = end - begin;
  return copy;
}

Stmt Partitioner::split(const For& loop, const Part& part) {
  const Expr begin = loop.min, end = analyzer_.simplify(loop.min + loop.extent);
  Expr low = begin, high = end;
  for (const Expr& each : part.low) low = max(low, each);
  for (const Expr& each : part.high) high = min(high, each);
  if (!part.low.empty()) low = min(low, end);
  high = max(high, low);
  low = analyzer_.simplify(low);
  high = analyzer_.simplify(high);

  const auto copied = [&](const Expr& from, const Expr& to) -> Stmt {
    const Expr extent = analyzer_.simplify(to - from);
    if (is_const_int(extent, 0)) return no_op();
    For part = over(loop, from, to);
    // What is known of all iterations decides most conditions of those that are unrolled.
    const bool is_decided = is_const_int(extent, 1) && as_int(from);
    part.body = shorten_loops(part.body, analyzer_,
                              is_decided ? Substitution{{part.loop_var, from}} : Substitution());
    if (is_decided) return clone_with(make(std::move(part)), {});
    const Stmt rest = remainder_of(make(std::move(part)));
    const For& left = *rest.as<For>();
    // Of one iteration at most, in which vectors are left out, no loop keeps them from registers.
    const bool is_branch = loop.body.is<For>() && left.body.is<IfThenElse>();
    if (!is_branch || analyzer_.const_int_bound(extent).max_value > 1) return rest;
    return guarded(from < to, substitute(left.body, {{left.loop_var, from}}));
  };
  // Before the main part is rewritten: its inner loops are cut in turn, the copies are not.
  Expr stop = end;
  for (const Expr& each : part.ends) stop = min(stop, each);
  if (!part.ends.empty()) stop = max(stop, high);
  const Stmt before = copied(begin, low), after = copied(high, stop);
  For main = over(loop, low, high);
  main.extent = analyzer_.simplify(main.extent);
  main.body =
      rewrite_inside(rewrite_, analyzer_, loop, without_conditions(loop.body, part.conditions));
  return seq({before, make(std::move(main)), after});
}

/// The body, with its loops cut by masks, and by conditions that are not those of the part.
Stmt Partitioner::cut_by_others(const For& loop, const Part& part) {
  decided_.insert(part.conditions.begin(), part.conditions.end());
  Stmt body = rewrite_inside(rewrite_, analyzer_, loop, loop.body);
  for (const Object* each : part.conditions) decided_.erase(each);
  rewrite_.forget();
  return body;
}

Stmt Partitioner::specialize(const For& loop, const Part& part) {
  Expr inside = true;
  for (const Expr& each : part.low) inside = inside && each <= loop.loop_var;
  for (const Expr& each : part.high) inside = inside && loop.loop_var < each;
  For copy = loop;
  // A task of few is still long: its inner loops are cut, too, where they are small.
  const bool is_small = contents_.at(loop.loop_var.get()).statements <= max_statements_cut_twice;
  const Stmt rest = remainder_of(is_small ? cut_by_others(loop, part) : loop.body);
  const Stmt whole = without_conditions(loop.body, part.conditions);
  copy.body = make(IfThenElse{.condition = analyzer_.simplify(inside),
                              .then_case = rewrite_inside(rewrite_, analyzer_, loop, whole),
                              .else_case = rest});
  return make(std::move(copy));
}

/// The loop without the conditions that hold in all of it, after one test for all of them.
///
///     for i in 4: (unrolled)               if r * 4 + 3 < n:  for i in 4: C[r * 4 + i] = 0
///       if r * 4 + i < n:            =>    else:              for i in 4:
///         C[r * 4 + i] = 0                                      if r * 4 + i < n: C[r * 4 + i] = 0
Stmt Partitioner::tested(const For& loop) {
  ConditionSet conditions;
  std::vector<Expr> tests;
  bool is_by_iteration = true;  // Whether each condition holds for all of an iteration, or none.
  inner_.clear();
  lanes_.clear();
  visit(Ptr<For>(&loop), [&](const Expr& condition) {
    const auto comparison = timeless_comparison(condition);
    if (!comparison || conditions.contains(condition.get())) return;
    // Lanes that have a condition in common ask it once anyway.
    if (loop.kind == ForKind::vectorized && !masks_lanes(condition)) return;
    const Expr difference = analyzer_.simplify(comparison->left - comparison->right);
    const auto values = arith::relax(difference, inner_);
    if (!values || may_change(values->max, loop.body) || differs_by_lane(values->max)) return;
    const Expr most = analyzer_.simplify(values->max);
    if (most.dtype() != difference.dtype() || analyzer_.may_overflow(most)) return;
    const Expr zero = zero_of(most.dtype());
    const Expr holds = analyzer_.simplify(comparison->is_strict ? most < zero : most <= zero);
    if (is_const_int(holds, 0)) return;
    conditions.insert(condition.get());
    tests.push_back(holds);
    for (const Ptr<Var>& each : free_variables(condition)) {
      is_by_iteration = is_by_iteration && (each.same_as(loop.loop_var) || !inner_.contains(each));
    }
  });
  if (tests.empty()) return rewrite_loop(rewrite_, analyzer_, loop);
  const Ptr<For> whole = Ptr<For>::from(without_conditions(Ptr<For>(&loop), conditions));
  const bool is_whole = is_by_iteration || loop.kind == ForKind::vectorized;
  return make(IfThenElse{
      .condition = conjunction(tests),
      .then_case = rewrite_loop(rewrite_, analyzer_, *whole),
      .else_case = is_whole ? clone_with(Stmt(Ptr<For>(&loop)), {}) : tested_by_vectors(loop)});
}

/// What is left of an unrolled loop where vectors may be cut off: little code, in which each is
/// tested in turn, as most of them are whole.
Stmt Partitioner::tested_by_vectors(const For& loop) {
  std::int64_t lanes = 0;
  Rewriter rewrite;
  rewrite.on<For>([&](const For& inner) -> Stmt {
    if (inner.kind != ForKind::vectorized) return rewrite.children(inner);
    if (const std::int64_t* extent = as_int(inner.extent)) lanes = *extent;
    return tested(inner);
  });
  const Stmt rest = rewrite(remainder_of(Ptr<For>(&loop)));
  return with_copied_tiles(rest, lanes);
}

Stmt Partitioner::loop(const For& node) {
  const bool is_tested = node.kind == ForKind::unrolled && hinted_ == node.loop_var.get() &&
                         contents_.contains(node.loop_var.get());
  if (is_tested) return tested(node);
  const bool starts_apart = differs_by_lane(node.min) || differs_by_lane(node.step);
  const bool is_whole = starts_apart || differs_by_lane(node.extent) || !is_worth_it(node);
  return with_lanes(node.loop_var, starts_apart || node.kind == ForKind::vectorized, [&]() -> Stmt {
    const Part part = is_whole ? Part() : find_part(node);
    if (part.conditions.empty()) return rewrite_loop(rewrite_, analyzer_, node);
    return node.kind == ForKind::parallel ? specialize(node, part) : split(node, part);
  });
}

}  // namespace

Ptr<PrimFunc> loop_partition(const Ptr<PrimFunc>& func) {
  return Partitioner(*func).run(func);
}

}  // namespace loopsmith
