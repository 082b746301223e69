// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/decompose_reduction.h"

#include <algorithm>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/reducers.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/anti_dependences.h"
#include "loopsmith/schedule/queries/access_relations.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

bool uses(const Expr& expr, const Ptr<Var>& var) {
  if (expr.is<IntImm>()) return false;
  return expr.same_as(var) || uses_variable(expr, var);
}

/// What the loops around a reduction do for it.
class Decomposition {
 public:
  Decomposition(const Schedule& schedule, BlockRV block, LoopRV loop)
      : schedule_(schedule), realize_(schedule.realize(block)), loop_(loop) {
    plan_ = {.block = block, .loop = loop, .copied = {}, .conditions = {}};
  }

  Planned<DecomposeReductionPlan> find() && {
    if (auto refusal = collect()) return *std::move(refusal);
    for (const LoopRV handle : inner_) {
      const For& loop = schedule_.get(handle);
      if (drives(loop.loop_var, IterType::data_par))
        plan_.copied.push_back(handle);
      else
        dropped_.push_back(handle);
    }
    for (const LoopRV handle : plan_.copied) {
      const For& loop = schedule_.get(handle);
      for (const LoopRV other : dropped_) {
        const Ptr<Var>& var = schedule_.get(other).loop_var;
        if (uses(loop.min, var) || uses(loop.extent, var) || uses(loop.step, var)) {
          return fail("bounds of its spatial loops depend on others");
        }
      }
    }
    for (const LoopRV handle : dropped_) {
      const For& loop = schedule_.get(handle);
      // Each time round, the init inside the block starts anew.
      if (!drives(loop.loop_var, IterType::comm_reduce) && !is_const_int(loop.extent, 1)) {
        return fail(fmt::format("loop {} repeats it inside", loop.loop_var->name));
      }
    }
    if (const For* loop = repeating_loop()) {
      return fail(fmt::format("loop {} may repeat some of its instances", loop->loop_var->name));
    }
    if (auto refusal = find_condition()) return *std::move(refusal);
    if (auto refusal = refuse_uses()) return *std::move(refusal);
    return std::move(plan_);
  }

 private:
  Refusal fail(std::string why) const {
    return {&init_can_go_first, {Argument(plan_.block), Argument(loop_), Argument(why)}};
  }

  bool drives(const Ptr<Var>& var, IterType type) const {
    for (std::size_t i = 0; i < realize_.iter_values.size(); ++i) {
      if (realize_.block->iter_vars[i]->iter_type == type && uses(realize_.iter_values[i], var)) {
        return true;
      }
    }
    return false;
  }

  /// The loops from `loop` inward, and the conditions among them.
  std::optional<Refusal> collect() {
    bool is_inner = true;
    NodeId below = schedule_.node(plan_.block);
    for (NodeId node = schedule_.at(below).parent; node != no_node;
         below = node, node = schedule_.at(node).parent) {
      if (schedule_.as<BlockRealize>(node)) break;
      if (const auto* loop = schedule_.as<For>(node)) {
        const LoopRV handle = schedule_.loop_at(node);
        if (is_inner) {
          inner_.push_back(handle);
        } else if (drives(loop->loop_var, IterType::comm_reduce)) {
          return Refusal{&loop_is_above_reduction,
                         {Argument(loop_), Argument(handle), Argument(plan_.block)}};
        } else if (!drives(loop->loop_var, IterType::data_par) && !is_const_int(loop->extent, 1)) {
          is_repeated_ = true;
        }
        if (handle == loop_) is_inner = false;
      } else if (const auto* branch = schedule_.as<IfThenElse>(node); branch && is_inner) {
        const bool is_then = schedule_.at(below).slot == 0;
        for (const Expr& part :
             arith::conjuncts(is_then ? branch->condition : !branch->condition)) {
          conditions_.push_back(part);
        }
      } else if (is_inner && !schedule_.as<SeqStmt>(node)) {
        return fail("it stands inside a statement that is no loop and no condition");
      }
    }
    std::ranges::reverse(inner_);
    return {};
  }

  /// An inner loop of which different iterations may run one instance: windows that overlap.
  const For* repeating_loop() const {
    ElementAccesses space;
    space.forms = IndexForms(ranges_around(schedule_, schedule_.node(plan_.block)));
    for (const LoopRV handle : inner_) space.inside.insert(schedule_.get(handle).loop_var.get());
    ElementAccess instance;
    for (const Expr& value : realize_.iter_values) {
      instance.indices.push_back(space.forms.read(value));
    }
    for (const LoopRV handle : inner_) {
      const For& loop = schedule_.get(handle);
      const std::int64_t* step = as_int(loop.step);
      const bool is_told =
          is_const_int(loop.extent, 1) ||
          (step && has_zero_distance(space, instance, instance, *loop.loop_var, *step));
      if (!is_told) return &loop;
    }
    return nullptr;
  }

  /// Under which conditions the init runs where it goes.
  std::optional<Refusal> find_condition() {
    std::vector<const For*> loops;
    for (const LoopRV handle : dropped_) loops.push_back(&schedule_.get(handle));
    std::vector<Expr> conditions = arith::conjuncts(realize_.predicate), of_reduction;
    conditions.insert(conditions.end(), conditions_.begin(), conditions_.end());
    for (const Expr& condition : conditions) {
      if (reads_memory(condition)) return fail("whether it runs depends on memory");
      const bool uses_dropped = std::ranges::any_of(
          loops, [&](const For* loop) { return uses(condition, loop->loop_var); });
      (uses_dropped ? of_reduction : plan_.conditions).push_back(condition);
    }
    const Expr starts = arith::init_condition(realize_, loops, of_reduction);
    if (!starts.defined()) return fail("its reduction does not start at the first iteration");
    const Expr there = substitute(starts, single_values());
    for (const For* loop : loops) {
      if (uses(there, loop->loop_var))
        return fail("which of its iterations is the first depends on its loops");
    }
    for (const Expr& part : arith::conjuncts(there)) {
      if (!is_const_int(part, 1)) plan_.conditions.push_back(part);
    }
    return {};
  }

  /// The values of loops of the reduction that have one.
  Substitution single_values() const {
    Substitution values;
    for (const LoopRV handle : dropped_) {
      const For& loop = schedule_.get(handle);
      if (is_const_int(loop.extent, 1)) values[loop.loop_var] = loop.min;
    }
    return values;
  }

  /// What others do inside the loop with what the init reads and writes.
  std::optional<Refusal> refuse_uses() const {
    const Block& block = *realize_.block;
    const NodeId own = schedule_.node(plan_.block);
    const ScopeAccesses all = accesses_in_scope(schedule_, scope_of(schedule_, own));
    const BlockKinds kinds = kinds_of(schedule_, plan_.block, all);
    if (!kinds.is_reduction_in_place()) {
      return Refusal{&block_is_reduction,
                     {Argument(plan_.block), Argument(std::int64_t{kinds.breaks_reduction})}};
    }
    if (!kinds.is_reduction()) {
      if (auto refusal = refuse_own_reads(schedule_, loop_, plan_.block)) return refusal;
    }
    std::vector<const Object*> loaded;
    pre_order_visit(block.init, [&](const Ref& ref) {
      if (const auto* load = ref.as<BufferLoad>()) loaded.push_back(load->buffer.get());
      return !ref.is<Buffer>();
    });
    for (const BufferAccess& use : all.all) {
      if (use.place.node == own || !is_inside(schedule_, use.place, schedule_.node(loop_)))
        continue;
      if (use.is_write && std::ranges::find(loaded, use.buffer) != loaded.end()) {
        return Refusal{&init_inputs_stay,
                       {Argument(Ref(use.buffer)), Argument(loop_), Argument(plan_.block)}};
      }
      const bool is_own = std::ranges::any_of(
          block.writes, [&](const auto& region) { return region->buffer.get() == use.buffer; });
      if (is_own && is_before(schedule_, use.place, Place{own})) {
        return fail("others use what it overwrites before it inside the loop");
      }
      if (is_own && is_repeated_) {
        return fail("it is repeated, and others read its results inside the loop");
      }
      if (is_own && is_touched_before_start(use)) {
        return fail("others read inside the loop what its later iterations start");
      }
    }
    return {};
  }

  /// Whether others access an element in an earlier iteration than the one that starts it. The loop
  /// that tells these apart is a spatial one: along the others, the first iteration starts it.
  bool is_touched_before_start(const BufferAccess& use) const {
    std::vector<LoopRV> shared;
    std::ranges::copy_if(plan_.copied, std::back_inserter(shared), [&](LoopRV loop) {
      return is_inside(schedule_, use.place, schedule_.node(loop));
    });
    return accesses_earlier(schedule_, use.place, plan_.block, use.buffer, shared);
  }

  const Schedule& schedule_;
  const BlockRealize& realize_;
  const LoopRV loop_;
  std::vector<LoopRV> inner_;
  std::vector<LoopRV> dropped_;
  std::vector<Expr> conditions_;
  bool is_repeated_ = false;
  DecomposeReductionPlan plan_;
};

/// The init as a block of its own, for the axes in `values`.
Ptr<Block> init_block(const Block& block, const Substitution& values, std::string name) {
  Block init{.name_hint = std::move(name),
             .annotations = block.annotations.with(reducer_annotation, nullptr)};
  for (const auto& axis : block.iter_vars) {
    const auto renamed = values.find(axis->var);
    if (renamed == values.end() || axis->iter_type != IterType::data_par) continue;
    IterVar copy = *axis;
    copy.var = Ptr<Var>::from(renamed->second);
    init.iter_vars.push_back(make(std::move(copy)));
  }
  init.body = clone_with(block.init, values);
  const AccessRegions regions = access_regions(init);
  init.reads = regions.reads;
  init.writes = regions.writes;
  return make(std::move(init));
}

}  // namespace

Planned<DecomposeReductionPlan> plan_decompose_reduction(
    const Schedule& schedule, const DecomposeReductionArguments& arguments) {
  const auto loops = loops_around(schedule, schedule.node(arguments.block));
  if (std::ranges::find(loops, arguments.loop) == loops.end()) {
    return Refusal{&loop_is_around_block, {Argument(arguments.loop), Argument(arguments.block)}};
  }
  if (!schedule.get(arguments.block).init) {
    return Refusal{&block_is_reduction, {Argument(arguments.block), Argument(1)}};
  }
  return Decomposition(schedule, arguments.block, arguments.loop).find();
}

BlockRV commit_decompose_reduction(Schedule& schedule, DecomposeReductionPlan&& plan) {
  const NodeId node = schedule.node(plan.block);
  const std::uint32_t function = schedule.function_of(node);
  BlockRealize realize = schedule.realize(plan.block);
  const Block block = *realize.block;
  const SpanScope span(schedule.span_from(realize.span));

  Substitution loops;
  std::vector<For> copies;
  for (const LoopRV handle : plan.copied) {
    For copy = schedule.get(handle);
    const std::string name = schedule.fresh_loop_name(function, copy.loop_var->name + "_init");
    const Ptr<Var> renamed = var(name, copy.loop_var->dtype);
    loops[copy.loop_var] = renamed;
    copy.loop_var = renamed;
    copy.min = substitute(copy.min, loops);
    copy.extent = substitute(copy.extent, loops);
    copy.annotations = {};
    copies.push_back(std::move(copy));
  }
  BlockRealize start;
  Substitution axes;
  for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& axis = *block.iter_vars[i];
    if (axis.iter_type != IterType::data_par) {
      // It runs where the reduction starts.
      axes[axis.var] = axis.dom->min;
      continue;
    }
    axes[axis.var] = var(axis.var->name + "_init", axis.var->dtype);
    start.iter_values.push_back(substitute(realize.iter_values[i], loops));
  }
  for (const Expr& condition : plan.conditions) {
    start.predicate = start.predicate && substitute(condition, loops);
  }
  start.block =
      init_block(block, axes, schedule.fresh_block_name(function, block.name_hint + "_init"));
  Stmt nest = make(std::move(start));
  for (std::size_t i = copies.size(); i-- > 0;) {
    copies[i].body = std::move(nest);
    nest = make(std::move(copies[i]));
  }
  NodeId made = schedule.insert_before(schedule.node(plan.loop), std::move(nest));
  while (!schedule.as<BlockRealize>(made)) made = schedule.at(made).first_child;

  Block update = block;
  update.init = nullptr;
  update.name_hint = schedule.fresh_block_name(function, block.name_hint + "_update");
  update.reads = block.writes;
  update.reads.insert(update.reads.end(), block.reads.begin(), block.reads.end());
  const Ptr<Block> old = realize.block;
  realize.block = make(std::move(update));
  const Schedule::Renewed renewed{{old.get(), realize.block.get()}};
  schedule.replace(node, make(std::move(realize)), renewed);
  return schedule.block_at(made);
}

}  // namespace loopsmith
