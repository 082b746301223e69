// SPDX-License-Identifier: Apache-2.0
// What statements do.
#include <random>

#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/solved_sizes.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/judge/values.h"

namespace loopsmith::judge {
namespace {

/// How a statement ended.
enum class Flow : std::uint8_t { on, continued, broken, returned };

bool is_reduction(const IterVar& axis) {
  return axis.iter_type == IterType::comm_reduce;
}

bool binds_reduction(const BlockRealize& realize, const For* loop) {
  bool binds = false;
  for (std::size_t i = 0; loop && i < realize.iter_values.size(); ++i) {
    const Expr& value = realize.iter_values[i];
    const bool reduces = is_reduction(*realize.block->iter_vars[i]);
    if (!reduces && value.same_as(loop->loop_var)) return false;
    binds = binds || (reduces && uses_variable(value, loop->loop_var));
  }
  return binds;
}

bool uses_any(const Ref& root, const Substitution& variables) {
  return std::ranges::any_of(
      variables, [&](const auto& one) { return uses_variable(root, Ptr<Var>::from(one.first)); });
}

/// The terms of a conjunction that use none of the variables.
Expr terms_without(const Substitution& variables, const Expr& condition) {
  if (const auto* both = condition.as<And>()) {
    return terms_without(variables, both->a) && terms_without(variables, both->b);
  }
  return uses_any(condition, variables) ? Expr(true) : condition;
}

/// True when a block inside starts a reduction over the loop, if through bounds or axes around it.
bool starts_reduction(const For& loop) {
  bool starts = false;
  Substitution dependent = {{loop.loop_var, loop.min}};
  pre_order_visit(loop.body, [&](const Ref& ref) {
    const auto* inner = ref.as<For>();
    if (inner && uses_any(inner->min, dependent)) dependent[inner->loop_var] = inner->min;
    const auto* realize = ref.as<BlockRealize>();
    for (std::size_t i = 0; realize && i < realize->iter_values.size(); ++i) {
      const IterVar& axis = *realize->block->iter_vars[i];
      if (!uses_any(realize->iter_values[i], dependent)) continue;
      dependent[axis.var] = axis.dom->min;
      starts = starts || (realize->block->init && is_reduction(axis));
    }
    return !starts;
  });
  return starts;
}

/// The inits that run because a reduction axis has an empty domain: before the outermost loop that
/// binds a reduction axis of their block, in the other loops and conditions between the two.
class EmptyReductions {
 public:
  const std::vector<Stmt>& before(const For& loop) {
    if (!inits_.contains(&loop)) find(Stmt(Ptr<For>(&loop)));
    return inits_.at(&loop);
  }

 private:
  void find(const Stmt& stmt) {
    way_.push_back(stmt);
    if (const auto* loop = stmt.as<For>()) {
      inits_.try_emplace(loop);
      find(loop->body);
    } else if (const auto* sequence = stmt.as<SeqStmt>()) {
      for (const Stmt& part : sequence->seq) find(part);
    } else if (const auto* branch = stmt.as<IfThenElse>()) {
      find(branch->then_case);
      const Expr is_false = make(Not{.a = branch->condition});
      way_.back() = make(IfThenElse{.condition = is_false, .then_case = branch->then_case});
      if (branch->else_case) find(branch->else_case);
    } else if (const auto* realize = stmt.as<BlockRealize>(); realize && realize->block->init) {
      add_init(*realize);
    }
    way_.pop_back();
  }

  void add_init(const BlockRealize& realize) {
    const auto reduces = [&](const Stmt& stmt) { return binds_reduction(realize, stmt.as<For>()); };
    const std::span way(std::ranges::find_if(way_, reduces), way_.end());
    Substitution first, least;  // Where the loops start that bind reduction axes; and those.
    for (const Stmt& stmt : way | std::views::filter(reduces)) {
      first[stmt.as<For>()->loop_var] = substitute(stmt.as<For>()->min, first);
    }
    Block block{.name_hint = realize.block->name_hint,
                .match_buffers = realize.block->match_buffers,
                .body = realize.block->init};
    BlockRealize started{.predicate = false};
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      const Ptr<IterVar>& axis = realize.block->iter_vars[i];
      if (is_reduction(*axis)) {
        least[axis->var] = axis->dom->min;
        started.predicate = started.predicate || substitute(axis->dom->extent, first) <= 0;
      } else {
        block.iter_vars.push_back(axis);
        started.iter_values.push_back(realize.iter_values[i]);
      }
    }
    if (way.empty() || is_const_int(started.predicate, 0)) return;
    started.predicate = started.predicate && terms_without(first, realize.predicate);
    started.block = make(std::move(block));
    // Other statements may run before it, and decide whether it runs.
    bool is_shared = false, asks_memory = reads_memory(started.predicate);
    Stmt init = substitute(make(std::move(started)), least);
    for (const Stmt& stmt : way | std::views::reverse) {
      is_shared = is_shared || stmt.is<SeqStmt>();
      if (const auto* branch = stmt.as<IfThenElse>()) {
        const Expr condition = terms_without(first, branch->condition);
        asks_memory = asks_memory || reads_memory(condition);
        init = make(IfThenElse{.condition = condition, .then_case = init});
      } else if (stmt.is<For>() && !reduces(stmt)) {
        For loop = *stmt.as<For>();
        asks_memory = asks_memory || reads_memory(loop.min) || reads_memory(loop.extent);
        loop.body = init;
        init = make(std::move(loop));
      }
    }
    if (uses_any(init, first) || (is_shared && asks_memory)) return;
    inits_[way[0].as<For>()].push_back(init);
  }

  std::vector<Stmt> way_;  ///< Loops, conditions, sequences, from the loop that was asked for.
  std::unordered_map<const For*, std::vector<Stmt>> inits_;
};

/// One run of a function. Throws a Stop.
class Machine : Values {
 public:
  explicit Machine(const RunOptions& options) : Values{options}, random_(options.seed) {}

  JudgeResult run(const PrimFunc& func, std::span<const JudgeArgument> arguments) {
    take(func, arguments);
    if (run(func.body) == Flow::broken) fail("break outside of a loop");
    JudgeResult result{
        .steps = steps_, .runs_concurrently = runs_concurrently_, .overflows = overflows_};
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (const Ptr<Buffer>& buffer = func.buffer_map[i]) {
        Memory& memory = memories_.at(buffer->data.get());
        result.tensors.emplace_back(buffer->name, arguments[i].shape, std::move(memory.elements));
      }
    }
    return result;
  }

 private:
  void take(const PrimFunc& func, std::span<const JudgeArgument> arguments) {
    if (arguments.size() != func.params.size()) cannot_say("another number of arguments");
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const auto& [shape, elements] = arguments[i];
      const Ptr<Buffer>& buffer = func.buffer_map[i];
      if (!buffer && func.params[i]->dtype.is_handle()) cannot_say("a parameter that is a pointer");
      if (!buffer) define(func.params[i], {elements.at(0)});
      if (!buffer) continue;
      if (shape.size() != buffer->shape.size()) cannot_say("arguments do not fit");
      for (std::size_t d = 0; d < shape.size(); ++d) {
        if (buffer->shape[d].is<Var>()) match(buffer->shape[d], shape[d], "a size");
      }
      Memory& memory = memories_[buffer->data.get()] = {.type = buffer->dtype};
      for (const std::int64_t element : elements) memory.elements.push_back({element});
    }
    for (const SolvedSize& size : solved_sizes(func)) {
      define(size.extent, {arguments[size.parameter].shape[size.dimension]});
      define(size.variable, {number(size.value)});
    }
    // Shapes may be made of sizes that later parameters define.
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Ptr<Buffer>& buffer = func.buffer_map[i];
      for (std::size_t d = 0; buffer && d < buffer->shape.size(); ++d) {
        if (number(buffer->shape[d]) != arguments[i].shape[d]) cannot_say("arguments do not fit");
      }
      if (buffer) declare(*buffer, true);
    }
  }

  Flow run(const Stmt& stmt) {
    if (++steps_ > options_.max_steps) cannot_say("too many steps");
    const std::size_t known = values_.size();
    const Flow flow = run_in_scope(stmt);
    values_.resize(known);
    return flow;
  }

  Flow run_in_scope(const Stmt& stmt) {
    if (const auto* store = stmt.as<BufferStore>()) {
      const Scalar value = evaluate(store->value);
      element(*store->buffer, store->indices, store->predicate) = value;
    } else if (const auto* realize = stmt.as<BlockRealize>()) {
      return run_block(*realize);
    } else if (const auto* loop = stmt.as<For>()) {
      return run_loop(*loop);
    } else if (const auto* sequence = stmt.as<SeqStmt>()) {
      for (const Stmt& part : sequence->seq) {
        if (const Flow flow = run(part); flow != Flow::on) return flow;
      }
    } else if (const auto* branch = stmt.as<IfThenElse>()) {
      if (number(branch->condition) != 0) return run(branch->then_case);
      if (branch->else_case) return run(branch->else_case);
    } else if (const auto* loop = stmt.as<While>()) {
      Flow flow = Flow::on;
      while (flow < Flow::broken && number(loop->condition) != 0) flow = run(loop->body);
      if (flow == Flow::returned) return flow;
    } else if (const auto* let = stmt.as<LetStmt>()) {
      define(let->var, evaluate(let->value));
      return run(let->body);
    } else if (const auto* evaluated = stmt.as<Evaluate>()) {
      evaluate(evaluated->value);
    } else if (const auto* assertion = stmt.as<AssertStmt>()) {
      if (number(assertion->condition) == 0) fail("an assertion does not hold");
      return run(assertion->body);
    } else if (const auto* memory = stmt.as<Allocate>()) {
      allocate(*memory->buffer_var, memory->dtype, memory->extents);
      return run(memory->body);
    } else if (const auto* declaration = stmt.as<DeclBuffer>()) {
      declare(*declaration->buffer);
      return run(declaration->body);
    } else if (const auto* attribute = stmt.as<AttrStmt>()) {
      if (attribute->node.is<IterVar>()) cannot_say("attribute " + attribute->attr_key);
      return run(attribute->body);
    } else if (stmt.is<Break>()) {
      return Flow::broken;
    } else if (stmt.is<Continue>()) {
      return Flow::continued;
    } else if (const auto* end = stmt.as<Return>()) {
      if (end->value.defined()) cannot_say("a function that gives a value");
      return Flow::returned;
    } else if (!stmt.is<Prefetch>()) {
      cannot_say("a " + std::string(node_info(stmt.get()->kind).name));
    }
    return Flow::on;
  }

  Flow run_loop(const For& loop) {
    const std::int64_t first = number(loop.min), step = number(loop.step);
    const std::int64_t extent = number(loop.extent);
    // Virtual threads run one after another, wherever that makes a difference.
    const bool is_concurrent =
        loop.kind == ForKind::parallel || (loop.kind == ForKind::thread_binding &&
                                           thread_axis_of(loop) != ThreadAxis::virtual_thread);
    runs_concurrently_ = runs_concurrently_ || (is_concurrent && extent > 1);
    for (const Stmt& init : empty_reductions_.before(loop)) run(init);
    std::vector<std::int64_t> turns;
    if (is_concurrent && options_.order != Order::forward && !starts_reduction(loop)) {
      for (std::int64_t i = extent; i-- > 0;) turns.push_back(i);
      if (options_.order == Order::shuffled) std::ranges::shuffle(turns, random_);
    }
    Flow flow = Flow::on;
    for (std::int64_t i = 0; i < extent && flow < Flow::broken; ++i) {
      const std::int64_t turn = turns.empty() ? i : turns[static_cast<std::size_t>(i)];
      define(loop.loop_var, {first + turn * step});
      flow = run(loop.body);
      values_.pop_back();
    }
    return flow == Flow::returned ? flow : Flow::on;
  }

  Flow run_block(const BlockRealize& realize) {
    const Block& block = *realize.block;
    std::vector<Scalar> bound;
    for (const Expr& value : realize.iter_values) bound.push_back(evaluate(value));
    if (number(realize.predicate) == 0) return Flow::on;
    bool starts = block.init.defined();
    for (std::size_t i = 0; i < bound.size(); ++i) {
      const IterVar& axis = *block.iter_vars[i];
      const std::int64_t least = number(axis.dom->min), value = bound[i].bits;
      const std::int64_t extent = number(axis.dom->extent);
      if (bound[i].is_poison || value < least || value >= least + extent) {
        fail(fmt::format("block {}: axis {} is {}, out of its domain", block.name_hint,
                         axis.var->name, value));
      }
      if (is_reduction(axis)) starts = starts && value == least;
      define(axis.var, bound[i]);
    }
    for (const auto& matched : block.match_buffers) match_buffer(*matched);
    for (const Ptr<Buffer>& buffer : block.alloc_buffers) {
      allocate(*buffer->data, buffer->dtype, buffer->shape);
      declare(*buffer);
    }
    const Flow flow = starts ? run(block.init) : Flow::on;
    return flow == Flow::on ? run(block.body) : flow;
  }

  std::mt19937_64 random_;
  std::int64_t steps_ = 0;
  bool runs_concurrently_ = false;
  EmptyReductions empty_reductions_;
};

}  // namespace

JudgeResult run(const PrimFunc& func, std::span<const JudgeArgument> arguments,
                const RunOptions& options) {
  try {
    return Machine(options).run(func, arguments);
  } catch (const Stop& stop) {
    return {.ending = stop.ending, .message = stop.message};
  }
}

}  // namespace loopsmith::judge
