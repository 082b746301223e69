// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/terms.h"

#include <algorithm>
#include <array>
#include <bit>

#include "loopsmith/ir/buffer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/support/deep_call.h"
#include "loopsmith/support/error.h"

namespace loopsmith::arith {
namespace {

constexpr std::size_t first_table_size = 256;

/// The kind of each node type that has one.
constexpr auto kind_of_node = [] {
  std::array<Kind, node_count> kinds{};
  kinds.fill(Kind::other);
  kinds[kind_of<Add>] = Kind::add;
  kinds[kind_of<Sub>] = Kind::sub;
  kinds[kind_of<Mul>] = Kind::mul;
  kinds[kind_of<Div>] = Kind::div;
  kinds[kind_of<Mod>] = Kind::mod;
  kinds[kind_of<FloorDiv>] = Kind::floordiv;
  kinds[kind_of<FloorMod>] = Kind::floormod;
  kinds[kind_of<Min>] = Kind::min;
  kinds[kind_of<Max>] = Kind::max;
  kinds[kind_of<EQ>] = Kind::eq;
  kinds[kind_of<NE>] = Kind::ne;
  kinds[kind_of<LT>] = Kind::lt;
  kinds[kind_of<LE>] = Kind::le;
  kinds[kind_of<And>] = Kind::and_;
  kinds[kind_of<Or>] = Kind::or_;
  return kinds;
}();

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value;
  hash *= 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29);
}

std::uint64_t hash_of(const TermNode& node, std::span<const Term> arguments) {
  std::uint64_t hash =
      static_cast<std::uint64_t>(node.kind) << 32 | std::bit_cast<std::uint32_t>(node.type);
  hash = mix(hash, static_cast<std::uint64_t>(node.value));
  if (arguments.empty()) {
    hash = mix(hash, static_cast<std::uint64_t>(node.a) << 32 | static_cast<std::uint64_t>(node.b));
    return mix(hash, static_cast<std::uint64_t>(node.c));
  }
  for (Term argument : arguments) hash = mix(hash, static_cast<std::uint64_t>(argument));
  return hash;
}

bool takes_arguments(Kind kind) {
  return kind == Kind::call || kind == Kind::load;
}

std::int64_t identity(const Object& object) {
  return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&object));
}

/// A node made of checked operands: no need to check them again.
template <class T>
Expr binary_node(DataType type, Expr a, Expr b) {
  auto* node = new T;
  node->a = std::move(a);
  node->b = std::move(b);
  node->dtype = type;
  return Expr(static_cast<const ExprBase*>(node));
}

}  // namespace

Terms::Terms() {
  nodes_.reserve(first_table_size / 2);
  origins_.reserve(first_table_size / 2);
  nodes_.emplace_back();  // Term::none
  origins_.emplace_back();
  table_.assign(first_table_size, 0);
}

std::span<const Term> Terms::arguments(Term term) const {
  const TermNode& node = (*this)[term];
  if (!takes_arguments(node.kind)) return {};
  return {arguments_.data() + index_of(node.a), index_of(node.b)};
}

void Terms::fill_table() {
  std::ranges::fill(table_, 0);
  const std::size_t mask = table_.size() - 1;
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
    std::size_t slot = hash_of(nodes_[i], arguments(Term{i})) & mask;
    while (table_[slot] != 0) slot = (slot + 1) & mask;
    table_[slot] = i;
  }
}

Term Terms::find_or_add(const TermNode& node, std::span<const Term> operands) {
  const bool counted = takes_arguments(node.kind);
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = hash_of(node, operands) & mask;
  for (; table_[slot] != 0; slot = (slot + 1) & mask) {
    const Term candidate{table_[slot]};
    const TermNode& other = (*this)[candidate];
    if (other.kind != node.kind || other.value != node.value || other.type != node.type) continue;
    const bool same = counted ? std::ranges::equal(arguments(candidate), operands)
                              : other.a == node.a && other.b == node.b && other.c == node.c;
    if (same) return candidate;
  }
  const auto term = static_cast<std::uint32_t>(nodes_.size());
  TermNode added = node;
  if (counted) {
    added.a = Term{static_cast<std::uint32_t>(arguments_.size())};
    added.b = Term{static_cast<std::uint32_t>(operands.size())};
    arguments_.insert(arguments_.end(), operands.begin(), operands.end());
  }
  const auto inherit = [&](Term operand) {
    if (operand == Term::none) return;
    added.has_effect |= (*this)[operand].has_effect;
    added.reads_memory |= (*this)[operand].reads_memory;
    added.is_data |= (*this)[operand].is_data;
  };
  if (counted) {
    for (Term operand : operands) inherit(operand);
  } else {
    for (Term operand : {node.a, node.b, node.c}) inherit(operand);
  }
  nodes_.push_back(added);
  origins_.emplace_back();
  table_[slot] = term;
  if (nodes_.size() * 2 > table_.size()) {
    table_.resize(table_.size() * 2);
    fill_table();
  }
  return Term{term};
}

Term Terms::constant(DataType type, std::int64_t value) {
  return find_or_add({.kind = Kind::constant, .type = type, .value = value});
}

Term Terms::real(DataType type, double value) {
  return find_or_add(
      {.kind = Kind::real, .type = type, .value = std::bit_cast<std::int64_t>(value)});
}

Term Terms::boolean_of(bool value, int lanes) {
  return constant(boolean.with_lanes(lanes), value ? 1 : 0);
}

Term Terms::make(Kind kind, DataType type, Term a, Term b, Term c) {
  return find_or_add({.kind = kind, .type = type, .a = a, .b = b, .c = c});
}

Term Terms::make_call(DataType type, Op op, std::span<const Term> arguments) {
  return find_or_add({.kind = Kind::call,
                      .reads_memory = op.info().effect == Effect::reads,
                      .type = type,
                      .value = op.index()},
                     arguments);
}

Term Terms::with_arguments(Term like, std::span<const Term> arguments) {
  TermNode node = (*this)[like];
  node.a = node.b = Term::none;
  return find_or_add(node, arguments);
}

void Terms::remember(Term term, const ExprBase& node) {
  Expr& origin = origins_[index_of(term)];
  if (!origin.defined()) origin = Expr(&node);
}

Term Terms::read_leaf(const ExprBase& node, Kind kind) {
  const auto& info =
      node.kind == kind_of<Call> ? static_cast<const Call&>(node).op.info() : OpInfo{};
  const Term term = find_or_add({.kind = kind,
                                 .has_effect = info.effect > Effect::reads,
                                 .reads_memory = kind == Kind::other,
                                 .is_data = kind == Kind::other,
                                 .type = node.dtype,
                                 .value = identity(node)});
  remember(term, node);
  return term;
}

Term Terms::read_call(const Call& node) {
  if (node.op.info().effect > Effect::reads) return read_leaf(node, Kind::other);
  std::vector<Term> operands(node.args.size());
  std::ranges::transform(node.args, operands.begin(), [&](const Expr& arg) { return read(arg); });
  if (node.op == loopsmith::op("if_then_else")) {
    return make(Kind::if_then_else, node.dtype, operands[0], operands[1], operands[2]);
  }
  return make_call(node.dtype, node.op, operands);
}

Term Terms::read_load(const BufferLoad& node) {
  if (node.predicate.defined()) return read_leaf(node, Kind::other);
  std::vector<Term> operands(node.indices.size());
  std::ranges::transform(node.indices, operands.begin(), [&](const Expr& i) { return read(i); });
  buffers_.try_emplace(node.buffer.get(), node.buffer);
  return find_or_add({.kind = Kind::load,
                      .reads_memory = true,
                      .is_data = true,
                      .type = node.dtype,
                      .value = identity(*node.buffer.get())},
                     operands);
}

std::vector<Term> Terms::compact(std::span<const Term> roots) {
  // Operands have smaller numbers than what is made of them.
  std::vector<Term> renamed(nodes_.size(), Term::none);
  const Term live{1};
  for (const Term root : roots) renamed[index_of(root)] = live;
  const auto for_each_operand = [&](const TermNode& node, auto&& visit) {
    if (takes_arguments(node.kind)) {
      for (std::size_t i = 0; i < index_of(node.b); ++i) visit(arguments_[index_of(node.a) + i]);
    } else {
      visit(node.a), visit(node.b), visit(node.c);
    }
  };
  for (std::size_t i = nodes_.size(); --i > 0;) {
    if (renamed[i] == Term::none) continue;
    for_each_operand(nodes_[i], [&](Term operand) { renamed[index_of(operand)] = live; });
  }
  renamed[0] = Term::none;
  std::vector<TermNode> nodes(1);
  std::vector<Expr> origins(1);
  std::vector<Term> arguments;
  for (std::size_t i = 1; i < nodes_.size(); ++i) {
    if (renamed[i] == Term::none) continue;
    renamed[i] = Term{static_cast<std::uint32_t>(nodes.size())};
    TermNode node = nodes_[i];
    if (takes_arguments(node.kind)) {
      const Term first{static_cast<std::uint32_t>(arguments.size())};
      for_each_operand(node,
                       [&](Term operand) { arguments.push_back(renamed[index_of(operand)]); });
      node.a = first;
    } else {
      for (Term* operand : {&node.a, &node.b, &node.c}) *operand = renamed[index_of(*operand)];
    }
    nodes.push_back(node);
    origins.push_back(std::move(origins_[i]));
  }
  nodes_ = std::move(nodes);
  origins_ = std::move(origins);
  arguments_ = std::move(arguments);
  known_.clear();
  fill_table();
  return renamed;
}

Term Terms::read(const Expr& expr) {
  const ExprBase& node = *expr.get();
  if (node.kind == kind_of<Var>) return read_leaf(node, Kind::variable);
  if (node.kind == kind_of<IntImm>) {
    const Term term = constant(node.dtype, static_cast<const IntImm&>(node).value);
    remember(term, node);
    return term;
  }
  // A node that only its parent holds is reached once.
  const bool is_shared = node.count.load(std::memory_order_relaxed) > 1;
  if (is_shared) {
    if (const Term* known = known_.find(expr)) return *known;
  }
  const Term term = deep_call([&] { return read_node(node); });
  // Comparisons are turned round: theirs is not the expression of the term.
  if (node.kind != kind_of<GT> && node.kind != kind_of<GE>) remember(term, node);
  if (is_shared) known_.set(expr, term);
  return term;
}

Term Terms::read_node(const ExprBase& node) {
  if (const Kind kind = kind_of_node[node.kind]; kind != Kind::other) {
    // All binary nodes have the layout of Add: two operands, first fields.
    const auto& binary = static_cast<const Add&>(node);
    const Term a = read(binary.a);
    return make(kind, node.dtype, a, read(binary.b));
  }
  const Expr expr(&node);
  if (const auto* gt = expr.as<GT>()) {
    const Term a = read(gt->a);
    return make(Kind::lt, node.dtype, read(gt->b), a);
  }
  if (const auto* ge = expr.as<GE>()) {
    const Term a = read(ge->a);
    return make(Kind::le, node.dtype, read(ge->b), a);
  }
  if (const auto* not_node = expr.as<Not>()) return make(Kind::not_, node.dtype, read(not_node->a));
  if (const auto* choice = expr.as<Select>()) {
    const Term condition = read(choice->condition);
    const Term yes = read(choice->true_value);
    return make(Kind::select, node.dtype, condition, yes, read(choice->false_value));
  }
  if (const auto* cast = expr.as<Cast>()) return make(Kind::cast, node.dtype, read(cast->value));
  if (const auto* ramp = expr.as<Ramp>()) {
    const Term base = read(ramp->base);
    return make(Kind::ramp, node.dtype, base, read(ramp->stride));
  }
  if (const auto* broadcast = expr.as<Broadcast>()) {
    const Term value = read(broadcast->value);
    if (is_constant(value)) return constant(node.dtype, (*this)[value].value);
    return make(Kind::broadcast, node.dtype, value);
  }
  if (const auto* constant = expr.as<FloatImm>()) return real(node.dtype, constant->value);
  if (const auto* call = expr.as<Call>()) return read_call(*call);
  if (const auto* load = expr.as<BufferLoad>()) return read_load(*load);
  return read_leaf(node, Kind::other);
}

Expr Terms::to_expr(Term term) {
  if (!origins_[index_of(term)].defined()) {
    Expr built = deep_call([&] { return build(term); });
    origins_[index_of(term)] = std::move(built);
  }
  return origins_[index_of(term)];
}

std::vector<Expr> Terms::build_arguments(Term term) {
  std::vector<Expr> result;
  const std::size_t count = arguments(term).size();
  result.reserve(count);
  for (std::size_t i = 0; i < count; ++i) result.push_back(to_expr(arguments(term)[i]));
  return result;
}

Expr Terms::build(Term term) {
  const TermNode node = (*this)[term];
  const auto operand = [&](Term t) { return to_expr(t); };
  switch (node.kind) {
    case Kind::constant:
      if (node.type.is_vector()) {
        return loopsmith::make(
            Broadcast{.value = int_imm(node.type.element(), node.value), .lanes = node.type.lanes});
      }
      return int_imm(node.type, node.value);
    case Kind::add: return binary_node<Add>(node.type, operand(node.a), operand(node.b));
    case Kind::sub: return binary_node<Sub>(node.type, operand(node.a), operand(node.b));
    case Kind::mul: return binary_node<Mul>(node.type, operand(node.a), operand(node.b));
    case Kind::div: return binary_node<Div>(node.type, operand(node.a), operand(node.b));
    case Kind::mod: return binary_node<Mod>(node.type, operand(node.a), operand(node.b));
    case Kind::floordiv: return binary_node<FloorDiv>(node.type, operand(node.a), operand(node.b));
    case Kind::floormod: return binary_node<FloorMod>(node.type, operand(node.a), operand(node.b));
    case Kind::min: return binary_node<Min>(node.type, operand(node.a), operand(node.b));
    case Kind::max: return binary_node<Max>(node.type, operand(node.a), operand(node.b));
    case Kind::eq: return binary_node<EQ>(node.type, operand(node.a), operand(node.b));
    case Kind::ne: return binary_node<NE>(node.type, operand(node.a), operand(node.b));
    case Kind::lt: return binary_node<LT>(node.type, operand(node.a), operand(node.b));
    case Kind::le: return binary_node<LE>(node.type, operand(node.a), operand(node.b));
    case Kind::and_: return binary_node<And>(node.type, operand(node.a), operand(node.b));
    case Kind::or_: return binary_node<Or>(node.type, operand(node.a), operand(node.b));
    case Kind::not_: return loopsmith::make(Not{.a = operand(node.a)});
    case Kind::select:
      return loopsmith::make(Select{.condition = operand(node.a),
                                    .true_value = operand(node.b),
                                    .false_value = operand(node.c)});
    case Kind::if_then_else:
      return loopsmith::call(node.type, loopsmith::op("if_then_else"),
                             {operand(node.a), operand(node.b), operand(node.c)});
    case Kind::cast: return loopsmith::make(Cast{.value = operand(node.a)}, node.type);
    case Kind::ramp:
      return loopsmith::make(
          Ramp{.base = operand(node.a), .stride = operand(node.b), .lanes = node.type.lanes});
    case Kind::broadcast:
      return loopsmith::make(Broadcast{.value = operand(node.a), .lanes = node.type.lanes});
    case Kind::call: return loopsmith::call(node.type, op(term), build_arguments(term));
    case Kind::load: {
      const auto* buffer = reinterpret_cast<const Buffer*>(static_cast<std::intptr_t>(node.value));
      return loopsmith::make(
          BufferLoad{.buffer = Ptr<Buffer>(buffer), .indices = build_arguments(term)});
    }
    case Kind::real: return float_imm(node.type, std::bit_cast<double>(node.value));
    case Kind::variable:
    case Kind::other: break;
  }
  check(false, "arith", "a leaf without its expression");
  return nullptr;
}

}  // namespace loopsmith::arith
