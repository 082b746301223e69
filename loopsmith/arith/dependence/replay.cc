// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/replay.h"

#include <algorithm>
#include <unordered_map>

#include "loopsmith/support/deep_call.h"

namespace loopsmith::dependence {
namespace {

/// An expression of more nodes than this, shared ones counted each time, is not evaluated.
constexpr int max_replayed_nodes = 10000;

/// Evaluates integer expressions without memory.
class Evaluator {
 public:
  void set(const Object* variable, std::int64_t value) { values_[variable] = value; }

  std::optional<std::int64_t> operator()(const Expr& expr) {
    nodes_left_ = max_replayed_nodes;
    return value(expr);
  }

 private:
  using Value = std::optional<std::int64_t>;

  Value value(const Expr& expr) {
    return deep_call([&]() -> Value {
      if (const auto* constant = expr.as<IntImm>()) return constant->value;
      const DataType type = expr.dtype();
      if (nodes_left_-- <= 0 || !type.is_scalar() || !(type.is_index() || type.is_bool())) {
        return std::nullopt;
      }
      return compute(expr);
    });
  }

  template <class T, class Rule>
  bool take(const Expr& expr, Value& result, Rule&& rule) {
    const auto* node = expr.as<T>();
    if (!node) return false;
    const Value a = value(node->a), b = value(node->b);
    if (a && b) result = rule(*a, *b);
    return true;
  }

  Value compute(const Expr& expr) {
    using Int = std::int64_t;
    if (expr.is<Var>()) {
      const auto known = values_.find(expr.get());
      return known == values_.end() ? Value() : known->second;
    }
    if (const auto* cast = expr.as<Cast>()) {
      const Value inside = value(cast->value);
      const bool fits =
          inside && *inside >= min_int(cast->dtype) && *inside <= max_int(cast->dtype);
      return fits ? inside : std::nullopt;
    }
    if (const auto* negated = expr.as<Not>()) {
      const Value a = value(negated->a);
      return a ? Value(*a == 0) : a;
    }
    if (const auto* choice = expr.as<Select>()) {
      return choose(choice->condition, choice->true_value, choice->false_value);
    }
    if (const auto* call = expr.as<Call>()) {
      if (call->op == op("likely")) return value(call->args[0]);
      if (call->op == op("if_then_else")) {
        return choose(call->args[0], call->args[1], call->args[2]);
      }
      return of_bits(*call);
    }
    if (const auto* both = expr.as<And>()) return choose(both->a, both->b, false);
    if (const auto* either = expr.as<Or>()) return choose(either->a, true, either->b);

    Value result;
    const auto checked = [](auto&& compute) {
      return [compute](Int a, Int b) -> Value {
        Int out = 0;
        return compute(a, b, &out) ? Value() : out;
      };
    };
    const auto divided = [](bool rounds_down, bool is_remainder) {
      return [=](Int a, Int b) -> Value {
        if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
        const bool adjust = rounds_down && a % b != 0 && ((a < 0) != (b < 0));
        return is_remainder ? a % b + (adjust ? b : 0) : a / b - (adjust ? 1 : 0);
      };
    };
    (void)(take<Add>(expr, result, checked([](Int a, Int b, Int* out) {
                       return __builtin_add_overflow(a, b, out);
                     })) ||
           take<Sub>(expr, result, checked([](Int a, Int b, Int* out) {
                       return __builtin_sub_overflow(a, b, out);
                     })) ||
           take<Mul>(expr, result, checked([](Int a, Int b, Int* out) {
                       return __builtin_mul_overflow(a, b, out);
                     })) ||
           take<FloorDiv>(expr, result, divided(true, false)) ||
           take<FloorMod>(expr, result, divided(true, true)) ||
           take<Div>(expr, result, divided(false, false)) ||
           take<Mod>(expr, result, divided(false, true)) ||
           take<Min>(expr, result, [](Int a, Int b) { return std::min(a, b); }) ||
           take<Max>(expr, result, [](Int a, Int b) { return std::max(a, b); }) ||
           take<EQ>(expr, result, [](Int a, Int b) { return a == b; }) ||
           take<NE>(expr, result, [](Int a, Int b) { return a != b; }) ||
           take<LT>(expr, result, [](Int a, Int b) { return a < b; }) ||
           take<LE>(expr, result, [](Int a, Int b) { return a <= b; }) ||
           take<GT>(expr, result, [](Int a, Int b) { return a > b; }) ||
           take<GE>(expr, result, [](Int a, Int b) { return a >= b; }));
    return result;
  }

  Value of_bits(const Call& call) {
    const bool is_left = call.op == op("shift_left");
    if (!is_left && call.op != op("shift_right")) return std::nullopt;
    const Value shifted = value(call.args[0]), bits = value(call.args[1]);
    if (!shifted || !bits || *bits < 0 || *bits >= call.dtype.bits) return std::nullopt;
    if (!is_left) return *shifted >> *bits;
    std::int64_t product = 0;
    const bool overflows =
        *bits > 62 || __builtin_mul_overflow(*shifted, std::int64_t{1} << *bits, &product);
    const bool fits =
        !overflows && product >= min_int(call.dtype) && product <= max_int(call.dtype);
    return fits ? Value(product) : Value();
  }

  Value choose(const Expr& condition, const Expr& yes, const Expr& no) {
    const Value chosen = value(condition);
    if (!chosen) return std::nullopt;
    return value(*chosen ? yes : no);
  }

  std::unordered_map<const Object*, std::int64_t> values_;
  int nodes_left_ = 0;
};

/// Walks into an instance from the outside; false where it does not happen or cannot be told.
class Walk {
 public:
  Walk(Evaluator& evaluate, const std::vector<std::int64_t>& iterators)
      : evaluate_(evaluate), iterators_(iterators) {}

  bool enter(const Context& around) {
    using Kind = Context::Kind;
    switch (around.kind) {
      case Kind::loop: return enter_loop(*around.node.as<For>());
      case Kind::condition: return evaluate_(around.value).value_or(0) != 0;
      case Kind::negation: return evaluate_(around.value).value_or(1) == 0;
      case Kind::binding:
        // A value that depends on memory is missed only where it is used.
        if (const auto value = evaluate_(around.value)) {
          evaluate_.set(around.variable.get(), *value);
        }
        return true;
      case Kind::opaque: return false;
    }
    return false;
  }

  std::vector<std::pair<Ptr<Var>, std::int64_t>> take_iteration() { return std::move(iteration_); }

 private:
  bool enter_loop(const For& loop) {
    const auto start = evaluate_(loop.min), extent = evaluate_(loop.extent),
               step = evaluate_(loop.step);
    if (!start || !extent || !step || next_ >= iterators_.size()) return false;
    const std::int64_t iterator = iterators_[next_++];
    std::int64_t value = 0;
    if (iterator < 0 || iterator >= *extent || __builtin_mul_overflow(iterator, *step, &value) ||
        __builtin_add_overflow(value, *start, &value)) {
      return false;
    }
    evaluate_.set(loop.loop_var.get(), value);
    iteration_.emplace_back(loop.loop_var, value);
    return true;
  }

  Evaluator& evaluate_;
  const std::vector<std::int64_t>& iterators_;
  std::size_t next_ = 0;
  std::vector<std::pair<Ptr<Var>, std::int64_t>> iteration_;
};

/// Walks to an access; false where it does not happen or that cannot be told.
bool reach(Walk& walk, const Program& program, const Access& access) {
  const Statement& statement = program.statements[static_cast<std::size_t>(access.statement)];
  const auto enter = [&](const Context& around) { return walk.enter(around); };
  return std::all_of(statement.surroundings.begin(), statement.surroundings.end(), enter) &&
         std::all_of(access.surroundings.begin(), access.surroundings.end(), enter);
}

}  // namespace

bool happens(const Program& program, const Access& access,
             const std::vector<std::int64_t>& iterators, const KnownValues& sizes) {
  Evaluator evaluate;
  for (const auto& [variable, value] : sizes) evaluate.set(variable.get(), value);
  Walk walk(evaluate, iterators);
  return reach(walk, program, access);
}

std::optional<ReplayedAccess> replay(const Program& program, const Access& access,
                                     const std::vector<std::int64_t>& iterators,
                                     const KnownValues& sizes) {
  if (access.whole || !access.buffer) return std::nullopt;
  Evaluator evaluate;
  for (const auto& [variable, value] : sizes) evaluate.set(variable.get(), value);
  Walk walk(evaluate, iterators);
  if (!reach(walk, program, access)) return std::nullopt;
  ReplayedAccess result;
  for (const Expr& index : access.expressions) {
    const auto value = index.defined() ? evaluate(index) : std::nullopt;
    if (!value) return std::nullopt;
    result.element.push_back(*value);
  }
  result.iteration = walk.take_iteration();
  return result;
}

std::optional<KnownValues> sizes_of(const Program& program, const Sample& sample) {
  KnownValues result;
  Evaluator evaluate;
  const auto source = [&](Symbol symbol) {
    return program.symbols[static_cast<std::size_t>(symbol)].source;
  };
  for (const auto& [symbol, value] : sample.parameters) {
    const Expr name = source(symbol);
    if (!name.is<Var>()) continue;
    evaluate.set(name.get(), value);
    result.emplace_back(Ptr<Var>::from(name), value);
  }
  for (const auto& [symbol, value] : sample.parameters) {
    if (source(symbol).is<Var>()) continue;
    if (evaluate(source(symbol)) != value) return std::nullopt;
  }
  return result;
}

}  // namespace loopsmith::dependence
