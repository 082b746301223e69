// SPDX-License-Identifier: Apache-2.0
// What statements do.
#include <algorithm>
#include <numeric>

#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/judge/machine.h"
#include "loopsmith/support/error.h"

namespace loopsmith::judge {

Flow Machine::do_stmt(const Stmt& stmt) {
  if (++steps_ > options_.max_steps) cannot_say("too many steps");
  const std::size_t known = values_.size();
  const Flow flow = do_in_scope(stmt);
  values_.resize(known);
  return flow;
}

Flow Machine::do_in_scope(const Stmt& stmt) {
  switch (stmt.get()->kind) {
    case kind_of<SeqStmt>:
      for (const Stmt& one : stmt.as<SeqStmt>()->seq) {
        if (const Flow flow = do_stmt(one); flow != Flow::on) return flow;
      }
      return Flow::on;
    case kind_of<For>: return do_loop(*stmt.as<For>());
    case kind_of<While>: {
      const auto& loop = *stmt.as<While>();
      while (number(loop.condition) != 0) {
        const Flow flow = do_stmt(loop.body);
        if (flow == Flow::broken) break;
        if (flow == Flow::returned) return flow;
      }
      return Flow::on;
    }
    case kind_of<IfThenElse>: {
      const auto& branch = *stmt.as<IfThenElse>();
      if (number(branch.condition) != 0) return do_stmt(branch.then_case);
      return branch.else_case ? do_stmt(branch.else_case) : Flow::on;
    }
    case kind_of<BufferStore>: {
      const auto& store = *stmt.as<BufferStore>();
      const Scalar value = evaluate(store.value);
      element(*store.buffer, store.indices, store.predicate) = value;
      return Flow::on;
    }
    case kind_of<LetStmt>: {
      const auto& let = *stmt.as<LetStmt>();
      define(let.var, evaluate(let.value));
      return do_stmt(let.body);
    }
    case kind_of<BlockRealize>: return do_block(*stmt.as<BlockRealize>());
    case kind_of<Evaluate>: return evaluate(stmt.as<Evaluate>()->value), Flow::on;
    case kind_of<AssertStmt>: {
      const auto& assertion = *stmt.as<AssertStmt>();
      if (number(assertion.condition) == 0) fail("an assertion does not hold");
      return do_stmt(assertion.body);
    }
    case kind_of<Allocate>: {
      const auto& memory = *stmt.as<Allocate>();
      allocate(*memory.buffer_var, memory.dtype, memory.extents);
      return do_stmt(memory.body);
    }
    case kind_of<DeclBuffer>: return do_stmt(stmt.as<DeclBuffer>()->body);
    case kind_of<AttrStmt>: {
      const auto& attribute = *stmt.as<AttrStmt>();
      if (attribute.node.is<IterVar>()) cannot_say("attribute " + attribute.attr_key);
      return do_stmt(attribute.body);
    }
    case kind_of<Prefetch>: return Flow::on;
    case kind_of<Break>: return Flow::broken;
    case kind_of<Continue>: return Flow::continued;
    case kind_of<Return>:
      if (stmt.as<Return>()->value.defined()) cannot_say("a function that gives a value");
      return Flow::returned;
    default: cannot_say(std::string("a ") + std::string(node_info(stmt.get()->kind).name));
  }
}

Flow Machine::do_loop(const For& loop) {
  const std::int64_t first = number(loop.min), extent = number(loop.extent);
  const std::int64_t step = number(loop.step);
  // Virtual threads run one after another, wherever that makes a difference.
  const bool is_concurrent =
      loop.kind == ForKind::parallel ||
      (loop.kind == ForKind::thread_binding && thread_axis_of(loop) != ThreadAxis::virtual_thread);
  runs_concurrently_ = runs_concurrently_ || (is_concurrent && extent > 1);
  start_empty_reductions(loop);
  std::vector<std::int64_t> turns;
  if (is_concurrent && options_.order != Order::forward && !drives_reduction(loop)) {
    turns.resize(static_cast<std::size_t>(std::max<std::int64_t>(extent, 0)));
    std::iota(turns.begin(), turns.end(), 0);
    std::ranges::reverse(turns);
    if (options_.order == Order::shuffled) std::ranges::shuffle(turns, random_);
  }
  const std::size_t known = values_.size();
  for (std::int64_t i = 0; i < extent; ++i) {
    const std::int64_t turn = turns.empty() ? i : turns[static_cast<std::size_t>(i)];
    define(loop.loop_var, {first + turn * step});
    const Flow flow = do_stmt(loop.body);
    values_.resize(known);
    if (flow == Flow::broken) break;
    if (flow == Flow::returned) return flow;
  }
  return Flow::on;
}

Flow Machine::do_block(const BlockRealize& realize) {
  const Block& block = *realize.block;
  std::vector<Scalar> bound;
  for (const Expr& value : realize.iter_values) bound.push_back(evaluate(value));
  if (number(realize.predicate) == 0) return Flow::on;
  bool starts = true;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const IterVar& axis = *block.iter_vars[i];
    const std::int64_t least = number(axis.dom->min), extent = number(axis.dom->extent);
    const std::int64_t value = bound[i].bits;
    if (bound[i].is_poison || value < least || value >= least + extent) {
      fail(fmt::format("block {}: axis {} is {}, out of its domain", block.name_hint,
                       axis.var->name, value));
    }
    if (axis.iter_type == IterType::comm_reduce) starts = starts && value == least;
    define(axis.var, bound[i]);
  }
  for (const auto& matched : block.match_buffers) match_buffer(*matched);
  for (const Ptr<Buffer>& buffer : block.alloc_buffers) {
    allocate(*buffer->data, buffer->dtype, buffer->shape);
  }
  if (block.init && starts) {
    if (const Flow flow = do_stmt(block.init); flow != Flow::on) return flow;
  }
  return do_stmt(block.body);
}

}  // namespace loopsmith::judge
