// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/inspect_split.h"

#include <algorithm>

#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/pure_updates.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/iteration_costs.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/rewrites/edits.h"

namespace loopsmith {
namespace {

void set_costs(InspectSplitPlan& plan, const For& loop, const std::vector<Expr>& extents) {
  for (const Expr& extent : extents) {
    const Expr count = max(cast(i64, extent), int_imm(i64, 0));
    plan.cost = plan.cost.defined() ? plan.cost + count : count;
  }
  if (extents.size() == 1) plan.sum = sum_of_extents(extents[0], loop);
}

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
        return changed_results(empty_reductions_start, {Argument(handle), Argument(block)});
      }
    }
  }
  return {};
}

/// What blocks do, without the blocks; nothing where one has more than a body.
std::optional<Stmt> without_blocks(const Stmt& stmt) {
  bool is_possible = true;
  Rewriter rewrite;
  rewrite.on<BlockRealize>([&](const BlockRealize& node) -> Stmt {
    const Block& block = *node.block;
    is_possible = is_possible && !block.init.defined() && block.alloc_buffers.empty() &&
                  block.match_buffers.empty();
    Substitution values;
    for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
      values[block.iter_vars[i]->var] = node.iter_values[i];
    }
    const Stmt body = substitute(rewrite(block.body), values);
    if (is_const_int(node.predicate, 1)) return body;
    return make(IfThenElse{.condition = node.predicate, .then_case = body});
  });
  const Stmt found = rewrite(stmt);
  return is_possible ? std::optional(found) : std::nullopt;
}

/// Plans parts that end inside of iterations, or refuses them.
std::optional<Refusal> plan_cuts(const Schedule& schedule, InspectSplitPlan& plan) {
  For loop = schedule.get(plan.loop);
  const auto fail = [&](std::string why) {
    return Refusal{&loop_is_of_updates, {Argument(plan.loop), Argument(std::move(why))}};
  };
  auto body = without_blocks(loop.body);
  if (!body) return fail("a block in it has an init or buffers of its own");
  loop.body = *std::move(body);
  const auto* inner = loop.body.as<For>();
  if (!inner) return fail("its body is not a loop alone");
  const std::uint32_t function = schedule.function_of(schedule.node(plan.loop));
  const LoopRV inside = loop_of_var(schedule, function, inner->loop_var);  // Perhaps of a block.
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
  set_costs(plan, loop, {inner->extent});
  plan.shared_body = loop.body;
  return {};
}

}  // namespace

Planned<InspectSplitPlan> plan_inspect_split(const Schedule& schedule,
                                             const InspectSplitArguments& arguments) {
  const Argument handle(arguments.loop);
  if (arguments.parts < 1 || arguments.parts > 65536) {
    return Refusal{&number_is_in_range,
                   {Argument("parts"), Argument(arguments.parts), Argument(1), Argument(65536)}};
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
  if (is_left_early(schedule, arguments.loop))
    return Refusal{&iterations_reach_their_end, {Argument("break or return"), handle}};
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
    const std::vector<Expr> extents = differing_extents(loop);
    if (extents.empty()) return Refusal{&costs_differ, {handle, handle}};
    set_costs(plan, loop, extents);
  }
  return plan;
}

Handles<LoopRV> commit_inspect_split(Schedule& schedule, InspectSplitPlan&& plan) {
  const BlockRV block = block_around_or_root(schedule, schedule.node(plan.loop));
  const NodeId node = schedule.node(plan.loop);
  const std::uint32_t function = schedule.function_of(node);
  const SpanScope span(schedule.span_from(schedule.get(plan.loop).span));
  const Ptr<Var> inner = schedule.get(plan.loop).loop_var;
  For loop = schedule.get(plan.loop);
  if (plan.shared_body) loop.body = plan.shared_body;
  const WorkParts made =
      work_parts(schedule, function,
                 {std::move(loop), plan.parts, std::move(plan.cost), std::move(plan.sum),
                  plan.shared_body.defined(), std::move(plan.updates), plan.has_own_elements});
  schedule.replace(node, made.statement);
  for (const Ptr<Buffer>& buffer : made.buffers) allocate_in(schedule, block, buffer);
  return {loop_of_var(schedule, function, made.part), loop_of_var(schedule, function, inner)};
}

}  // namespace loopsmith
