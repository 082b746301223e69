// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/inspect_split.h"

#include <algorithm>

#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/pure_updates.h"
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

/// Looks for the updates of the elements of an iteration of `loop`, which `inner`, the loop that is
/// its body, makes.
class UpdateFinder {
 public:
  UpdateFinder(const For& loop, const For& inner) : loop_(loop), inner_(inner) {}

  /// The updates; or why the loop does something else.
  std::variant<std::vector<ElementUpdate>, std::string> find() && {
    pre_order_visit(inner_.body, [&](const Ref& ref) {
      if (const auto* inside = ref.as<For>()) own_.push_back(inside->loop_var);
      if (const auto* let = ref.as<LetStmt>()) own_.push_back(let->var);
      if (ref.is<BlockRealize>()) why_ = "it has blocks";
      if (ref.is<Evaluate>() || ref.is<While>()) why_ = "it has calls or loops with while";
      if (const auto* store = ref.as<BufferStore>()) add(*store);
      return why_.empty() && !is_expr(*ref.get());
    });
    for (ElementUpdate& update : updates_) check(update);
    if (why_.empty() && updates_.empty()) why_ = "it updates nothing";
    if (!why_.empty()) return std::move(why_);
    return std::move(updates_);
  }

 private:
  void add(const BufferStore& store) {
    const auto known = std::ranges::find_if(updates_, [&](const ElementUpdate& update) {
      return update.buffer->data.same_as(store.buffer->data);
    });
    if (known == updates_.end()) {
      updates_.push_back({store.buffer, {}, store.indices});
    } else if (!known->buffer.same_as(store.buffer) ||
               !are_same_indices(known->indices, store.indices)) {
      why_ = fmt::format("it updates several elements of {}", store.buffer->name);
    }
  }

  void check(ElementUpdate& update) {
    if (!why_.empty()) return;
    const std::string& name = update.buffer->name;
    auto combiner = only_combiner(loop_.body, update.buffer);
    const auto moves = [&](const Expr& index) {
      const auto uses = [&](const Ptr<Var>& own) { return uses_variable(index, own); };
      return std::ranges::any_of(own_, uses) || uses(inner_.loop_var) ||
             may_change(index, loop_.body);
    };
    if (const auto* reason = std::get_if<std::string>(&combiner)) {
      why_ = fmt::format("of {}, {}", name, *reason);
    } else if (std::ranges::any_of(update.indices, moves)) {
      why_ = fmt::format("which element of {} it updates changes while it runs", name);
    } else {
      update.combiner = std::get<Combiner>(combiner);
    }
  }

  const For& loop_;
  const For& inner_;
  std::vector<Ptr<Var>> own_;  ///< What the inner loop's body defines.
  std::vector<ElementUpdate> updates_;
  std::string why_;
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

/// Plans parts that end inside of iterations, or refuses them.
std::optional<Refusal> plan_cuts(const Schedule& schedule, InspectSplitPlan& plan) {
  const For& loop = schedule.get(plan.loop);
  const auto fail = [&](std::string why) {
    return Refusal{&loop_is_of_updates, {Argument(plan.loop), Argument(std::move(why))}};
  };
  const auto* inner = loop.body.as<For>();
  if (!inner) return fail("its body is not a loop alone");
  const LoopRV inside = child_loops(schedule, schedule.node(plan.loop))[0];
  if (inner->kind != ForKind::serial || !inner->annotations.empty()) {
    return fail("the loop inside is not a plain serial one");
  }
  if (is_left_early(schedule, inside)) return fail("the loop inside may be left early");
  for (const Expr* bound : {&inner->min, &inner->extent, &inner->step}) {
    if (may_change(*bound, loop.body)) return fail("the loop changes bounds of the one inside");
  }
  auto updates = UpdateFinder(loop, *inner).find();
  if (auto* why = std::get_if<std::string>(&updates)) return fail(std::move(*why));
  plan.updates = std::get<std::vector<ElementUpdate>>(std::move(updates));
  for (const ElementUpdate& update : plan.updates) {
    if (!update.buffer->dtype.is_scalar()) {
      return fail(fmt::format("elements of {} are vectors", update.buffer->name));
    }
    const bool rounds = update.combiner == Combiner::sum || update.combiner == Combiner::product;
    if (rounds && update.buffer->dtype.is_float()) {
      plan.reordered_reduction = Argument(update.buffer->name);
    }
  }
  plan.cost = max(cast(i64, inner->extent), int_imm(i64, 0));
  plan.cuts_iterations = true;
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
  const DataType type = loop.loop_var->dtype;
  // Parts and what ends them are counted by a variable of that type.
  if (arguments.parts >= *as_int(max_value(type))) {
    return Refusal{&part_count_fits,
                   {handle, Argument(std::string(to_string(type))), Argument(arguments.parts + 1)}};
  }
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
  InspectSplitPlan plan{arguments.loop, arguments.parts};
  if (arguments.cut_iterations) {
    if (auto refusal = plan_cuts(schedule, plan)) return *std::move(refusal);
  } else {
    plan.cost = CostFinder(loop).find();
    if (!plan.cost.defined()) return Refusal{&costs_differ, {handle, handle}};
  }
  plan.has_own_elements = loop.kind == ForKind::parallel &&
                          schedule.known_facts().has_independent_iterations(arguments.loop);
  return plan;
}

Handles<LoopRV> commit_inspect_split(Schedule& schedule, InspectSplitPlan&& plan) {
  const BlockRV block = block_around_or_root(schedule, schedule.node(plan.loop));
  const NodeId node = schedule.node(plan.loop);
  const std::uint32_t function = schedule.function_of(node);
  const SpanScope span(schedule.span_from(schedule.get(plan.loop).span));
  const Ptr<Var> inner = schedule.get(plan.loop).loop_var;
  const WorkParts made =
      work_parts(schedule, function,
                 {schedule.get(plan.loop), plan.parts, std::move(plan.cost), plan.cuts_iterations,
                  std::move(plan.updates), plan.has_own_elements});
  schedule.replace(node, made.statement);
  for (const Ptr<Buffer>& buffer : made.buffers) allocate_in(schedule, block, buffer);
  return {loop_of_var(schedule, function, made.part), loop_of_var(schedule, function, inner)};
}

}  // namespace loopsmith
