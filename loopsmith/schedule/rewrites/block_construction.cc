// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/block_construction.h"

#include <algorithm>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/iter_map.h"
#include "loopsmith/arith/reducers.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/block_kinds.h"
#include "loopsmith/schedule/queries/scope_accesses.h"
#include "loopsmith/schedule/rewrites/axis_rewrite.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

bool uses_any(const Expr& expr, const std::vector<LoopRV>& loops, const Schedule& schedule) {
  return std::ranges::any_of(
      loops, [&](LoopRV loop) { return uses_variable(expr, schedule.get(loop).loop_var); });
}

/// Loops around a block, and nothing else, from a statement on.
struct Chain {
  std::vector<LoopRV> loops;
  NodeId block = no_node;  ///< None: something else is there, too.
};

Chain chain_from(const Schedule& schedule, NodeId node) {
  Chain chain;
  while (node != no_node && schedule.as<For>(node)) {
    chain.loops.push_back(schedule.loop_at(node));
    node = only_child(schedule, node);
  }
  if (node != no_node && schedule.as<BlockRealize>(node)) chain.block = node;
  return chain;
}

/// Builds the block around statements, one after another.
class BlockBuilder {
 public:
  BlockBuilder(const Schedule& schedule, NodeId first, bool preserve_unit_iters)
      : schedule_(schedule),
        divider_(schedule, loops_around(schedule, first), preserve_unit_iters) {
    blocking_.first = first;
  }

  /// Adds a statement of loops around a block. `takes_init`: the init of the block moves to the
  /// block around all.
  std::optional<Refusal> add(const Chain& chain, bool takes_init) {
    const BlockRV handle = schedule_.block_at(chain.block);
    const BlockRealize& realize = schedule_.realize(handle);
    auto divided = divider_.divide(handle, chain.loops);
    if (!divided) return indivisible(chain, divider_.problem());
    Block inner = with_axes_as(*realize.block, divided->forms);
    inner.iter_vars = divided->inner.axes;
    if (takes_init && inner.init) {
      if (auto refusal = take_init(chain, *divided, inner)) return refusal;
    }
    const Ptr<Block> made = make(std::move(inner));
    blocking_.renewed[realize.block.get()] = made.get();
    BlockRealize now{.iter_values = divided->inner.values, .block = made};
    now.predicate = divided->inner_predicate;
    if (takes_init) {
      blocking_.predicate = divided->outer_predicate;
    } else {
      for (const Expr& condition : arith::conjuncts(divided->outer_predicate)) {
        if (is_shared(condition)) continue;
        const Expr inside = divider_.in_axes(condition);
        if (!inside.defined()) return indivisible(chain, "its axes do not tell its conditions");
        now.predicate = inside && now.predicate;
        has_own_conditions_ = true;
      }
    }
    return wrap(chain, make(std::move(now)));
  }

  /// Conditions about loops outside that all statements have are those of the block around.
  void share(std::vector<Expr> conditions) {
    for (const Expr& condition : conditions) blocking_.predicate = blocking_.predicate && condition;
    shared_ = std::move(conditions);
  }

  /// An outer axis that may leave its domain where the conditions of some statements do not hold;
  /// null when there is none.
  const IterVar* escaping_axis() const {
    if (!has_own_conditions_ && !may_be_empty_) return nullptr;
    Analyzer analyzer;
    for (const LoopRV handle : loops_around(schedule_, blocking_.first)) {
      const For& loop = schedule_.get(handle);
      const std::int64_t* extent = as_int(loop.extent);
      if (extent && *extent <= 0) return nullptr;  // The block around never runs.
      if (is_const_int(loop.step, 1)) analyzer.bind(loop.loop_var, range(loop.min, loop.extent));
    }
    const auto known = analyzer.constraint_scope(blocking_.predicate);
    const BoundAxes& outer = divider_.outer_axes();
    for (std::size_t i = 0; i < outer.axes.size(); ++i) {
      const Range& domain = *outer.axes[i]->dom;
      const Expr& value = outer.values[i];
      const bool stays =
          analyzer.can_prove(value >= domain.min) &&
          analyzer.can_prove(value < domain.min + domain.extent, ProofStrength::symbolic_bound);
      if (!stays) return outer.axes[i].get();
    }
    return nullptr;
  }

  /// True when a loop inside may have no iterations: where axes would leave their domains, nothing
  /// ran.
  bool may_be_empty() const { return may_be_empty_; }

  EnclosingBlock finish(std::string name) && {
    blocking_.bound = divider_.outer_axes();
    Block& block = blocking_.block;
    block.name_hint = std::move(name);
    block.iter_vars = blocking_.bound.axes;
    block.body = seq(std::move(statements_));
    block.init = init_;
    AccessRegions regions = access_regions(block);
    block.reads = std::move(regions.reads);
    block.writes = std::move(regions.writes);
    return std::move(blocking_);
  }

  const BoundAxes& outer_axes() const { return divider_.outer_axes(); }

 private:
  bool is_shared(const Expr& condition) const {
    return std::ranges::any_of(
        shared_, [&](const Expr& other) { return structural_equal(condition, other); });
  }

  Refusal indivisible(const Chain& chain, std::string why) const {
    const Argument block(schedule_.block_at(chain.block));
    return {&space_is_divisible,
            {block, chain.loops.empty() ? block : Argument(chain.loops[0]), Argument(why)}};
  }

  /// Puts the loops around a statement, their bounds in terms of outer axes.
  std::optional<Refusal> wrap(const Chain& chain, Stmt body) {
    for (std::size_t i = chain.loops.size(); i-- > 0;) {
      For loop = schedule_.get(chain.loops[i]);
      for (Expr For::* part : {&For::min, &For::extent, &For::step}) {
        loop.*part = divider_.in_axes(loop.*part);
        if (!(loop.*part).defined()) {
          return indivisible(chain, fmt::format("the bounds of loop {} depend on loops outside",
                                                loop.loop_var->name));
        }
      }
      const std::int64_t* extent = as_int(loop.extent);
      may_be_empty_ = may_be_empty_ || !extent || *extent <= 0;
      loop.body = std::move(body);
      body = make(std::move(loop));
    }
    statements_.push_back(std::move(body));
    return {};
  }

  /// Moves the init of a block into loops of its own, over the spatial axes inside.
  std::optional<Refusal> take_init(const Chain& chain, const DividedBlock& divided, Block& inner) {
    const BlockRV handle = schedule_.block_at(chain.block);
    const auto fail = [&](std::string why) {
      return changed_results(init_can_go_first,
                             {Argument(handle), Argument(chain.loops[0]), Argument(why)});
    };
    const auto kinds =
        kinds_of(schedule_, handle, accesses_in_scope(schedule_, scope_of(schedule_, chain.block)));
    if (!kinds.is_reduction()) {
      return Refusal{&block_is_reduction,
                     {Argument(handle), Argument(std::int64_t{kinds.breaks_reduction})}};
    }
    if (!tells_loops_apart(chain, divided)) return fail("a loop repeats its instances");

    Block init{.name_hint = inner.name_hint + "_init",
               .annotations = inner.annotations.with(reducer_annotation, nullptr)};
    BlockRealize start;
    Substitution axes, loops;
    std::vector<LoopRV> copied, dropped;
    for (const LoopRV loop : chain.loops) {
      bool is_spatial = false;
      for (std::size_t i = 0; i < divided.inner.axes.size(); ++i) {
        is_spatial = is_spatial || (divided.inner.axes[i]->iter_type != IterType::comm_reduce &&
                                    uses_any(divided.inner.values[i], {loop}, schedule_));
      }
      (is_spatial ? copied : dropped).push_back(loop);
    }
    for (std::size_t i = 0; i < divided.inner.axes.size(); ++i) {
      if (divided.inner.axes[i]->iter_type == IterType::comm_reduce &&
          uses_any(divided.inner.values[i], copied, schedule_)) {
        return fail("a loop is bound to both its results and its reduction");
      }
    }
    std::vector<For> nest;
    for (const LoopRV handle_of_loop : copied) {
      For loop = schedule_.get(handle_of_loop);
      if (uses_any(loop.min, dropped, schedule_) || uses_any(loop.extent, dropped, schedule_)) {
        return fail("bounds of its spatial loops depend on others");
      }
      const Ptr<Var> renamed = var(loop.loop_var->name + "_init", loop.loop_var->dtype);
      loops[loop.loop_var] = renamed;
      loop.loop_var = renamed;
      loop.min = divider_.in_axes(substitute(loop.min, loops));
      loop.extent = divider_.in_axes(substitute(loop.extent, loops));
      // A loop whose bounds outer axes do not tell is refused with the nest itself.
      if (!loop.min.defined() || !loop.extent.defined()) return {};
      loop.annotations = {};
      nest.push_back(std::move(loop));
    }
    for (std::size_t i = 0; i < divided.inner.axes.size(); ++i) {
      IterVar axis = *divided.inner.axes[i];
      if (axis.iter_type == IterType::comm_reduce) continue;
      const Ptr<Var> renamed = var(axis.var->name + "_init", axis.var->dtype);
      axes[axis.var] = renamed;
      axis.var = renamed;
      init.iter_vars.push_back(make(std::move(axis)));
      start.iter_values.push_back(substitute(divided.inner.values[i], loops));
    }
    const BlockRealize& realize = schedule_.realize(handle);
    std::vector<LoopRV> reductions;
    std::vector<const For*> reduced;
    for (const LoopRV loop : loops_around(schedule_, chain.block)) {
      if (!arith::is_reduction_loop(realize, schedule_.get(loop).loop_var) &&
          std::ranges::find(dropped, loop) == dropped.end())
        continue;
      reductions.push_back(loop);
      reduced.push_back(&schedule_.get(loop));
    }
    std::vector<Expr> of_reduction;
    for (const Expr& condition : arith::conjuncts(realize.predicate)) {
      if (reads_memory(condition)) return fail("whether it runs depends on memory");
      if (uses_any(condition, reductions, schedule_))
        of_reduction.push_back(condition);
      else if (uses_any(condition, copied, schedule_))
        start.predicate = start.predicate && condition;
    }
    const Expr starts = arith::init_condition(realize, reduced, of_reduction);
    if (!starts.defined()) return fail("its reduction does not start at the first iteration");
    start.predicate = divider_.in_axes(start.predicate && starts);
    if (!start.predicate.defined()) return fail("its axes do not tell its conditions");
    start.predicate = substitute(start.predicate, loops);
    init.body = clone_with(inner.init, axes);
    AccessRegions regions = access_regions(init);
    init.reads = std::move(regions.reads);
    init.writes = std::move(regions.writes);
    start.block = make(std::move(init));
    init_ = make(std::move(start));
    for (std::size_t i = nest.size(); i-- > 0;) {
      nest[i].body = std::move(init_);
      init_ = make(std::move(nest[i]));
    }

    inner.init = nullptr;
    std::vector<Ptr<BufferRegion>> reads = inner.writes;
    for (const auto& region : inner.reads) {
      const auto is_same = [&](const auto& other) { return other->buffer.same_as(region->buffer); };
      if (std::ranges::none_of(inner.writes, is_same)) reads.push_back(region);
    }
    inner.reads = std::move(reads);
    return {};
  }

  /// True when each iteration of the loops inside is an instance of its own.
  bool tells_loops_apart(const Chain& chain, const DividedBlock& divided) const {
    std::vector<Iterator> iterators;
    for (const LoopRV handle : chain.loops) {
      const For& loop = schedule_.get(handle);
      if (!is_const_int(loop.extent, 1)) {
        iterators.push_back({loop.loop_var, loop.min, loop.extent});
      }
    }
    const bool are_axes = std::ranges::all_of(iterators, [&](const Iterator& iterator) {
      return std::ranges::any_of(divided.inner.values,
                                 [&](const Expr& value) { return value.same_as(iterator.var); });
    });
    if (are_axes) return true;
    Analyzer analyzer;
    return detect_iter_map(divided.inner.values, iterators, {.level = IterMapLevel::bijective},
                           analyzer)
        .ok();
  }

  const Schedule& schedule_;
  SubspaceDivider divider_;
  EnclosingBlock blocking_;
  std::vector<Stmt> statements_;
  std::vector<Expr> shared_;
  bool has_own_conditions_ = false;
  bool may_be_empty_ = false;
  Stmt init_;
};

/// The conditions of a block that are about loops outside of its chain.
std::vector<Expr> outer_conditions(const Schedule& schedule, const Chain& chain) {
  std::vector<Expr> found;
  if (chain.block == no_node) return found;
  const Expr& predicate = schedule.realize(schedule.block_at(chain.block)).predicate;
  for (const Expr& condition : arith::conjuncts(predicate)) {
    const bool is_outer = !uses_any(condition, chain.loops, schedule);
    if (is_outer && free_buffers(condition).empty()) found.push_back(condition);
  }
  return found;
}

/// The conditions about loops outside that all statements have.
std::vector<Expr> shared_conditions(const Schedule& schedule,
                                    const std::vector<NodeId>& statements) {
  std::vector<Expr> shared = outer_conditions(schedule, chain_from(schedule, statements[0]));
  for (const NodeId statement : statements) {
    const auto own = outer_conditions(schedule, chain_from(schedule, statement));
    std::erase_if(shared, [&](const Expr& condition) {
      return std::ranges::none_of(
          own, [&](const Expr& other) { return structural_equal(condition, other); });
    });
  }
  return shared;
}

std::variant<EnclosingBlock, Refusal> around_loop(const Schedule& schedule, LoopRV loop,
                                                  bool preserve_unit_iters) {
  const NodeId node = schedule.node(loop);
  const auto blocks = child_blocks(schedule, node);
  if (blocks.size() != 1) {
    return Refusal{&nest_has_one_block,
                   {Argument(loop), Argument(static_cast<std::int64_t>(blocks.size()))}};
  }
  const Chain chain = chain_from(schedule, node);
  if (chain.block == no_node) {
    return Refusal{&nest_is_of_loops, {Argument(loop), Argument(blocks[0])}};
  }
  BlockBuilder build(schedule, node, preserve_unit_iters);
  if (auto refusal = build.add(chain, true)) return *std::move(refusal);
  if (const IterVar* axis = build.may_be_empty() ? build.escaping_axis() : nullptr) {
    return Refusal{&space_is_divisible,
                   {Argument(blocks[0]), Argument(loop),
                    Argument(fmt::format("axis {} may leave its domain where no iteration runs",
                                         axis->var->name))}};
  }
  return std::move(build).finish(schedule.get(blocks[0]).name_hint + "_o");
}

std::variant<EnclosingBlock, Refusal> around_blocks(const Schedule& schedule,
                                                    const std::vector<BlockRV>& blocks,
                                                    bool preserve_unit_iters) {
  NodeId around = schedule.node(blocks[0]);
  for (const BlockRV block : blocks) {
    around = common_ancestor(schedule, around, schedule.node(block));
  }
  const auto apart = [&](BlockRV block) {
    return Refusal{&blocks_follow_each_other, {Argument(block), Argument(blocks[0])}};
  };
  std::vector<NodeId> statements;
  if (blocks.size() == 1) {
    statements.push_back(around);
  } else {
    if (!schedule.as<SeqStmt>(around)) return apart(blocks.back());
    std::uint32_t first = ~0U, last = 0;
    for (const BlockRV block : blocks) {
      const NodeId child = child_towards(schedule, schedule.node(block), around);
      first = std::min(first, schedule.at(child).slot);
      last = std::max(last, schedule.at(child).slot);
    }
    for (NodeId child = schedule.at(around).first_child; child != no_node;
         child = schedule.at(child).next) {
      const std::uint32_t slot = schedule.at(child).slot;
      if (slot >= first && slot <= last) statements.push_back(child);
    }
    if (statements.size() != last - first + 1) return apart(blocks.back());
  }
  if (!block_around(schedule, statements[0])) {
    return Refusal{&block_is_not_root, {Argument(blocks[0])}};
  }
  BlockBuilder build(schedule, statements[0], preserve_unit_iters);
  build.share(shared_conditions(schedule, statements));
  std::string name = "outer";
  for (const NodeId statement : statements) {
    const Chain chain = chain_from(schedule, statement);
    const auto is_it = [&](BlockRV block) { return schedule.node(block) == chain.block; };
    if (chain.block == no_node || std::ranges::none_of(blocks, is_it)) {
      const auto inside = child_blocks(schedule, statement);
      return apart(chain.block != no_node ? schedule.block_at(chain.block)
                   : inside.empty()       ? blocks.back()
                                          : inside.back());
    }
    if (auto refusal = build.add(chain, false)) return *std::move(refusal);
    for (const auto& axis : build.outer_axes().axes) {
      if (axis->iter_type != IterType::data_par && !is_const_int(axis->dom->extent, 1)) {
        return Refusal{&outer_axes_are_spatial, {Argument(schedule.block_at(chain.block))}};
      }
    }
    name += "_" + schedule.get(schedule.block_at(chain.block)).name_hint;
  }
  if (const IterVar* axis = build.escaping_axis()) {
    return Refusal{&space_is_divisible,
                   {Argument(blocks[0]), Argument(blocks[0]),
                    Argument(fmt::format("only some of the blocks keep axis {} in its domain",
                                         axis->var->name))}};
  }
  EnclosingBlock made = std::move(build).finish(std::move(name));
  made.count = static_cast<std::uint32_t>(statements.size());
  return made;
}

/// A loop further out whose variable the new block would use itself, not through its axes; null
/// without one. That is for blocks without axes alone.
Ptr<Var> loop_in(const Schedule& schedule, const EnclosingBlock& enclosing) {
  if (enclosing.bound.axes.empty()) return nullptr;
  const std::vector<Ptr<Var>> used = free_variables(enclosing.block.body);
  for (NodeId node = enclosing.first; node != no_node; node = schedule.at(node).parent) {
    const auto* loop = schedule.as<For>(node);
    const auto is_it = [&](const Ptr<Var>& each) { return each.same_as(loop->loop_var); };
    if (loop && std::ranges::any_of(used, is_it)) return loop->loop_var;
  }
  return nullptr;
}

/// An axis of the new block whose domain is read from memory that is written while the loops around
/// run: iterations that come later would leave it. Null without one.
const IterVar* changing_axis(const Schedule& schedule, const EnclosingBlock& enclosing) {
  const auto loops = loops_around(schedule, enclosing.first);
  if (loops.empty()) return nullptr;
  const auto changes = [&](const Ptr<IterVar>& axis) {
    const Range& domain = *axis->dom;
    if (!reads_memory(domain.min) && !reads_memory(domain.extent)) return false;
    auto read = free_buffers(domain.extent);
    std::ranges::copy(free_buffers(domain.min), std::back_inserter(read));
    const ScopeAccesses all = accesses_in_scope(schedule, scope_of(schedule, enclosing.first));
    return std::ranges::any_of(all.all, [&](const BufferAccess& use) {
      return use.is_write && is_inside(schedule, use.place, schedule.node(loops[0])) &&
             std::ranges::any_of(read, [&](const Ptr<Buffer>& buffer) {
               return buffer->data.same_as(use.buffer->data);
             });
    });
  };
  const auto found = std::ranges::find_if(enclosing.block.iter_vars, changes);
  return found == enclosing.block.iter_vars.end() ? nullptr : found->get();
}

}  // namespace

Argument to_argument(const LoopOrBlocks& value) {
  if (const LoopRV* loop = value.loop()) return Argument(*loop);
  Argument::List list;
  for (const BlockOrLoop& item : value) list.push_back(to_argument(item));
  return list;
}

std::variant<EnclosingBlock, Refusal> enclosing_block_of(const Schedule& schedule,
                                                         const LoopOrBlocks& target,
                                                         bool preserve_unit_iters) {
  std::vector<BlockRV> blocks;
  const LoopRV* loop = target.loop();
  if (loop) {
    blocks = child_blocks(schedule, schedule.node(*loop));
  } else {
    for (const BlockOrLoop& item : target) {
      if (const auto* block = std::get_if<BlockRV>(&item)) blocks.push_back(*block);
    }
    if (blocks.empty() || blocks.size() != target.size()) return Refusal{&blocks_are_given, {}};
  }
  auto made = loop ? around_loop(schedule, *loop, preserve_unit_iters)
                   : around_blocks(schedule, blocks, preserve_unit_iters);
  const auto* enclosing = std::get_if<EnclosingBlock>(&made);
  if (!enclosing) return made;
  const auto indivisible = [&](std::string why) {
    const Argument start = loop ? Argument(*loop) : Argument(blocks[0]);
    return Refusal{&space_is_divisible, {Argument(blocks[0]), start, Argument(std::move(why))}};
  };
  if (const Ptr<Var> foreign = loop_in(schedule, *enclosing)) {
    return indivisible(
        fmt::format("loop {}, which is not in the same scope, is bound to it", foreign->name));
  }
  if (const IterVar* axis = changing_axis(schedule, *enclosing)) {
    return indivisible(fmt::format("the domain of axis {} is read from memory that the loops write",
                                   axis->var->name));
  }
  return made;
}

BlockRV insert_enclosing_block(Schedule& schedule, EnclosingBlock&& enclosing) {
  const NodeId first = enclosing.first;
  const SpanScope span(schedule.span_from(schedule.at(first).object->span));
  enclosing.block.name_hint =
      schedule.fresh_block_name(schedule.function_of(first), enclosing.block.name_hint);
  BlockRealize realize{.iter_values = std::move(enclosing.bound.values),
                       .predicate = std::move(enclosing.predicate),
                       .block = make(std::move(enclosing.block))};
  const Ptr<Block> block = realize.block;
  Stmt made = make(std::move(realize));
  NodeId node = first;
  if (enclosing.count > 1) {
    node = schedule.at(first).parent;
    std::vector<Stmt> all = schedule.as<SeqStmt>(node)->seq;
    const auto start = all.begin() + schedule.at(first).slot;
    *start = std::move(made);
    all.erase(start + 1, start + enclosing.count);
    made = seq(std::move(all));
  }
  NodeId now = schedule.replace(node, std::move(made), enclosing.renewed);
  // What was made stands in a sequence, perhaps.
  const auto is_it = [&](NodeId place) {
    const auto* found = schedule.as<BlockRealize>(place);
    return found && found->block.same_as(block);
  };
  if (!is_it(now)) now = schedule.at(now).first_child;
  while (!is_it(now)) now = schedule.at(now).next;
  return schedule.block_at(now);
}

}  // namespace loopsmith
