// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/nest_normalization.h"

#include <algorithm>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/relax.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/equal_loops.h"

namespace loopsmith {
namespace {

/// True when the bounds of all loops in a statement may be evaluated where a condition around them
/// does not hold.
bool has_bounds_always(const Stmt& stmt) {
  bool result = true;
  pre_order_visit(stmt, [&](const Ref& ref) {
    const auto* loop = ref.as<For>();
    if (loop) result = result && is_timeless(loop->min) && is_timeless(loop->extent);
    return result && !is_expr(*ref.get());
  });
  return result;
}

/// The buffers that a statement stores to, and how each store indexes.
std::vector<const BufferStore*> stores_in(const Stmt& stmt) {
  std::vector<const BufferStore*> found;
  pre_order_visit(stmt, [&](const Ref& ref) {
    if (const auto* store = ref.as<BufferStore>()) found.push_back(store);
    return !is_expr(*ref.get());
  });
  return found;
}

/// What kind of axis a loop is for a statement: spatial where each store has it in its index.
IterType type_of_axis(const Stmt& leaf, const std::vector<const BufferStore*>& stores,
                      const Ptr<Var>& loop) {
  const auto indexes = [&](const BufferStore* store) {
    return std::ranges::any_of(store->indices,
                               [&](const Expr& index) { return uses_variable(index, loop); });
  };
  if (!stores.empty() && std::ranges::all_of(stores, indexes)) return IterType::data_par;
  const auto* store = leaf.as<BufferStore>();
  return store && accumulation_of(*store) ? IterType::comm_reduce : IterType::opaque;
}

class Normalizer {
 public:
  Normalizer(Schedule& schedule, LoopRV handle)
      : schedule_(schedule),
        function_(schedule.function_of(schedule.node(handle))),
        buffers_(buffers_by_pointer(*schedule.as<PrimFunc>(schedule.root(function_)))) {
    // Blocks without axes use the loops around them as what is outside of blocks does.
    NodeId node = schedule.at(schedule.node(handle)).parent;
    for (; node != no_node; node = schedule.at(node).parent) {
      const auto* realize = schedule.as<BlockRealize>(node);
      if (realize && !realize->block->iter_vars.empty()) break;
      const auto* loop = schedule.as<For>(node);
      if (!loop) continue;
      loops_.insert(loops_.begin(), *loop);
      loops_.front().body = nullptr;
    }
  }

  NormalizedNest take(const Stmt& stmt) {
    found_.nest = nest_of(stmt, true);
    return std::move(found_);
  }

 private:
  /// A statement under a condition that it does not change.
  Stmt nest_of(const Stmt& stmt, const Expr& condition) {
    return deep_call([&]() -> Stmt {
      if (const auto* sequence = stmt.as<SeqStmt>()) {
        std::vector<Stmt> parts;
        for (const Stmt& part : sequence->seq) parts.push_back(nest_of(part, condition));
        return seq(std::move(parts));
      }
      if (const auto* loop = stmt.as<For>()) return loop_of(*loop, condition);
      if (const auto* branch = stmt.as<IfThenElse>()) return branch_of(stmt, *branch, condition);
      const auto* realize = stmt.as<BlockRealize>();
      if (realize && !realize->block->iter_vars.empty()) return placed(*realize, condition);
      return block_of(stmt, condition);
    });
  }

  Stmt loop_of(const For& loop, const Expr& condition) {
    For counted = loop;
    Stmt body = loop.body;
    if (!is_const_int(loop.min, 0) || !is_const_int(loop.step, 1)) {
      const DataType type = loop.loop_var->dtype;
      const Expr value = Analyzer().simplify(loop.min + loop.loop_var * loop.step);
      body = substitute(body, {{loop.loop_var, value}});
      note_renewed(loop.body, body);
      counted.min = int_imm(type, 0);
      counted.step = int_imm(type, 1);
    }
    counted.body = nullptr;
    loops_.push_back(counted);
    counted.body = nest_of(body, condition);
    loops_.pop_back();
    return make(std::move(counted));
  }

  Stmt branch_of(const Stmt& stmt, const IfThenElse& branch, const Expr& condition) {
    if (!is_timeless(branch.condition) || !has_bounds_always(stmt)) {
      return kept_branch(branch, condition);
    }
    const auto* loop = branch.then_case.as<For>();
    const For* other =
        loop && branch.else_case.defined() ? equal_loop(branch.else_case, *loop) : nullptr;
    if (other && loop->annotations.empty() && !loop->thread_binding) {
      IfThenElse inside = branch;
      inside.then_case = loop->body;
      inside.else_case = substitute(other->body, {{other->loop_var, loop->loop_var}});
      note_renewed(other->body, inside.else_case);
      For both = *loop;
      both.body = make(std::move(inside));
      return loop_of(both, condition);
    }
    Stmt first = nest_of(branch.then_case, condition && branch.condition);
    if (!branch.else_case.defined()) return first;
    return seq({std::move(first), nest_of(branch.else_case, condition && !branch.condition)});
  }

  /// An `if` that stays, under the conditions that were to sink.
  Stmt kept_branch(const IfThenElse& branch, const Expr& condition) {
    IfThenElse kept = branch;
    kept.then_case = nest_of(branch.then_case, true);
    if (kept.else_case.defined()) kept.else_case = nest_of(branch.else_case, true);
    return under(condition, make(std::move(kept)));
  }

  static Stmt under(const Expr& condition, Stmt stmt) {
    if (is_const_int(condition, 1)) return stmt;
    return make(IfThenElse{.condition = condition, .then_case = std::move(stmt)});
  }

  /// A block with axes; the start of a reduction stays under its own `if`, and so do axes that read
  /// memory, where the condition may keep them inside of it.
  static Stmt placed(const BlockRealize& realize, const Expr& condition) {
    BlockRealize copy = realize;
    const bool reads = std::ranges::any_of(realize.iter_values, reads_memory);
    if (realize.block->init || reads) return under(condition, make(std::move(copy)));
    copy.predicate = condition && copy.predicate;
    return make(std::move(copy));
  }

  /// A block around a statement, or the axes that a block is lacking.
  Stmt block_of(const Stmt& stmt, const Expr& condition) {
    const auto* bare = stmt.as<BlockRealize>();
    Block block = bare ? *bare->block : Block();
    if (!bare) block.body = stmt;
    const std::vector<const BufferStore*> stores = stores_in(block.body);
    BlockRealize realize;
    realize.predicate = bare ? condition && bare->predicate : condition;
    Substitution axes;
    std::vector<Ptr<IterVar>> iter_vars;
    for (const For& loop : loops_) {
      const Ptr<Var> axis = var("v_" + loop.loop_var->name, loop.loop_var->dtype);
      IterVar made;
      made.dom = domain_of(loop);
      made.var = axis;
      made.iter_type = type_of_axis(block.body, stores, loop.loop_var);
      axes[loop.loop_var] = axis;
      iter_vars.push_back(make(std::move(made)));
      realize.iter_values.push_back(loop.loop_var);
    }
    block = *substitute(make(std::move(block)), axes).as<Block>();
    block.iter_vars = std::move(iter_vars);
    if (!bare) block.name_hint = fresh_name(stores.empty() ? "block" : stores[0]->buffer->name);
    if (!bare) found_.new_blocks.push_back(block.name_hint);
    const AccessRegions regions = access_regions(block, buffers_);
    block.reads = in_terms_of(regions.reads, axes);
    block.writes = in_terms_of(regions.writes, axes);
    const Ptr<Block> made = make(std::move(block));
    if (bare) found_.renewed[original(bare->block.get())] = made.get();
    realize.block = made;
    return make(std::move(realize));
  }

  /// Regions end where their buffers do, whose shapes may depend on loops.
  static std::vector<Ptr<BufferRegion>> in_terms_of(const std::vector<Ptr<BufferRegion>>& regions,
                                                    const Substitution& axes) {
    std::vector<Ptr<BufferRegion>> found;
    for (const auto& each : regions) {
      BufferRegion region = *each;
      for (Ptr<Range>& part : region.region) {
        part = range(substitute(part->min, axes), substitute(part->extent, axes));
      }
      found.push_back(make(std::move(region)));
    }
    return found;
  }

  /// The values of a loop, for all values of those around it.
  Ptr<Range> domain_of(const For& loop) const {
    const DataType type = loop.loop_var->dtype;
    const bool is_plain = is_const_int(loop.step, 1);
    const Expr last =
        is_plain ? loop.extent - int_imm(type, 1) : (loop.extent - int_imm(type, 1)) * loop.step;
    arith::Intervals ranges;
    for (const For& around : loops_) {
      if (&around == &loop || around.loop_var.same_as(loop.loop_var)) break;
      const Expr end = around.min + (around.extent - int_imm(type, 1)) * around.step;
      ranges[around.loop_var] = arith::Interval{min(around.min, end), max(around.min, end)};
    }
    Analyzer analyzer;
    auto low = arith::relax(is_plain ? loop.min : min(loop.min, loop.min + last), ranges);
    auto high = arith::relax(is_plain ? loop.min + last : max(loop.min, loop.min + last), ranges);
    for (std::size_t round = 0; round < loops_.size() && low && high; ++round) {
      low = arith::relax(low->min, ranges);
      high = arith::relax(high->max, ranges);
    }
    if (!low || !high || !low->min.defined() || !high->max.defined()) {
      return range(loop.min, loop.extent);
    }
    return range(analyzer.simplify(low->min),
                 analyzer.simplify(high->max - low->min + int_imm(type, 1)));
  }

  void note_renewed(const Stmt& before, const Stmt& after) {
    std::vector<const Block*> blocks[2];
    for (const bool is_after : {false, true}) {
      pre_order_visit(is_after ? after : before, [&](const Ref& ref) {
        if (const auto* block = ref.as<Block>()) blocks[is_after].push_back(block);
        return !is_expr(*ref.get());
      });
    }
    for (std::size_t i = 0; i < blocks[0].size(); ++i) {
      originals_[blocks[1][i]] = original(blocks[0][i]);
      kept_.push_back(after);  // Addresses stay taken.
    }
  }

  const Block* original(const Block* block) const {
    const auto found = originals_.find(block);
    return found == originals_.end() ? block : found->second;
  }

  std::string fresh_name(const std::string& base) {
    std::string name = schedule_.fresh_block_name(function_, base);
    const auto is_taken = [&] {
      return std::ranges::find(found_.new_blocks, name) != found_.new_blocks.end() ||
             !schedule_.blocks_named(function_, name).empty();
    };
    for (std::size_t i = 1; is_taken(); ++i) name = fmt::format("{}_{}", base, i);
    return name;
  }

  Schedule& schedule_;
  std::uint32_t function_;
  BufferOfPointer buffers_;
  std::vector<For> loops_;  ///< Around what is looked at, without bodies.
  std::unordered_map<const Block*, const Block*> originals_;
  std::vector<Stmt> kept_;
  NormalizedNest found_;
};

}  // namespace

NormalizedNest normalized_nest(Schedule& schedule, LoopRV loop) {
  return Normalizer(schedule, loop).take(schedule.statement(schedule.node(loop)));
}

}  // namespace loopsmith
