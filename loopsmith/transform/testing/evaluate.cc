// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/testing/evaluate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>

#include "loopsmith/ir/walk.h"

namespace loopsmith::testing {
namespace {

template <class... Args>
[[noreturn]] void stop(fmt::format_string<Args...> format, Args&&... args) {
  throw EvaluationError(fmt::format(format, std::forward<Args>(args)...));
}

/// One lane: an integer or, for a floating-point type, a double.
struct Scalar {
  std::int64_t i = 0;
  double f = 0;
};
using Lanes = std::vector<Scalar>;

/// What a pointer points to.
struct Memory {
  DataType type;
  std::vector<Scalar> cells;
  std::vector<bool> written;
};

enum class Flow { next, break_loop, continue_loop, leave };

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

class Evaluator {
 public:
  void run(const PrimFunc& func, std::span<Argument> arguments);

 private:
  Lanes eval(const Expr& e) {
    return deep_call([&] { return eval_node(e); });
  }
  Flow exec(const Stmt& s) {
    return deep_call([&] { return exec_node(s); });
  }
  Lanes eval_node(const Expr& e);
  Flow exec_node(const Stmt& s);
  Lanes eval_call(const Call& call);
  Lanes eval_load(const BufferLoad& load);
  Flow exec_for(const For& loop);
  Flow exec_block(const BlockRealize& realize);
  void exec_store(const BufferStore& store);

  std::int64_t integer(const Expr& e) { return eval(e)[0].i; }
  Lanes spread(const Expr& e, std::size_t lanes);
  Scalar arithmetic(std::uint16_t kind, DataType type, Scalar a, Scalar b);
  bool compare(const Object& node, DataType type, Scalar a, Scalar b);
  Scalar settle_integer(DataType type, __int128 value);
  Scalar convert(DataType from, DataType to, Scalar value);

  void define(const Ref& variable, Lanes value) { values_[variable] = std::move(value); }
  void allocate(const Ref& pointer, DataType type, std::int64_t cells);
  std::vector<std::int64_t> addresses(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices);
  Memory& memory_of(const Ptr<Buffer>& buffer);
  void match(const MatchBufferRegion& view);
  void bind_or_check(const Expr& symbol, std::int64_t value, const std::string& name);

  std::unordered_map<Ref, Lanes, RefHash, RefEqual> values_;
  std::unordered_map<Ref, std::shared_ptr<Memory>, RefHash, RefEqual> memories_;
  /// Where a matched view starts in the memory of its source.
  std::unordered_map<Ref, std::int64_t, RefHash, RefEqual> starts_;
};

Lanes Evaluator::spread(const Expr& e, std::size_t lanes) {
  Lanes value = eval(e);
  if (value.size() == 1) value.resize(lanes, value[0]);
  return value;
}

Scalar Evaluator::settle_integer(DataType type, __int128 value) {
  const std::int64_t wrapped = wrap_to(type, static_cast<std::int64_t>(value));
  if (type.is_index() && wrapped != value) stop("{} overflows", to_string(type));
  return {.i = wrapped};
}

Scalar Evaluator::arithmetic(std::uint16_t kind, DataType type, Scalar a, Scalar b) {
  if (type.is_float()) {
    if (kind == kind_of<Add>) return {.f = a.f + b.f};
    if (kind == kind_of<Sub>) return {.f = a.f - b.f};
    if (kind == kind_of<Mul>) return {.f = a.f * b.f};
    if (kind == kind_of<Div>) return {.f = a.f / b.f};
    if (kind == kind_of<Min>) return {.f = std::isnan(a.f) || a.f < b.f ? a.f : b.f};
    if (kind == kind_of<Max>) return {.f = std::isnan(a.f) || a.f > b.f ? a.f : b.f};
    stop("{} of floats", node_info(kind).name);
  }
  const __int128 x = a.i, y = b.i;
  if (kind == kind_of<Add>) return settle_integer(type, x + y);
  if (kind == kind_of<Sub>) return settle_integer(type, x - y);
  if (kind == kind_of<Mul>) return settle_integer(type, x * y);
  if (kind == kind_of<Min>) return {.i = std::min(a.i, b.i)};
  if (kind == kind_of<Max>) return {.i = std::max(a.i, b.i)};
  if (b.i == 0) return {.i = 0};
  if (kind == kind_of<Div>) return settle_integer(type, x / y);
  if (kind == kind_of<Mod>) return settle_integer(type, x % y);
  if (kind == kind_of<FloorDiv>) return settle_integer(type, floor_div(a.i, b.i));
  return settle_integer(type, x - __int128{floor_div(a.i, b.i)} * y);
}

bool Evaluator::compare(const Object& node, DataType type, Scalar a, Scalar b) {
  const auto by = [&](auto x, auto y) {
    switch (node.kind) {
      case kind_of<EQ>: return x == y;
      case kind_of<NE>: return x != y;
      case kind_of<LT>: return x < y;
      case kind_of<LE>: return x <= y;
      case kind_of<GT>: return x > y;
      default: return x >= y;
    }
  };
  return type.is_float() ? by(a.f, b.f) : by(a.i, b.i);
}

Scalar Evaluator::convert(DataType from, DataType to, Scalar value) {
  if (to.is_bool()) return {.i = from.is_float() ? value.f != 0 : value.i != 0};
  if (from.is_float() && to.is_float()) return value;
  if (to.is_float()) return {.f = static_cast<double>(value.i)};
  if (from.is_float()) return {.i = static_cast<std::int64_t>(value.f)};
  return settle_integer(to, value.i);
}

template <class Fn>
Lanes by_lane(const Lanes& a, const Lanes& b, Fn&& fn) {
  Lanes result(std::max(a.size(), b.size()));
  for (std::size_t l = 0; l < result.size(); ++l) {
    result[l] = fn(a[a.size() == 1 ? 0 : l], b[b.size() == 1 ? 0 : l]);
  }
  return result;
}

Lanes Evaluator::eval_node(const Expr& e) {
  const DataType type = e.dtype().element();
  if (const auto* n = e.as<IntImm>()) return {{.i = n->value}};
  if (const auto* n = e.as<FloatImm>()) return {{.f = n->value}};
  if (e.is<StringImm>()) return {{}};
  if (const auto* n = e.as<Var>()) {
    const auto found = values_.find(e);
    if (found == values_.end()) stop("variable {} has no value", n->name);
    return found->second;
  }
  if (const auto* n = e.as<Cast>()) {
    Lanes value = eval(n->value);
    for (Scalar& lane : value) lane = convert(n->value.dtype().element(), type, lane);
    return value;
  }
  if (const auto* n = e.as<And>()) {
    return by_lane(eval(n->a), eval(n->b), [](Scalar a, Scalar b) { return Scalar{a.i & b.i}; });
  }
  if (const auto* n = e.as<Or>()) {
    return by_lane(eval(n->a), eval(n->b), [](Scalar a, Scalar b) { return Scalar{a.i | b.i}; });
  }
  if (const auto* n = e.as<Not>()) {
    Lanes value = eval(n->a);
    for (Scalar& lane : value) lane.i = !lane.i;
    return value;
  }
  if (const auto* n = e.as<Select>()) {
    const Lanes condition = spread(n->condition, e.dtype().lanes);
    const Lanes yes = eval(n->true_value), no = eval(n->false_value);
    Lanes result(yes.size());
    for (std::size_t l = 0; l < result.size(); ++l) result[l] = condition[l].i ? yes[l] : no[l];
    return result;
  }
  if (const auto* n = e.as<Ramp>()) {
    const Scalar base = eval(n->base)[0], stride = eval(n->stride)[0];
    Lanes result;
    for (std::int64_t l = 0; l < n->lanes; ++l) {
      result.push_back(settle_integer(type, base.i + __int128{l} * stride.i));
    }
    return result;
  }
  if (const auto* n = e.as<Broadcast>()) {
    const Lanes value = eval(n->value);
    Lanes result;
    for (std::int64_t l = 0; l < n->lanes; ++l) {
      result.insert(result.end(), value.begin(), value.end());
    }
    return result;
  }
  if (const auto* n = e.as<Shuffle>()) {
    Lanes all, result;
    for (const Expr& vector : n->vectors) {
      const Lanes part = eval(vector);
      all.insert(all.end(), part.begin(), part.end());
    }
    for (const Expr& index : n->indices) result.push_back(all.at(integer(index)));
    return result;
  }
  if (const auto* n = e.as<Let>()) {
    define(n->var, eval(n->value));
    return eval(n->body);
  }
  if (const auto* n = e.as<Call>()) return eval_call(*n);
  if (const auto* n = e.as<BufferLoad>()) return eval_load(*n);

  // What is left are the binary operators, which all have their operands at the same place.
  const auto& fields = node_info(*e.get()).fields;
  if (fields.size() != 2 || fields[0].name != "a" || fields[1].name != "b") {
    stop("cannot evaluate {}", node_info(*e.get()).name);
  }
  const Expr a = Expr::from(fields[0].ref(*e.get())), b = Expr::from(fields[1].ref(*e.get()));
  const DataType operand = a.dtype().element();
  const bool comparison = type.is_bool() && !operand.is_bool();
  return by_lane(eval(a), eval(b), [&](Scalar x, Scalar y) -> Scalar {
    if (comparison || e.is<EQ>() || e.is<NE>()) return {.i = compare(*e.get(), operand, x, y)};
    return arithmetic(e.get()->kind, operand, x, y);
  });
}

using MathFunction = double (*)(double);
const std::pair<std::string_view, MathFunction> math_functions[] = {
    {"exp", std::exp},     {"log", std::log},   {"sqrt", std::sqrt},   {"tanh", std::tanh},
    {"sin", std::sin},     {"cos", std::cos},   {"erf", std::erf},     {"fabs", std::fabs},
    {"floor", std::floor}, {"ceil", std::ceil}, {"round", std::round}, {"trunc", std::trunc},
    {"exp2", std::exp2},   {"log2", std::log2},
};

Lanes Evaluator::eval_call(const Call& call) {
  const std::string_view name = call.op.name();
  const auto arg = [&](std::size_t i) -> const Expr& { return call.args[i]; };
  if (name == "if_then_else") {
    const Lanes condition = eval(arg(0));
    if (condition.size() == 1) return spread(arg(condition[0].i ? 1 : 2), call.dtype.lanes);
    stop("if_then_else with a vector condition");
  }
  if (name == "likely") return eval(arg(0));
  if (name == "ret") return eval(arg(0));
  if (name.starts_with("vector_reduce_")) {
    const Lanes value = eval(arg(0));
    const std::uint16_t kind = name.ends_with("add")   ? kind_of<Add>
                               : name.ends_with("mul") ? kind_of<Mul>
                               : name.ends_with("min") ? kind_of<Min>
                                                       : kind_of<Max>;
    Scalar total = value[0];
    for (std::size_t l = 1; l < value.size(); ++l) {
      total = arithmetic(kind, call.dtype, total, value[l]);
    }
    return {total};
  }
  if (call.args.size() == 2 && (name.starts_with("bitwise_") || name.starts_with("shift_"))) {
    return by_lane(eval(arg(0)), eval(arg(1)), [&](Scalar a, Scalar b) -> Scalar {
      if (name == "bitwise_and") return {.i = a.i & b.i};
      if (name == "bitwise_or") return {.i = a.i | b.i};
      if (name == "bitwise_xor") return {.i = a.i ^ b.i};
      if (name == "shift_left") return settle_integer(call.dtype.element(), __int128{a.i} << b.i);
      return {.i = a.i >> b.i};
    });
  }
  for (const auto& [known, function] : math_functions) {
    if (known != name) continue;
    Lanes value = eval(arg(0));
    for (Scalar& lane : value) lane.f = function(lane.f);
    return value;
  }
  stop("cannot evaluate a call of {}", name);
}

void Evaluator::allocate(const Ref& pointer, DataType type, std::int64_t cells) {
  if (cells < 0) stop("an allocation of {} elements", cells);
  auto memory = std::make_shared<Memory>();
  memory->type = type;
  memory->cells.resize(cells);
  memory->written.resize(cells);
  memories_[pointer] = std::move(memory);
}

Memory& Evaluator::memory_of(const Ptr<Buffer>& buffer) {
  const auto found = memories_.find(buffer->data);
  if (found == memories_.end()) stop("buffer {} has no memory", buffer->name);
  return *found->second;
}

/// Where in memory the lanes of an access lie.
std::vector<std::int64_t> Evaluator::addresses(const Ptr<Buffer>& buffer,
                                               const std::vector<Expr>& indices) {
  std::vector<Lanes> places;
  std::size_t lanes = 1;
  for (const Expr& index : indices) {
    places.push_back(eval(index));
    lanes = std::max(lanes, places.back().size());
  }
  std::vector<std::int64_t> strides(indices.size(), 1);
  if (!buffer->strides.empty()) {
    for (std::size_t d = 0; d < strides.size(); ++d) strides[d] = integer(buffer->strides[d]);
  } else {
    for (std::size_t d = strides.size(); d-- > 1;) {
      strides[d - 1] = strides[d] * integer(buffer->shape[d]);
    }
  }
  std::int64_t start = buffer->elem_offset.defined() ? integer(buffer->elem_offset) : 0;
  if (const auto view = starts_.find(buffer); view != starts_.end()) start = view->second;
  std::vector<std::int64_t> result(lanes, start);
  for (std::size_t d = 0; d < places.size(); ++d) {
    for (std::size_t l = 0; l < lanes; ++l) {
      result[l] += places[d][places[d].size() == 1 ? 0 : l].i * strides[d];
    }
  }
  return result;
}

Lanes Evaluator::eval_load(const BufferLoad& load) {
  const std::vector<std::int64_t> where = addresses(load.buffer, load.indices);
  const Lanes mask = load.predicate.defined() ? spread(load.predicate, where.size()) : Lanes();
  const Memory& memory = memory_of(load.buffer);
  Lanes result(where.size());
  for (std::size_t l = 0; l < where.size(); ++l) {
    if (!mask.empty() && !mask[l].i) continue;
    if (where[l] < 0 || where[l] >= static_cast<std::int64_t>(memory.cells.size())) {
      stop("load of {}: element {} of {}", load.buffer->name, where[l], memory.cells.size());
    }
    if (!memory.written[where[l]]) {
      stop("load of {}: element {} was never written", load.buffer->name, where[l]);
    }
    result[l] = memory.cells[where[l]];
  }
  return result;
}

void Evaluator::exec_store(const BufferStore& store) {
  const Lanes value = eval(store.value);
  const std::vector<std::int64_t> where = addresses(store.buffer, store.indices);
  const Lanes mask = store.predicate.defined() ? spread(store.predicate, where.size()) : Lanes();
  Memory& memory = memory_of(store.buffer);
  for (std::size_t l = 0; l < where.size(); ++l) {
    if (!mask.empty() && !mask[l].i) continue;
    if (where[l] < 0 || where[l] >= static_cast<std::int64_t>(memory.cells.size())) {
      stop("store to {}: element {} of {}", store.buffer->name, where[l], memory.cells.size());
    }
    memory.cells[where[l]] = value[l];
    memory.written[where[l]] = true;
  }
}

Flow Evaluator::exec_for(const For& loop) {
  const std::int64_t min = integer(loop.min), extent = integer(loop.extent);
  const std::int64_t step = integer(loop.step);
  for (std::int64_t t = 0; t < extent; ++t) {
    define(loop.loop_var, {settle_integer(loop.loop_var->dtype, min + __int128{t} * step)});
    const Flow flow = exec(loop.body);
    if (flow == Flow::break_loop) break;
    if (flow == Flow::leave) return flow;
  }
  return Flow::next;
}

void Evaluator::bind_or_check(const Expr& symbol, std::int64_t value, const std::string& name) {
  if (symbol.is<Var>() && !values_.contains(symbol)) {
    define(symbol, {{.i = value}});
  } else if (integer(symbol) != value) {
    stop("{}: {} where {} was expected", name, value, integer(symbol));
  }
}

/// Makes a view: its memory is that of its source, its symbols take their values from the region.
void Evaluator::match(const MatchBufferRegion& view) {
  const Buffer& source = *view.source->buffer;
  const Buffer& target = *view.buffer;
  std::vector<Expr> corner;
  for (const auto& range : view.source->region) corner.push_back(range->min);
  memories_[target.data] = memories_.at(source.data);
  const std::int64_t start = addresses(view.source->buffer, corner)[0];
  starts_[view.buffer] = start;

  // Symbols of a view have a new value each time that its block is run.
  const std::size_t skip = source.shape.size() - target.shape.size();
  const std::vector<Expr> strides = strides_of(source);
  const auto renew = [&](const Expr& symbol, std::int64_t value) {
    if (symbol.is<Var>()) values_.erase(symbol);
    bind_or_check(symbol, value, target.name);
  };
  for (std::size_t d = 0; d < target.shape.size(); ++d) {
    const std::int64_t extent = integer(view.source->region[d + skip]->extent);
    if (!target.shape[d].is<Var>()) bind_or_check(target.shape[d], extent, target.name);
    if (target.shape[d].is<Var>()) define(target.shape[d], {{.i = extent}});
    if (!target.strides.empty()) renew(target.strides[d], integer(strides[d + skip]));
  }
  if (target.elem_offset.defined()) renew(target.elem_offset, start);
}

Flow Evaluator::exec_block(const BlockRealize& realize) {
  const Block& block = *realize.block;
  if (!integer(realize.predicate)) return Flow::next;
  std::vector<Lanes> at;
  for (const Expr& value : realize.iter_values) at.push_back(eval(value));
  bool first = true;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const IterVar& axis = *block.iter_vars[i];
    define(axis.var, at[i]);
    if (axis.iter_type == IterType::comm_reduce) first &= at[i][0].i == integer(axis.dom->min);
  }
  for (const auto& buffer : block.alloc_buffers) {
    // A buffer keeps its memory while the block that allocates it runs.
    std::int64_t cells = 1;
    if (buffer->strides.empty()) {
      for (const Expr& extent : buffer->shape) cells *= integer(extent);
    } else {
      for (std::size_t d = 0; d < buffer->shape.size(); ++d) {
        cells += (integer(buffer->shape[d]) - 1) * integer(buffer->strides[d]);
      }
    }
    allocate(buffer->data, buffer->dtype, cells);
  }
  for (const auto& view : block.match_buffers) match(*view);
  if (block.init && first) exec(block.init);
  return exec(block.body);
}

Flow Evaluator::exec_node(const Stmt& s) {
  if (const auto* n = s.as<BufferStore>()) {
    exec_store(*n);
  } else if (const auto* n = s.as<SeqStmt>()) {
    for (const Stmt& child : n->seq) {
      if (const Flow flow = exec(child); flow != Flow::next) return flow;
    }
  } else if (const auto* n = s.as<For>()) {
    return exec_for(*n);
  } else if (const auto* n = s.as<IfThenElse>()) {
    if (integer(n->condition)) return exec(n->then_case);
    if (n->else_case) return exec(n->else_case);
  } else if (const auto* n = s.as<LetStmt>()) {
    define(n->var, eval(n->value));
    return exec(n->body);
  } else if (const auto* n = s.as<AttrStmt>()) {
    return exec(n->body);
  } else if (const auto* n = s.as<AssertStmt>()) {
    if (!integer(n->condition)) stop("assertion failed");
    return exec(n->body);
  } else if (const auto* n = s.as<Allocate>()) {
    std::int64_t cells = 1;
    for (const Expr& extent : n->extents) cells *= integer(extent);
    allocate(n->buffer_var, n->dtype, cells);
    return exec(n->body);
  } else if (const auto* n = s.as<DeclBuffer>()) {
    return exec(n->body);
  } else if (const auto* n = s.as<While>()) {
    while (integer(n->condition)) {
      const Flow flow = exec(n->body);
      if (flow == Flow::break_loop) break;
      if (flow == Flow::leave) return flow;
    }
  } else if (const auto* n = s.as<Evaluate>()) {
    eval(n->value);
  } else if (const auto* n = s.as<BlockRealize>()) {
    return exec_block(*n);
  } else if (s.is<Break>()) {
    return Flow::break_loop;
  } else if (s.is<Continue>()) {
    return Flow::continue_loop;
  } else if (s.is<Return>()) {
    return Flow::leave;
  } else {
    stop("cannot run {}", node_info(*s.get()).name);
  }
  return Flow::next;
}

void Evaluator::run(const PrimFunc& func, std::span<Argument> arguments) {
  if (arguments.size() != func.params.size()) stop("{} arguments", arguments.size());
  // Scalars first: a shape may name them.
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!func.buffer_map[i]) define(func.params[i], {{.i = arguments[i].scalar}});
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Ptr<Buffer>& buffer = func.buffer_map[i];
    if (!buffer) continue;
    const Argument& argument = arguments[i];
    if (argument.shape.size() != buffer->shape.size()) stop("{} has another rank", buffer->name);
    std::int64_t cells = 1;
    for (std::size_t d = 0; d < argument.shape.size(); ++d) {
      bind_or_check(buffer->shape[d], argument.shape[d], buffer->name);
      cells *= argument.shape[d];
    }
    if (cells != static_cast<std::int64_t>(argument.elements.size())) stop("too few elements");
    allocate(buffer->data, buffer->dtype, cells);
    Memory& memory = memory_of(buffer);
    for (std::int64_t c = 0; c < cells; ++c) {
      memory.cells[c] = {.i = static_cast<std::int64_t>(argument.elements[c]),
                         .f = argument.elements[c]};
      memory.written[c] = true;
    }
  }
  exec(func.body);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!func.buffer_map[i]) continue;
    const Memory& memory = memory_of(func.buffer_map[i]);
    for (std::size_t c = 0; c < memory.cells.size(); ++c) {
      const Scalar& cell = memory.cells[c];
      arguments[i].elements[c] = memory.type.is_float() ? cell.f : static_cast<double>(cell.i);
    }
  }
}

}  // namespace

void evaluate(const PrimFunc& func, std::span<Argument> arguments) {
  Evaluator().run(func, arguments);
}

}  // namespace loopsmith::testing
