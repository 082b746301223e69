// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/inspect_split.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/rewrites/edits.h"

namespace loopsmith {
namespace {

/// Collects how often the loops right inside another run, where that differs from iteration to
/// iteration and can be told before it runs.
class CostFinder {
 public:
  explicit CostFinder(const For& loop) : loop_(loop) {}

  /// The iterations of all these loops; null where there are none.
  Expr find() && {
    visit(loop_.body);
    return std::move(cost_);
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
    const Expr count = max(cast(i64, extent), int_imm(i64, 0));
    cost_ = cost_.defined() ? cost_ + count : count;
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
  Expr cost_;
};

/// Makes the statements of the split.
class Inspector {
 public:
  Inspector(Schedule& schedule, const InspectSplitPlan& plan)
      : schedule_(schedule),
        function_(schedule.function_of(schedule.node(plan.loop))),
        loop_(schedule.get(plan.loop)),
        type_(loop_.loop_var->dtype),
        parts_(plan.parts),
        cost_(plan.cost + int_imm(i64, 1)),
        ends_(buffer("ends", plan.parts + 1, type_)),
        work_(buffer("work", 2, i64)) {}

  std::vector<Ptr<Buffer>> buffers() const { return {ends_, work_}; }

  Stmt statements(const Ptr<Var>& part) {
    const Expr zero = int_imm(type_, 0), one = int_imm(type_, 1);
    const Expr all = load(work_, {0}), before = load(work_, {1});
    // The part in which the middle of what was counted so far lies: parts are consecutive.
    const Expr number =
        cast(type_, min(floordiv(before * int_imm(i64, parts_), all), int_imm(i64, parts_ - 1)));
    const Ptr<Var> own = variable("own");
    const Expr place = Expr(own) + one;
    const Stmt count = make(LetStmt{.value = number,
                                    .var = own,
                                    .body = seq({store(ends_, load(ends_, {place}) + one, {place}),
                                                 store(work_, before + cost_, {1})})});
    const Ptr<Var> clear = variable("clear"), sum = variable("sum");
    const Expr next = Expr(sum) + one;
    return seq({store(work_, int_imm(i64, 0), {0}), store(work_, int_imm(i64, 0), {1}),
                over_iterations(store(work_, all + cost_, {0})),
                for_loop(clear, zero, int_imm(type_, parts_ + 1), store(ends_, zero, {clear})),
                over_iterations(count),
                for_loop(sum, zero, int_imm(type_, parts_),
                         store(ends_, load(ends_, {next}) + load(ends_, {sum}), {next})),
                over_parts(part)});
  }

 private:
  Stmt over_parts(const Ptr<Var>& part) const {
    const Expr first = load(ends_, {part}), end = load(ends_, {part + int_imm(type_, 1)});
    For inner = loop_;
    inner.kind = ForKind::serial;
    inner.min = Analyzer().simplify(loop_.min + first * loop_.step);
    inner.extent = end - first;
    For outer = loop_;
    outer.loop_var = part;
    outer.min = int_imm(type_, 0);
    outer.extent = int_imm(type_, parts_);
    outer.step = int_imm(type_, 1);
    outer.body = make(std::move(inner));
    return make(std::move(outer));
  }

  /// A loop like the one that is split, over variables of its own.
  Stmt over_iterations(const Stmt& body) {
    const Ptr<Var> counted = variable("counted");
    For loop = loop_;
    loop.kind = ForKind::serial;
    loop.loop_var = counted;
    loop.body = clone_with(body, {{loop_.loop_var, counted}});
    return make(std::move(loop));
  }

  Ptr<Buffer> buffer(const char* what, std::int64_t size, DataType type) {
    const std::string name = fmt::format("{}_{}", loop_.loop_var->name, what);
    return decl_buffer({Expr(int_imm(i32, size))}, type,
                       schedule_.fresh_buffer_name(function_, name));
  }

  Ptr<Var> variable(const char* what) {
    const std::string name = fmt::format("{}_{}", loop_.loop_var->name, what);
    return var(schedule_.fresh_loop_name(function_, name), type_);
  }

  Schedule& schedule_;
  std::uint32_t function_;
  const For loop_;
  DataType type_;
  std::int64_t parts_;
  Expr cost_;
  Ptr<Buffer> ends_;  ///< Where parts end: part p has the iterations from ends[p] to ends[p + 1].
  Ptr<Buffer> work_;  ///< Of all iterations; of those before the one that is counted.
};

/// Refuses where the loop's bounds, which will be in memory, are needed to tell whether there is
/// something to reduce.
std::optional<Refusal> refuse_domains_of(const Schedule& schedule, LoopRV handle) {
  const Ptr<Var>& variable = schedule.get(handle).loop_var;
  for (const BlockRV block : child_blocks(schedule, schedule.node(handle))) {
    if (!schedule.get(block).init) continue;
    for (const auto& axis : schedule.get(block).iter_vars) {
      const bool reads_loop =
          uses_variable(axis->dom->min, variable) || uses_variable(axis->dom->extent, variable);
      if (axis->iter_type == IterType::comm_reduce && reads_loop) {
        return Refusal{&empty_reductions_start, {Argument(handle), Argument(block)}};
      }
    }
  }
  return {};
}

}  // namespace

Planned<InspectSplitPlan> plan_inspect_split(const Schedule& schedule,
                                             const InspectSplitArguments& arguments) {
  const Argument handle(arguments.loop);
  if (arguments.parts < 1 || arguments.parts > 65536) {
    return Refusal{&part_count_is_positive, {handle, Argument(arguments.parts)}};
  }
  const For& loop = schedule.get(arguments.loop);
  if (auto refusal = refuse_unless_plain(schedule, arguments.loop)) return *std::move(refusal);
  if (loop.kind != ForKind::serial && loop.kind != ForKind::parallel) {
    return Refusal{&loop_is_serial_or_parallel, {handle}};
  }
  if (is_left_early(schedule, arguments.loop)) return Refusal{&loop_runs_to_its_end, {handle}};
  if (auto refusal = refuse_unless_bounds_stay(schedule, arguments.loop)) {
    return *std::move(refusal);
  }
  for (NodeId node = schedule.at(schedule.node(arguments.loop)).parent; node != no_node;
       node = schedule.at(node).parent) {
    if (schedule.at(node).is_concurrent) {
      return Refusal{&loop_is_outside_of_threads, {handle, Argument(schedule.loop_at(node))}};
    }
  }
  if (auto refusal = refuse_domains_of(schedule, arguments.loop)) return *std::move(refusal);
  Expr cost = CostFinder(loop).find();
  if (!cost.defined()) return Refusal{&costs_differ, {handle, handle}};
  return InspectSplitPlan{arguments.loop, arguments.parts, std::move(cost)};
}

Handles<LoopRV> commit_inspect_split(Schedule& schedule, InspectSplitPlan&& plan) {
  const BlockRV block = block_around_or_root(schedule, schedule.node(plan.loop));
  const NodeId node = schedule.node(plan.loop);
  const std::uint32_t function = schedule.function_of(node);
  const SpanScope span(schedule.span_from(schedule.get(plan.loop).span));
  const Ptr<Var> inner = schedule.get(plan.loop).loop_var;
  const Ptr<Var> part =
      var(schedule.fresh_loop_name(function, inner->name + "_part"), inner->dtype);
  Inspector inspector(schedule, plan);
  schedule.replace(node, inspector.statements(part));
  for (const Ptr<Buffer>& buffer : inspector.buffers()) allocate_in(schedule, block, buffer);
  return {loop_of_var(schedule, function, part), loop_of_var(schedule, function, inner)};
}

}  // namespace loopsmith
