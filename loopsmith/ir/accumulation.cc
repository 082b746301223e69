// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/accumulation.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

using Sides = std::pair<Expr, Expr>;

template <class T>
std::optional<Sides> sides(const Expr& expr) {
  const auto* node = expr.as<T>();
  return node ? std::optional(Sides{node->a, node->b}) : std::nullopt;
}

std::optional<Sides> sides_of_call(Op operation, const Expr& expr) {
  const auto* call = expr.as<Call>();
  if (!call || !(call->op == operation) || call->args.size() != 2) return {};
  return Sides{call->args[0], call->args[1]};
}

/// The operands, if `expr` combines two values so.
std::optional<Sides> operands_of(Combiner combiner, const Expr& expr) {
  switch (combiner) {
    case Combiner::sum: return sides<Add>(expr);
    case Combiner::product: return sides<Mul>(expr);
    case Combiner::minimum: return sides<Min>(expr);
    case Combiner::maximum: return sides<Max>(expr);
    case Combiner::all: return sides<And>(expr);
    case Combiner::any: return sides<Or>(expr);
    case Combiner::bit_and: return sides_of_call(op("bitwise_and"), expr);
    case Combiner::bit_or: return sides_of_call(op("bitwise_or"), expr);
    case Combiner::bit_xor: return sides_of_call(op("bitwise_xor"), expr);
    case Combiner::smaller:
    case Combiner::larger: break;
  }
  return {};
}

/// True for the buffer and its views.
bool is_in_memory_of(const Ref& ref, const Buffer& buffer) {
  const auto* other = ref.as<Buffer>();
  return other && other->data.same_as(buffer.data);
}

bool names(const Expr& expr, const Buffer& buffer) {
  bool found = false;
  pre_order_visit(expr, [&](const Ref& ref) {
    found = found || is_in_memory_of(ref, buffer);
    return !found;
  });
  return found;
}

/// True when `expr` reads what the store updates, or takes the address of any element.
bool reads_old(const Expr& expr, const BufferStore& store) {
  bool found = false;
  pre_order_visit(expr, [&](const Ref& ref) {
    if (const auto* load = ref.as<BufferLoad>(); load && load->buffer.same_as(store.buffer)) {
      found = found || load->predicate.defined() || are_same_indices(load->indices, store.indices);
      for (const Expr& index : load->indices) found = found || reads_old(index, store);
      return false;
    }
    const auto* call = ref.as<Call>();
    found = found || is_in_memory_of(ref, *store.buffer) ||
            (call && call->op == op("address_of") && names(Expr::from(ref), *store.buffer));
    return !found;
  });
  return found;
}

/// Follows a chain of one combiner down to what a store had.
class Chain {
 public:
  Chain(const BufferStore& store, Combiner combiner) : store_(store), combiner_(combiner) {}

  std::optional<Accumulation> find() {
    Expr operand;
    if (store_.value.is<BufferLoad>() || !follow(store_.value, operand)) return {};
    return Accumulation{combiner_, std::move(operand)};
  }

 private:
  /// `operand` is what remains of `expr` without the old value; undefined where nothing does.
  bool follow(const Expr& expr, Expr& operand) {
    return deep_call([&] { return follow_here(expr, operand); });
  }

  bool follow_here(const Expr& expr, Expr& operand) {
    const auto* load = expr.as<BufferLoad>();
    if (load && is_old_value(store_, *load)) return true;
    if (const auto* difference = expr.as<Sub>(); difference && combiner_ == Combiner::sum) {
      if (reads_old(difference->b, store_) || !follow(difference->a, operand)) return false;
      operand = operand.defined() ? operand - difference->b : -difference->b;
      return true;
    }
    const auto both = operands_of(combiner_, expr);
    if (!both) return false;
    const auto& [a, b] = *both;
    const bool is_left = !reads_old(b, store_);
    if (!is_left && reads_old(a, store_)) return false;
    if (!follow(is_left ? a : b, operand)) return false;
    if (!operand.defined()) {
      operand = is_left ? b : a;
    } else {
      operand = is_left ? combined(combiner_, operand, b) : combined(combiner_, a, operand);
    }
    return true;
  }

  const BufferStore& store_;
  Combiner combiner_;
};

constexpr Combiner combiners[] = {Combiner::sum,     Combiner::product, Combiner::minimum,
                                  Combiner::maximum, Combiner::all,     Combiner::any,
                                  Combiner::bit_and, Combiner::bit_or,  Combiner::bit_xor};

/// A comparison, by which of its sides has to be the larger one.
std::optional<Sides> ascending(const Expr& condition) {
  for (const auto& [found, is_descending] :
       {std::pair(sides<LT>(condition), false), std::pair(sides<LE>(condition), false),
        std::pair(sides<GT>(condition), true), std::pair(sides<GE>(condition), true)}) {
    if (found) return is_descending ? Sides{found->second, found->first} : *found;
  }
  return {};
}

/// The update by which `store` would store `value` where the condition holds, and else nothing.
std::optional<Accumulation> selection_of(const BufferStore& store, const Expr& condition,
                                         const Expr& value) {
  const auto order = ascending(condition);
  if (!order || reads_old(value, store)) return {};
  const auto is_old = [&](const Expr& side) {
    const auto* load = side.as<BufferLoad>();
    return load && is_old_value(store, *load);
  };
  const bool is_larger = is_old(order->first);
  const auto& [old, other] = is_larger ? *order : Sides{order->second, order->first};
  if (!is_old(old) || !structural_equal(other, value)) return {};
  const bool may_be_nan = value.dtype().is_float();
  const Combiner combiner = is_larger ? (may_be_nan ? Combiner::larger : Combiner::maximum)
                                      : (may_be_nan ? Combiner::smaller : Combiner::minimum);
  return Accumulation{combiner, value};
}

/// The condition and the values of a choice.
struct Choice {
  Expr condition, yes, no;
};
std::optional<Choice> choice_of(const Expr& expr) {
  const auto* node = expr.as<Select>();
  if (node) return Choice{node->condition, node->true_value, node->false_value};
  const auto* call = expr.as<Call>();
  if (!call || !(call->op == op("if_then_else"))) return {};
  return Choice{call->args[0], call->args[1], call->args[2]};
}

}  // namespace

std::optional<Accumulation> accumulation_of(const BufferStore& store) {
  if (store.predicate.defined() || !reads_old(store.value, store)) return {};
  if (const auto choice = choice_of(store.value)) {
    const auto* kept = choice->no.as<BufferLoad>();
    if (!kept || !is_old_value(store, *kept)) return {};
    return selection_of(store, choice->condition, choice->yes);
  }
  for (const Combiner combiner : combiners) {
    const bool may_be = operands_of(combiner, store.value).has_value() ||
                        (combiner == Combiner::sum && store.value.is<Sub>());
    if (may_be) return Chain(store, combiner).find();
  }
  return {};
}

bool is_old_value(const BufferStore& store, const BufferLoad& load) {
  return load.buffer.same_as(store.buffer) && !load.predicate.defined() &&
         are_same_indices(load.indices, store.indices);
}

Stmt selected_update(const IfThenElse& branch) {
  const auto* store = branch.then_case.as<BufferStore>();
  if (!store || store->predicate.defined() || branch.else_case) return {};
  const auto selected = selection_of(*store, branch.condition, store->value);
  if (!selected) return {};
  BufferStore result = *store;
  result.value = combined(selected->combiner, load(store->buffer, store->indices), store->value);
  return make(std::move(result));
}

bool may_combine(const BufferStore& store) {
  const Expr& value = store.value;
  const bool is_arithmetic = value.is<Add>() || value.is<Sub>() || value.is<Mul>() ||
                             value.is<Min>() || value.is<Max>() || value.is<BufferLoad>();
  return !is_arithmetic || accumulation_of(store);
}

bool are_same_indices(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::ranges::equal(a, b, StructuralEqual());
}

Expr combined(Combiner combiner, const Expr& a, const Expr& b) {
  switch (combiner) {
    case Combiner::sum: return a + b;
    case Combiner::product: return a * b;
    case Combiner::minimum: return min(a, b);
    case Combiner::maximum: return max(a, b);
    case Combiner::all: return a && b;
    case Combiner::any: return a || b;
    case Combiner::bit_and: return a & b;
    case Combiner::bit_or: return a | b;
    case Combiner::bit_xor: return a ^ b;
    case Combiner::smaller: return select(b < a, b, a);
    case Combiner::larger: return select(b > a, b, a);
  }
  return nullptr;
}

Expr neutral_element(Combiner combiner, DataType type) {
  switch (combiner) {
    // x + (-0.0) is x, for x = -0.0 too.
    case Combiner::sum: return const_of(type, -0.0);
    case Combiner::product:
    case Combiner::all: return const_of(type, 1);
    case Combiner::smaller:
    case Combiner::minimum: return type.is_float() ? infinity(type) : max_value(type);
    case Combiner::larger:
    case Combiner::maximum: return type.is_float() ? -infinity(type) : min_value(type);
    case Combiner::bit_and: return type.is_int() ? const_of(type, -1) : max_value(type);
    case Combiner::any:
    case Combiner::bit_or:
    case Combiner::bit_xor: return const_of(type, 0);
  }
  return nullptr;
}

}  // namespace loopsmith
