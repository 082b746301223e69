// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <unordered_map>

#include "loopsmith/ir/atomics.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/solved_sizes.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/judge/judge.h"
#include "loopsmith/judge/scalar.h"
#include "loopsmith/support/error.h"

namespace loopsmith::judge {
namespace {

struct Stop {
  Ending ending;
  std::string message;
};
[[noreturn]] void fail(std::string message) {
  throw Stop{Ending::failed, std::move(message)};
}
[[noreturn]] void cannot_say(std::string message) {
  throw Stop{Ending::cannot_say, std::move(message)};
}

/// What a pointer points to.
struct Memory {
  DataType type;
  std::vector<Scalar> elements;
};

/// A buffer whose place in memory does not follow from its own expressions.
struct View {
  Memory* memory = nullptr;
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
};

/// How a statement ended.
enum class Flow : std::uint8_t { on, broken, continued, returned };

class Machine {
 public:
  Machine(const RunOptions& options) : options_(options), random_(options.seed) {}

  void run(const PrimFunc& func, std::span<const JudgeArgument> arguments) {
    if (arguments.size() != func.params.size()) cannot_say("another number of arguments");
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const JudgeArgument& argument = arguments[i];
      if (const Ptr<Buffer>& buffer = func.buffer_map[i]) {
        take_tensor(*buffer, argument);
      } else {
        const DataType type = func.params[i]->dtype;
        if (type.is_handle()) cannot_say("a parameter that is a pointer");
        define(func.params[i], {argument.elements.at(0)});
      }
    }
    for (const SolvedSize& size : solved_sizes(func)) {
      define(size.extent, {arguments[size.parameter].shape[size.dimension]});
      define(size.variable, {number(size.value)});
    }
    // Shapes may be made of sizes that later parameters define.
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Ptr<Buffer>& buffer = func.buffer_map[i];
      if (!buffer) continue;
      for (std::size_t d = 0; d < buffer->shape.size(); ++d) {
        if (number(buffer->shape[d]) != arguments[i].shape[d]) cannot_say("arguments do not fit");
      }
      View& view = views_.at(buffer.get());
      for (std::size_t d = buffer->strides.size(); d-- > 0;) {
        match(buffer->strides[d], view.strides[d], "a stride");
      }
      if (buffer->elem_offset.defined()) match(buffer->elem_offset, 0, "an offset");
    }
    if (do_stmt(func.body) == Flow::broken) fail("break outside of a loop");
  }

  JudgeResult result(const PrimFunc& func, std::span<const JudgeArgument> arguments) {
    JudgeResult result{.steps = steps_, .runs_concurrently = runs_concurrently_};
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Ptr<Buffer>& buffer = func.buffer_map[i];
      if (!buffer) continue;
      JudgedTensor& tensor = result.tensors.emplace_back(buffer->name, arguments[i].shape);
      for (const Scalar& element : memories_.at(buffer->data.get()).elements) {
        tensor.elements.push_back(element.bits);
        tensor.is_undefined.push_back(element.is_poison);
      }
    }
    return result;
  }

 private:
  // ---- Names ----

  void define(const Ptr<Var>& var, Scalar value) { values_.emplace_back(var.get(), value); }
  Scalar value_of(const Var& var) const {
    for (std::size_t i = values_.size(); i-- > 0;) {
      if (values_[i].first == &var) return values_[i].second;
    }
    cannot_say("a variable without a value: " + var.name);
  }
  /// Defines a variable that has no value yet; anything else must have that value.
  void match(const Expr& pattern, std::int64_t value, const char* what) {
    if (const auto* var = pattern.as<Var>()) {
      const bool is_known =
          std::ranges::any_of(values_, [&](const auto& entry) { return entry.first == var; });
      if (!is_known) return define(Ptr<Var>(var), {value});
    }
    if (number(pattern) != value)
      fail(std::string("a match_buffer asks for another value of ") + what);
  }

  // ---- Memory ----

  static std::vector<std::int64_t> compact(const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
    return strides;
  }

  void take_tensor(const Buffer& buffer, const JudgeArgument& argument) {
    if (argument.shape.size() != buffer.shape.size()) cannot_say("arguments do not fit");
    for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
      if (buffer.shape[d].is<Var>()) match(buffer.shape[d], argument.shape[d], "a size");
    }
    Memory& memory = memories_[buffer.data.get()];
    memory.type = buffer.dtype;
    for (const std::int64_t element : argument.elements) memory.elements.push_back({element});
    views_[&buffer] = {&memory, 0, compact(argument.shape)};
  }

  void allocate(const Var& data, DataType type, const std::vector<Expr>& extents) {
    std::int64_t count = 1;
    for (const Expr& extent : extents) {
      count *= std::max<std::int64_t>(number(extent), 0);
      if (count > options_.max_elements) cannot_say("much memory");
    }
    Memory& memory = memories_[&data];
    memory.type = type;
    memory.elements.clear();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t hash = hash_of("never written", {++poisons_});
      memory.elements.push_back({static_cast<std::int64_t>(hash), true});
    }
  }

  void match_buffer(const MatchBufferRegion& matched) {
    const Buffer& source = *matched.source->buffer;
    const Buffer& buffer = *matched.buffer;
    const View around = view_of(source);
    View view{around.memory, around.offset, {}};
    std::vector<std::int64_t> shape;
    const auto& region = matched.source->region;
    for (std::size_t d = 0; d < region.size(); ++d) {
      view.offset += number(region[d]->min) * around.strides[d];
      shape.push_back(number(region[d]->extent));
    }
    const std::size_t dropped = region.size() - buffer.shape.size();
    if (buffer.shape.size() > region.size()) cannot_say("a match_buffer of more dimensions");
    for (std::size_t d = 0; d < region.size(); ++d) {
      if (d < dropped) {
        if (shape[d] != 1) cannot_say("a match_buffer of another shape");
        continue;
      }
      match(buffer.shape[d - dropped], shape[d], "an extent");
      view.strides.push_back(around.strides[d]);
    }
    for (std::size_t d = 0; d < buffer.strides.size(); ++d) {
      match(buffer.strides[d], view.strides[d], "a stride");
    }
    if (const auto* offset = buffer.elem_offset.as<Var>()) {
      match(Expr(Ptr<Var>(offset)), view.offset, "an offset");
    }
    views_[&buffer] = std::move(view);
  }

  /// Holds until the next call.
  const View& view_of(const Buffer& buffer) {
    if (const auto found = views_.find(&buffer); found != views_.end()) return found->second;
    const auto found = memories_.find(buffer.data.get());
    if (found == memories_.end()) cannot_say("a buffer without memory: " + buffer.name);
    computed_ = {.memory = &found->second};
    if (buffer.elem_offset.defined()) computed_.offset = number(buffer.elem_offset);
    for (const Expr& extent : buffer.strides.empty() ? buffer.shape : buffer.strides) {
      computed_.strides.push_back(number(extent));
    }
    if (buffer.strides.empty()) computed_.strides = compact(computed_.strides);
    const auto is_constant = [](const Expr& expr) { return !expr.defined() || as_int(expr); };
    const bool is_fixed = is_constant(buffer.elem_offset) &&
                          std::ranges::all_of(buffer.shape, is_constant) &&
                          std::ranges::all_of(buffer.strides, is_constant);
    return is_fixed ? views_[&buffer] = std::move(computed_) : computed_;
  }

  Scalar& element(const Buffer& buffer, const std::vector<Expr>& indices, const Expr& predicate) {
    if (predicate.defined()) cannot_say("an access with a predicate");
    if (!buffer.dtype.is_scalar()) cannot_say("a buffer of vectors");
    constexpr std::size_t most = 12;
    if (indices.size() > most) cannot_say("a buffer of many dimensions");
    std::int64_t at[most];
    for (std::size_t d = 0; d < indices.size(); ++d) {
      at[d] = number(indices[d]);
      const bool is_inside = at[d] >= 0 && at[d] < number(buffer.shape[d]);
      if (!is_inside) {
        fail(fmt::format("{}: index {} of dimension {} is out of bounds", buffer.name, at[d], d));
      }
    }
    const View& view = view_of(buffer);
    std::int64_t place = view.offset;
    for (std::size_t d = 0; d < indices.size(); ++d) place += at[d] * view.strides[d];
    const bool is_inside =
        place >= 0 && place < static_cast<std::int64_t>(view.memory->elements.size());
    if (!is_inside) fail(fmt::format("{}: element {} is not in its memory", buffer.name, place));
    if (view.memory->type != buffer.dtype) cannot_say("memory that is read as another type");
    return view.memory->elements[static_cast<std::size_t>(place)];
  }

  // ---- Expressions ----

  std::int64_t number(const Expr& expr) {
    if (const auto* literal = expr.as<IntImm>()) return literal->value;
    const Scalar value = evaluate(expr);
    if (value.is_poison) fail(fmt::format("{} is not defined", expr));
    if (!expr.dtype().is_integer()) cannot_say("a number that is no integer");
    return value.bits;
  }

  Scalar evaluate(const Expr& expr) {
    const DataType type = expr.dtype();
    if (!type.is_scalar()) cannot_say("a vector");
    switch (expr.get()->kind) {
      case kind_of<IntImm>: return {expr.as<IntImm>()->value};
      case kind_of<FloatImm>: return constant(type, expr.as<FloatImm>()->value);
      case kind_of<Var>: return value_of(*expr.as<Var>());
      case kind_of<Cast>: {
        const Expr& value = expr.as<Cast>()->value;
        return converted(value.dtype(), type, evaluate(value));
      }
      case kind_of<Not>: {
        const Scalar value = evaluate(expr.as<Not>()->a);
        return {value.is_poison ? value.bits : value.bits == 0, value.is_poison};
      }
      case kind_of<Select>: {
        const auto& select = *expr.as<Select>();
        const std::int64_t condition = number(select.condition);
        const Scalar yes = evaluate(select.true_value), no = evaluate(select.false_value);
        return condition != 0 ? yes : no;
      }
      case kind_of<Let>: {
        const auto& let = *expr.as<Let>();
        const std::size_t known = values_.size();
        define(let.var, evaluate(let.value));
        const Scalar result = evaluate(let.body);
        values_.resize(known);
        return result;
      }
      case kind_of<BufferLoad>: {
        const auto& load = *expr.as<BufferLoad>();
        return element(*load.buffer, load.indices, load.predicate);
      }
      case kind_of<Call>: return call(*expr.as<Call>());
      case kind_of<And>: return both(expr.as<And>()->a, expr.as<And>()->b, false);
      case kind_of<Or>: return both(expr.as<Or>()->a, expr.as<Or>()->b, true);
      default: return binary_node(expr);
    }
  }

  /// A side that decides is enough.
  Scalar both(const Expr& a, const Expr& b, bool decides) {
    const Scalar first = evaluate(a);
    if (!first.is_poison && (first.bits != 0) == decides) return {decides};
    const Scalar second = evaluate(b);
    return binary(decides ? kind_of<Or> : kind_of<And>, boolean, first, second);
  }

  Scalar binary_node(const Expr& expr) {
    const std::uint16_t kind = expr.get()->kind;
    if (kind < kind_of<Add> || kind > kind_of<GE>) {
      cannot_say(std::string("a ") + std::string(node_info(kind).name));
    }
    // All of them hold their operands alike.
    const auto& fields = node_info(kind).children;
    const auto& a = static_cast<const Expr&>(fields[0].ref(*expr.get()));
    const auto& b = static_cast<const Expr&>(fields[1].ref(*expr.get()));
    const Scalar first = evaluate(a);
    return binary(kind, a.dtype(), first, evaluate(b));
  }

  Scalar call(const Call& call) {
    const Effect effect = call.op.info().effect;
    if (call.op == op("if_then_else")) {
      return evaluate(call.args[number(call.args[0]) != 0 ? 1 : 2]);
    }
    if (call.op == op("likely") || call.op == op("precise")) return evaluate(call.args[0]);
    if (call.op == op("tvm_storage_sync") || call.op == op("assume")) return {};
    if (call.op.name().starts_with("atomic_")) return atomic(call);
    if (effect != Effect::pure || call.args.empty()) cannot_say(std::string(call.op.name()));
    std::vector<Scalar> operands;
    for (const Expr& argument : call.args) {
      if (argument.dtype() != call.args[0].dtype()) cannot_say(std::string(call.op.name()));
      operands.push_back(evaluate(argument));
    }
    if (!call.dtype.is_integer() && !call.dtype.is_float()) cannot_say(std::string(call.op.name()));
    if (call.op == op("reinterpret") && call.args[0].dtype() == call.dtype) return operands[0];
    return intrinsic(call.op, call.args[0].dtype(), call.dtype, operands.data(), operands.size());
  }

  Scalar atomic(const Call& call) {
    const auto* address = call.args[0].as<Call>();
    const Expr target = address ? address->args[0] : Expr();
    const auto* load = target.as<BufferLoad>();
    if (!load) cannot_say("an atomic update of a pointer");
    const Scalar before = evaluate(target);
    const Scalar after = evaluate(stored_atomically(call.op, target, call.args[1]));
    element(*load->buffer, load->indices, load->predicate) = after;
    return before;
  }

  // ---- Statements ----

  Flow do_stmt(const Stmt& stmt) {
    if (++steps_ > options_.max_steps) cannot_say("too many steps");
    const std::size_t known = values_.size();
    const Flow flow = do_in_scope(stmt);
    values_.resize(known);
    return flow;
  }

  Flow do_in_scope(const Stmt& stmt) {
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

  Flow do_loop(const For& loop) {
    const std::int64_t first = number(loop.min), extent = number(loop.extent);
    const std::int64_t step = number(loop.step);
    // Virtual threads run one after another, wherever that makes a difference.
    const bool is_concurrent =
        loop.kind == ForKind::parallel || (loop.kind == ForKind::thread_binding &&
                                           !loop.thread_binding->thread_tag.starts_with("vthread"));
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

  Flow do_block(const BlockRealize& realize) {
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

  // ---- Reductions over nothing ----

  /// A block with an init on the way from a loop, through loops, conditions and sequences alone,
  /// that is the outermost one to bind a reduction axis of it.
  struct Started {
    const BlockRealize* realize = nullptr;
    std::vector<const For*> reductions, others;
    std::vector<std::pair<Expr, bool>> conditions;  ///< And whether they have to hold.
    bool is_shared = false;                         ///< Other statements may run before it.
  };

  static bool binds_reduction(const BlockRealize& realize, const For& loop) {
    bool binds = false;
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      const bool reduces = realize.block->iter_vars[i]->iter_type == IterType::comm_reduce;
      if (!reduces && realize.iter_values[i].same_as(loop.loop_var)) return false;
      binds = binds || (reduces && uses_variable(realize.iter_values[i], loop.loop_var));
    }
    return binds;
  }

  /// Notes what stands below `stmt`; `way` are the statements around it, the innermost last.
  void find_started(const Stmt& stmt, std::vector<std::pair<const Object*, bool>>& way) {
    const auto go_on = [&](const Stmt& part, bool choice) {
      way.emplace_back(stmt.get(), choice);
      find_started(part, way);
      way.pop_back();
    };
    if (const auto* loop = stmt.as<For>()) {
      started_.try_emplace(loop);
      go_on(loop->body, true);
    } else if (const auto* sequence = stmt.as<SeqStmt>()) {
      for (const Stmt& part : sequence->seq) go_on(part, true);
    } else if (const auto* branch = stmt.as<IfThenElse>()) {
      go_on(branch->then_case, true);
      if (branch->else_case) go_on(branch->else_case, false);
    } else if (const auto* realize = stmt.as<BlockRealize>()) {
      if (!realize->block->init) return;
      Started found{.realize = realize};
      const For* outermost = nullptr;
      for (const auto& [around, choice] : way) {
        const Stmt node = Stmt::from(Ref(Ptr<Object>(around)));
        const auto* loop = node.as<For>();
        const bool reduces = loop && binds_reduction(*realize, *loop);
        if (reduces && !outermost) outermost = loop;
        if (!outermost) continue;
        if (loop) (reduces ? found.reductions : found.others).push_back(loop);
        if (const auto* branch = node.as<IfThenElse>())
          found.conditions.emplace_back(branch->condition, choice);
        found.is_shared = found.is_shared || node.is<SeqStmt>();
      }
      if (outermost) started_[outermost].push_back(std::move(found));
    }
  }

  /// Runs the inits of blocks that have nothing to reduce in the loop.
  void start_empty_reductions(const For& loop) {
    if (!started_.contains(&loop)) {
      std::vector<std::pair<const Object*, bool>> way;
      find_started(Stmt(Ptr<For>(&loop)), way);
    }
    for (const Started& each : started_.at(&loop)) start_if_empty(each);
  }

  void start_if_empty(const Started& started) {
    const std::size_t known = values_.size();
    const BlockRealize& realize = *started.realize;
    const auto of_reduction = [&](const Ref& root) {
      return std::ranges::any_of(
          started.reductions, [&](const For* loop) { return uses_variable(root, loop->loop_var); });
    };
    bool is_known = true;
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      const bool reduces = realize.block->iter_vars[i]->iter_type == IterType::comm_reduce;
      is_known = is_known && (reduces || !of_reduction(realize.iter_values[i]));
    }
    const auto each_bound = [&](const For* loop, auto ask) {
      return ask(loop->min) || ask(loop->extent) || ask(loop->step);
    };
    for (const For* other : started.others) is_known = is_known && !each_bound(other, of_reduction);
    if (!is_known) return;

    bool is_empty = false, decides_by_memory = false;
    for (const For* loop : started.reductions) define(loop->loop_var, {number(loop->min)});
    for (const Ptr<IterVar>& axis : realize.block->iter_vars) {
      if (axis->iter_type != IterType::comm_reduce) continue;
      decides_by_memory = decides_by_memory || reads_memory(axis->dom->extent);
      is_empty = is_empty || number(axis->dom->extent) <= 0;
    }
    values_.resize(known);
    std::vector<Expr> conditions;
    const auto demand = [&](auto& self, const Expr& given) -> void {
      if (const auto* both = given.as<And>()) return self(self, both->a), self(self, both->b);
      if (!of_reduction(given)) conditions.push_back(given);
    };
    demand(demand, realize.predicate);
    for (const auto& [condition, holds] : started.conditions) {
      demand(demand, holds ? condition : Expr(make(Not{.a = condition})));
    }
    decides_by_memory = decides_by_memory || std::ranges::any_of(conditions, reads_memory) ||
                        std::ranges::any_of(started.others, [&](const For* loop) {
                          return each_bound(loop, reads_memory);
                        });
    if (!is_empty || (started.is_shared && decides_by_memory)) return;
    start_each(started, conditions, 0);
  }

  /// Runs the init in each iteration of the other loops, from `depth` on.
  void start_each(const Started& started, const std::vector<Expr>& conditions, std::size_t depth) {
    const std::size_t known = values_.size();
    if (depth < started.others.size()) {
      const For& loop = *started.others[depth];
      const std::int64_t first = number(loop.min), extent = number(loop.extent);
      const std::int64_t step = number(loop.step);
      for (std::int64_t i = 0; i < extent; ++i) {
        define(loop.loop_var, {first + i * step});
        start_each(started, conditions, depth + 1);
        values_.resize(known);
      }
      return;
    }
    const Block& block = *started.realize->block;
    for (const Expr& condition : conditions) {
      if (number(condition) == 0) return;
    }
    for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
      const IterVar& axis = *block.iter_vars[i];
      const bool reduces = axis.iter_type == IterType::comm_reduce;
      define(axis.var, evaluate(reduces ? axis.dom->min : started.realize->iter_values[i]));
    }
    for (const auto& matched : block.match_buffers) match_buffer(*matched);
    do_stmt(block.init);
    values_.resize(known);
  }

  /// True when a block inside has an init and a reduction axis that the loop drives, if only
  /// through the axes of blocks around it.
  bool drives_reduction(const For& loop) {
    const auto [entry, is_new] = reductions_.try_emplace(&loop, false);
    if (!is_new) return entry->second;
    std::vector<Ptr<Var>> driven = {loop.loop_var};
    pre_order_visit(loop.body, [&](const Ref& ref) {
      const auto* realize = ref.as<BlockRealize>();
      if (!realize) return true;
      for (std::size_t i = 0; i < realize->iter_values.size(); ++i) {
        const Expr& value = realize->iter_values[i];
        const auto is_used = [&](const Ptr<Var>& var) { return uses_variable(value, var); };
        if (!std::ranges::any_of(driven, is_used)) continue;
        const IterVar& axis = *realize->block->iter_vars[i];
        driven.push_back(axis.var);
        if (realize->block->init && axis.iter_type == IterType::comm_reduce) entry->second = true;
      }
      return true;
    });
    return entry->second;
  }

  const RunOptions& options_;
  std::mt19937_64 random_;
  std::int64_t steps_ = 0;
  std::uint64_t poisons_ = 0;
  std::vector<std::pair<const Var*, Scalar>> values_;
  std::unordered_map<const Var*, Memory> memories_;
  std::unordered_map<const Buffer*, View> views_;
  View computed_;
  bool runs_concurrently_ = false;
  std::unordered_map<const For*, bool> reductions_;
  std::unordered_map<const For*, std::vector<Started>> started_;
};

}  // namespace

JudgeResult run(const PrimFunc& func, std::span<const JudgeArgument> arguments,
                const RunOptions& options) {
  Machine machine(options);
  try {
    machine.run(func, arguments);
  } catch (const Stop& stop) {
    return {.ending = stop.ending, .message = stop.message};
  }
  return machine.result(func, arguments);
}

}  // namespace loopsmith::judge
