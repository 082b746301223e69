// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/reduction_init.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/iter_map.h"
#include "loopsmith/arith/trip_counts.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/regroups.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::arith {

bool uses_any(const Ref& root, const VarSet& variables) {
  return std::ranges::any_of(free_variables(root),
                             [&](const Ptr<Var>& used) { return variables.contains(used.get()); });
}

namespace {

/// True where the axes, those of the reduction or the others, have other values in each iteration
/// of the loops.
bool are_told_together(const BlockRealize& realize, std::span<const For* const> loops,
                       bool are_of_reduction = true) {
  std::vector<Expr> values;
  std::vector<Iterator> iterators;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    if (is_reduction(*realize.block->iter_vars[i]) == are_of_reduction) {
      values.push_back(realize.iter_values[i]);
    }
  }
  for (const For* loop : loops) {
    if (!is_const_int(loop->step, 1)) return false;
    iterators.push_back({.var = loop->loop_var, .min = loop->min, .extent = loop->extent});
  }
  Analyzer analyzer;
  return detect_iter_map(values, iterators, {}, analyzer).is_injective;
}

/// By how much a sum grows with a variable; nullopt where that is no constant, or not seen at once.
std::optional<std::int64_t> growth(const Expr& sum, const Ptr<Var>& variable) {
  if (sum.same_as(variable)) return 1;
  if (const auto* product = sum.as<Mul>(); product && as_int(product->b)) {
    const auto inner = growth(product->a, variable);
    std::int64_t all = 0;
    if (!inner || __builtin_mul_overflow(*inner, *as_int(product->b), &all)) return {};
    return all;
  }
  if (const auto* both = sum.as<Add>()) {
    const auto a = growth(both->a, variable), b = growth(both->b, variable);
    std::int64_t all = 0;
    if (!a || !b || __builtin_add_overflow(*a, *b, &all)) return {};
    return all;
  }
  return uses_variable(sum, variable) ? std::nullopt : std::optional<std::int64_t>(0);
}

/// True where the reduction axes are at their start in the first iteration of all loops, and in no
/// other.
bool starts_once(const BlockRealize& realize, std::span<const For* const> loops,
                 const Substitution& first) {
  std::vector<const For*> moving;
  for (const For* loop : loops) {
    const std::int64_t* step = as_int(loop->step);
    if (is_const_int(loop->extent, 1)) continue;
    if (!step || *step <= 0) return false;
    moving.push_back(loop);
  }
  std::optional<Analyzer> ranges;
  const auto analyzer = [&]() -> Analyzer& {
    if (ranges) return *ranges;
    ranges.emplace();
    for (const For* loop : loops) {
      if (is_const_int(loop->step, 1)) ranges->bind(loop->loop_var, range(loop->min, loop->extent));
    }
    return *ranges;
  };
  std::vector<const For*> told;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const IterVar& axis = *realize.block->iter_vars[i];
    if (!is_reduction(axis)) continue;
    const Expr& value = realize.iter_values[i];
    const Expr start = substitute(value, first), least = substitute(axis.dom->min, first);
    if (!start.same_as(least) && !Analyzer().can_prove_equal(start, least)) return false;
    // A sum that falls with none of the loops is at its start again only where those are, with
    // which it grows.
    const bool never_falls = std::ranges::all_of(moving, [&](const For* loop) {
      const auto grows = growth(value, loop->loop_var);
      return grows && *grows >= 0;
    });
    for (const For* loop : moving) {
      if (std::ranges::find(told, loop) != told.end()) continue;
      if (value.same_as(loop->loop_var) || (never_falls && growth(value, loop->loop_var) > 0)) {
        told.push_back(loop);
      } else if (uses_variable(value, loop->loop_var)) {
        const ConstraintScope later =
            analyzer().constraint_scope(loop->loop_var >= loop->min + loop->step);
        if (analyzer().can_prove(value > axis.dom->min)) told.push_back(loop);
      }
    }
  }
  return told.size() == moving.size() || are_told_together(realize, moving);
}

}  // namespace

Substitution first_values(std::span<const For* const> loops) {
  Substitution first;
  for (const For* loop : loops) first[loop->loop_var] = substitute(loop->min, first);
  return first;
}

std::vector<Expr> unsure_domains(const Block& block, const Substitution& first) {
  std::vector<Expr> found;
  for (const auto& axis : block.iter_vars) {
    if (!is_reduction(*axis)) continue;
    const std::int64_t* constant = as_int(axis->dom->extent);
    if (!constant || *constant <= 0) found.push_back(substitute(axis->dom->extent, first));
  }
  return found;
}

Expr is_empty(std::span<const Expr> extents) {
  Expr result = false;
  for (const Expr& extent : extents) result = result || extent <= int_imm(extent.dtype(), 0);
  return result;
}

bool is_reduction_loop(const BlockRealize& realize, const Ptr<Var>& loop_var) {
  bool binds = false;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const Expr& value = realize.iter_values[i];
    if (!is_reduction(*realize.block->iter_vars[i])) {
      if (value.same_as(loop_var)) return false;
    } else {
      binds = binds || uses_variable(value, loop_var);
    }
  }
  return binds;
}

Expr init_condition(const BlockRealize& realize, std::span<const For* const> loops,
                    std::span<const Expr> conditions) {
  const Substitution first = first_values(loops);
  if (!starts_once(realize, loops, first)) return {};
  const std::vector<Expr> domains = unsure_domains(*realize.block, first);
  Expr runs = true;
  for (const For* loop : loops) {
    const Expr extent = substitute(loop->extent, first);
    if (!runs_with(extent, domains)) runs = runs && extent >= int_imm(extent.dtype(), 1);
  }
  for (const Expr& condition : conditions) {
    runs = runs && unless_empty(substitute(condition, first), domains);
  }
  return is_const_int(runs, 1) ? runs : runs || is_empty(domains);
}

namespace {

/// The loops on a way that bind reduction axes of the block, and the others.
struct LoopsOnWay {
  std::vector<const For*> reductions = {}, others = {};
};

LoopsOnWay loops_on(const BlockRealize& realize, std::span<const PathStep> path) {
  LoopsOnWay loops;
  for (const PathStep& step : path) {
    if (!step.loop) continue;
    const bool reduces = is_reduction_loop(realize, step.loop->loop_var);
    (reduces ? loops.reductions : loops.others).push_back(step.loop);
  }
  return loops;
}

VarSet variables_of(std::span<const For* const> loops) {
  VarSet variables;
  for (const For* loop : loops) variables.insert(loop->loop_var.get());
  return variables;
}

}  // namespace

namespace {

/// True where each iteration of the loops is of another result: none runs an instance again.
bool are_of_other_results(const BlockRealize& realize, std::vector<const For*> loops) {
  std::erase_if(loops, [&](const For* loop) {
    if (is_const_int(loop->extent, 1)) return true;
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      const bool is_told = realize.iter_values[i].same_as(loop->loop_var) &&
                           !is_reduction(*realize.block->iter_vars[i]);
      if (is_told) return true;
    }
    return false;
  });
  return loops.empty() || are_told_together(realize, loops, false);
}

}  // namespace

bool have_own_elements(const BlockRealize& realize, std::span<const PathStep> path) {
  const Block& block = *realize.block;
  const std::vector<const For*> others = loops_on(realize, path).others;
  if (!are_of_other_results(realize, others)) return false;
  const VarSet moving = variables_of(others);
  std::vector<Ptr<Var>> axes;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const Ptr<IterVar>& axis = block.iter_vars[i];
    if (!is_reduction(*axis) && uses_any(realize.iter_values[i], moving)) axes.push_back(axis->var);
  }
  std::unordered_map<const Buffer*, std::vector<Expr>> written;
  bool are_own = true;
  const auto is_same = StructuralEqual();
  const auto is_told = [&](const std::vector<Expr>& indices) {
    return std::ranges::all_of(axes, [&](const Ptr<Var>& axis) {
      return std::ranges::any_of(indices, [&](const Expr& index) { return index.same_as(axis); });
    });
  };
  // Of memory that is written by another name, elements are not compared.
  const auto is_view = [&](const Buffer& buffer) {
    return std::ranges::any_of(
        written, [&](const auto& entry) { return entry.first->data.same_as(buffer.data); });
  };
  const auto each_part = [&](const auto& visit) {
    for (const Stmt& part : {block.init, block.body}) pre_order_visit(part, visit);
  };
  each_part([&](const Ref& ref) {
    if (const auto* store = ref.as<BufferStore>()) {
      are_own = are_own && (written.contains(store->buffer.get()) || !is_view(*store->buffer));
      const auto [entry, is_new] = written.try_emplace(store->buffer.get(), store->indices);
      are_own = are_own && is_told(store->indices) &&
                (is_new || std::ranges::equal(entry->second, store->indices, is_same));
    }
    return are_own;
  });
  each_part([&](const Ref& ref) {
    if (const auto* load = ref.as<BufferLoad>()) {
      const auto found = written.find(load->buffer.get());
      are_own = are_own && (found == written.end()
                                ? !is_view(*load->buffer)
                                : std::ranges::equal(found->second, load->indices, is_same));
    }
    return are_own;
  });
  return are_own;
}

namespace {

/// True when memory that is read to find out whether a block runs, or how often, may be written
/// before it runs for the first time, or by the block.
bool decides_by_written(const BlockRealize& realize, std::span<const PathStep> path) {
  const bool stands_alone =
      std::ranges::all_of(path, [](const PathStep& step) { return step.loop != nullptr; });
  std::vector<Ptr<Var>> stored;
  for (const Stmt& part : {realize.block->init, realize.block->body}) {
    pre_order_visit(part, [&](const Ref& ref) {
      if (const auto* store = ref.as<BufferStore>()) stored.push_back(store->buffer->data);
      return !is_expr(*ref.get());
    });
  }
  const auto reads_written = [&](const Expr& expr) {
    if (!stands_alone && reads_memory(expr)) return true;
    return std::ranges::any_of(free_buffers(expr), [&](const Ptr<Buffer>& buffer) {
      return std::ranges::any_of(stored,
                                 [&](const Ptr<Var>& each) { return each.same_as(buffer->data); });
    });
  };
  return reads_written(realize.predicate) ||
         std::ranges::any_of(realize.iter_values, reads_written) ||
         std::ranges::any_of(path, [&](const PathStep& step) {
           return step.loop && (reads_written(step.loop->min) || reads_written(step.loop->extent));
         });
}

}  // namespace

std::optional<HoistedInit> init_before(const BlockRealize& realize,
                                       std::span<const PathStep> path) {
  if (decides_by_written(realize, path)) return {};
  const auto [reductions, others] = loops_on(realize, path);
  const VarSet reduced = variables_of(reductions);
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const bool is_spatial = !is_reduction(*realize.block->iter_vars[i]);
    if (is_spatial && uses_any(realize.iter_values[i], reduced)) return {};
  }
  for (const For* loop : others) {
    const bool binds = std::ranges::any_of(realize.iter_values, [&](const Expr& value) {
      return uses_variable(value, loop->loop_var);
    });
    if (!binds && !is_const_int(loop->extent, 1)) return {};
    for (const Expr& bound : {loop->min, loop->extent, loop->step}) {
      if (uses_any(bound, reduced)) return {};
    }
  }
  std::vector<Expr> ends;
  Expr predicate = true;
  const auto demand = [&](const Expr& condition) {
    for (const Expr& each : conjuncts(condition)) {
      if (uses_any(each, reduced))
        ends.push_back(each);
      else
        predicate = predicate && each;
    }
  };
  for (const PathStep& step : path) {
    if (!step.condition.defined()) continue;
    if (reads_memory(step.condition)) return {};
    demand(step.condition);
  }
  demand(realize.predicate);
  // Where loops around move reduction axes, too, these have to be at their start.
  BlockRealize inside = realize;
  const Substitution first = first_values(reductions);
  Analyzer analyzer;
  bool is_part = false;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const IterVar& axis = *realize.block->iter_vars[i];
    const Expr start = substitute(realize.iter_values[i], first);
    if (!is_reduction(axis) || analyzer.can_prove_equal(start, axis.dom->min)) continue;
    if (free_variables(start).empty()) return {};
    predicate = predicate && start == axis.dom->min;
    is_part = true;
    inside.iter_values[i] = analyzer.simplify(realize.iter_values[i] - start + axis.dom->min);
  }
  if (is_part) {  // Of nothing, it is given elsewhere.
    for (const Expr& extent : unsure_domains(*realize.block, first)) {
      predicate = predicate && extent > int_imm(extent.dtype(), 0);
    }
  }
  const Expr condition = init_condition(inside, reductions, ends);
  if (!condition.defined() || uses_any(condition, reduced)) return {};
  Stmt nest = init_block(realize, predicate && condition);
  for (std::size_t i = others.size(); i-- > 0;) {
    For loop = *others[i];
    loop.annotations = loop.annotations.with(regroups_key, nullptr);
    loop.body = std::move(nest);
    nest = make(std::move(loop));
  }
  return HoistedInit{.init = clone_with(nest, {}), .is_for_nothing = !is_part};
}

std::size_t init_place(const BlockRealize& realize, std::span<const PathStep> path,
                       std::size_t regrouping) {
  const auto is_spatial = [&](const PathStep& step) {
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      const bool reduces = is_reduction(*realize.block->iter_vars[i]);
      if (!reduces && uses_variable(realize.iter_values[i], step.loop->loop_var)) return true;
    }
    return false;
  };
  std::size_t place = regrouping;
  for (std::size_t above = regrouping; above > 0 && path[above - 1].loop; --above) {
    const std::size_t i = above - 1;
    if (!is_reduction_loop(realize, path[i].loop->loop_var)) continue;
    if (is_spatial(path[i])) break;
    place = i;
  }
  return place;
}

Stmt init_block(const BlockRealize& realize, Expr predicate) {
  const Block& block = *realize.block;
  Block init{.writes = block.writes, .name_hint = block.name_hint + "_init", .body = block.init};
  BlockRealize result{.predicate = std::move(predicate)};
  Substitution starts;
  for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& axis = *block.iter_vars[i];
    if (is_reduction(axis)) {
      starts[axis.var] = axis.dom->min;
    } else {
      init.iter_vars.push_back(block.iter_vars[i]);
      result.iter_values.push_back(realize.iter_values[i]);
    }
  }
  result.block = make(std::move(init));
  return substitute(make(std::move(result)), starts);
}

}  // namespace loopsmith::arith
