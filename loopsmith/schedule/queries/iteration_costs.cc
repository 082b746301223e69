// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/iteration_costs.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// Collects how often the loops right inside another run, where that differs from iteration to
/// iteration and can be told before it runs.
class CostFinder {
 public:
  explicit CostFinder(const For& loop) : loop_(loop) {}

  /// The iterations of each of these loops.
  std::vector<Expr> find() && {
    visit(loop_.body);
    return std::move(extents_);
  }

 private:
  void visit(const Stmt& stmt) {
    if (const auto* sequence = stmt.as<SeqStmt>()) {
      for (const Stmt& part : sequence->seq) visit(part);
    } else if (const auto* let = stmt.as<LetStmt>()) {
      values_[let->var] = substitute(let->value, values_);
      visit(let->body);
    } else if (const auto* realize = stmt.as<BlockRealize>()) {
      // What a condition guards may not be read without it.
      if (!is_const_int(realize->predicate, 1)) return;
      const Block& block = *realize->block;
      for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
        values_[block.iter_vars[i]->var] = substitute(realize->iter_values[i], values_);
      }
      visit(block.body);
    } else if (const auto* inner = stmt.as<For>()) {
      add(substitute(inner->extent, values_));
    }
  }

  void add(const Expr& extent) {
    const auto inside = free_variables(extent);
    const bool differs = reads_memory(extent) || uses_variable(extent, loop_.loop_var);
    if (!differs || may_change(extent, loop_.body) || is_defined_inside(inside)) return;
    extents_.push_back(extent);
  }

  bool is_defined_inside(const auto& variables) const {
    bool found = false;
    pre_order_visit(loop_.body, [&](const Ref& ref) {
      const auto is_used = [&](const Ptr<Var>& var) {
        return std::ranges::any_of(variables, [&](const auto& each) { return each.same_as(var); });
      };
      if (const auto* inner = ref.as<For>()) found = found || is_used(inner->loop_var);
      if (const auto* let = ref.as<LetStmt>()) found = found || is_used(let->var);
      if (const auto* block = ref.as<Block>()) {
        for (const auto& axis : block->iter_vars) found = found || is_used(axis->var);
        for (const auto& buffer : block->alloc_buffers) found = found || is_used(buffer->data);
      }
      return !found && !is_expr(*ref.get());
    });
    return found;
  }

  const For& loop_;
  Substitution values_;
  std::vector<Expr> extents_;
};

}  // namespace

std::vector<Expr> differing_extents(const For& loop) {
  return CostFinder(loop).find();
}

Expr sum_of_extents(const Expr& extent, const For& loop) {
  const auto* difference = extent.as<Sub>();
  if (!difference) return {};
  const Expr next = substitute(difference->b, {{loop.loop_var, loop.loop_var + loop.step}});
  return Analyzer().can_prove_equal(next, difference->a) ? difference->b : Expr();
}

}  // namespace loopsmith
