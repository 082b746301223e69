// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/cache_index.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/path_condition.h"
#include "loopsmith/schedule/rewrites/edits.h"
#include "loopsmith/schedule/rewrites/expression_replacement.h"

namespace loopsmith {
namespace {

using IdentitySet = std::unordered_set<Ref, RefHash, RefEqual>;

/// Calls `visit` with each expression by which a load in `root` is indexed.
template <class Visit>
void for_each_index(const Stmt& root, Visit&& visit) {
  pre_order_visit(root, [&](const Ref& ref) {
    if (const auto* load = ref.as<BufferLoad>()) {
      for (const Expr& index : load->indices) visit(index);
    }
    return true;
  });
}

/// Finds what of a block's indices is worth to be computed beforehand.
class IndexFinder {
 public:
  IndexFinder(const Block& block, const PrimFunc& func) : block_(block) {
    for (const auto& variable : free_variables(func.body)) known_.insert(variable);
    for (const auto& axis : block.iter_vars) {
      const bool is_fixed = is_known(axis->dom->min) && is_known(axis->dom->extent);
      if (is_fixed) axes_.insert(axis->var);
    }
  }

  std::vector<CachedIndex> find(std::int64_t least) {
    least_ = least;
    if (least_ > 1) for_each_index(block_.body, [&](const Expr& index) { count(index); });
    for_each_index(block_.body, [&](const Expr& index) { take(index); });
    return std::move(found_);
  }

 private:
  /// True when the expression is made of what does not change in the function.
  bool is_known(const Expr& expr) const {
    return std::ranges::all_of(free_variables(expr),
                               [&](const auto& variable) { return known_.contains(variable); });
  }

  /// True when it is computed of axes, and may be evaluated for any values of them.
  bool may_be_cached(const Expr& expr) const {
    if (!expr.dtype().is_scalar() || !expr.dtype().is_index()) return false;
    if (expr.is<Var>() || expr.is<IntImm>() || expr.is<BufferLoad>()) return false;
    bool is_plain = true;
    pre_order_visit(expr, [&](const Ref& ref) {
      const auto* call = ref.as<Call>();
      const bool has_effect = call && call->op.info().effect != Effect::pure;
      is_plain = is_plain && !ref.is<BufferLoad>() && !ref.is<Let>() && !has_effect;
      return is_plain;
    });
    const auto used = free_variables(expr);
    const auto is_axis = [&](const Ptr<Var>& variable) { return axes_.contains(variable); };
    return is_plain && std::ranges::any_of(used, is_axis) &&
           std::ranges::all_of(used, [&](const auto& variable) {
             return is_axis(variable) || known_.contains(variable);
           });
  }

  template <class Visit>
  void for_each_part(const Expr& expr, Visit visit) {
    for_each_child(*expr.get(), [&](const Ref& child, Role) {
      if (const Expr part = Expr::from(child); part.defined()) deep_call([&] { visit(part); });
    });
  }

  /// How often a part occurs; what is inside shared nodes counts once.
  void count(const Expr& expr) {
    if (may_be_cached(expr)) ++occurrences_[expr];
    if (counted_.insert(expr).second) {
      for_each_part(expr, [&](const Expr& part) { count(part); });
    }
  }

  void take(const Expr& expr) {
    if (!taken_.insert(expr).second) return;
    if (!may_be_cached(expr) || (least_ > 1 && occurrences_[expr] < least_)) {
      return for_each_part(expr, [&](const Expr& part) { take(part); });
    }
    const bool is_new = std::ranges::none_of(
        found_, [&](const CachedIndex& other) { return structural_equal(other.value, expr); });
    if (!is_new) return;
    CachedIndex& index = found_.emplace_back(CachedIndex{.value = expr});
    for (const auto& axis : block_.iter_vars) {
      if (uses_variable(expr, axis->var)) index.axes.push_back(axis);
    }
  }

  const Block& block_;
  std::int64_t least_ = 0;
  IdentitySet known_, axes_, counted_, taken_;
  std::unordered_map<Ref, std::int64_t, StructuralHash, StructuralEqual> occurrences_;
  std::vector<CachedIndex> found_;
};

/// Where what belongs to a value of an axis is kept, from 0.
Expr element_of(const Range& domain, const Ptr<Var>& axis) {
  return is_const_int(domain.min, 0) ? Expr(axis) : axis - domain.min;
}

/// Replaces the parts of indices that are `cached` by loads of the buffers.
Stmt with_lookups(const Stmt& body, const std::vector<CachedIndex>& cached,
                  const std::vector<Expr>& loads) {
  Rewriter inside;  // For the indices.
  replace_expressions(inside, [&](const Expr& expr) {
    for (std::size_t i = 0; i < cached.size(); ++i) {
      if (structural_equal(cached[i].value, expr)) return loads[i];
    }
    return Expr();
  });
  Rewriter rewrite;
  rewrite.on<BufferLoad>([&](const BufferLoad& load) -> Expr {
    BufferLoad copy = *rewrite.children(load);
    for (Expr& index : copy.indices) index = inside(index);
    return make(std::move(copy));
  });
  return rewrite(body);
}

}  // namespace

Planned<CacheIndexPlan> plan_cache_index(const Schedule& schedule,
                                         const CacheIndexArguments& arguments) {
  if (!is_storage_scope(arguments.storage_scope)) {
    return Refusal{&storage_scope_is_known, {Argument(arguments.storage_scope)}};
  }
  const NodeId node = schedule.node(arguments.block);
  const auto scope = block_around(schedule, node);
  if (!scope) return Refusal{&block_stands_in_a_block, {Argument(arguments.block)}};
  const auto* func = schedule.as<PrimFunc>(schedule.root(schedule.function_of(node)));
  return CacheIndexPlan{
      .block = arguments.block,
      .scope = *scope,
      .storage_scope = arguments.storage_scope,
      .indices = IndexFinder(schedule.get(arguments.block), *func).find(arguments.cse_thresh)};
}

Handles<BlockRV> commit_cache_index(Schedule& schedule, CacheIndexPlan&& plan) {
  if (plan.indices.empty()) return {};
  const NodeId node = schedule.node(plan.block);
  const std::uint32_t function = schedule.function_of(node);
  const SpanScope span(schedule.span_from(schedule.at(node).object->span));
  std::vector<Ptr<Buffer>> buffers;
  std::vector<Expr> loads;
  for (const auto& [value, axes] : plan.indices) {
    std::vector<Expr> shape, indices;
    for (const auto& axis : axes) {
      shape.push_back(dimension_for(schedule, function, axis->dom->extent));
      indices.push_back(element_of(*axis->dom, axis->var));
    }
    const std::string name = fmt::format("index_var_{}", buffers.size());
    buffers.push_back(decl_buffer(std::move(shape), value.dtype(),
                                  schedule.fresh_buffer_name(function, name), plan.storage_scope));
    loads.push_back(load(buffers.back(), std::move(indices)));
    allocate_in(schedule, plan.scope, buffers.back());
  }

  BlockRealize realize = schedule.realize(plan.block);
  const Ptr<Block> before = realize.block;
  Block block = *before;
  block.body = with_lookups(block.body, plan.indices, loads);
  for (const Expr& lookup : loads) {
    const auto* element = lookup.as<BufferLoad>();
    block.reads.push_back(point_region(element->buffer, element->indices));
  }
  realize.block = make(std::move(block));
  schedule.replace(node, make(realize), {{before.get(), realize.block.get()}});

  Handles<BlockRV> made;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    std::vector<Ptr<Range>> domains;
    for (const auto& axis : plan.indices[i].axes) domains.push_back(axis->dom);
    const AxesNest loops = axes_nest(schedule, function, domains);
    Substitution axes;
    std::vector<Expr> indices;
    for (std::size_t k = 0; k < domains.size(); ++k) {
      axes[plan.indices[i].axes[k]->var] = loops.axes[k]->var;
      indices.push_back(element_of(*domains[k], loops.axes[k]->var));
    }
    Block compute{.writes = {point_region(buffers[i], indices)},
                  .name_hint = schedule.fresh_block_name(function, fmt::format("index_{}", i)),
                  .body = store(buffers[i], substitute(plan.indices[i].value, axes), indices)};
    const NodeId place = schedule.insert_before(nest_of(schedule, plan.scope, plan.block),
                                                nest_around(loops, std::move(compute), true));
    made.push_back(block_inside(schedule, place));
  }
  return made;
}

}  // namespace loopsmith
