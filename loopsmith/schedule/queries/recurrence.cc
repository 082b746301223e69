// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/recurrence.h"

#include <algorithm>
#include <span>
#include <utility>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/reducers.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/live_values.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// The one or the other; `is_lazy`: what is not chosen may have no value.
Expr choice_of(const Expr& condition, const Expr& a, const Expr& b, bool is_lazy) {
  const auto is_number = [](const Expr& e) { return e.is<IntImm>() || e.is<FloatImm>(); };
  if (!is_lazy || (is_number(a) && is_number(b))) return select(condition, a, b);
  return call(a.dtype(), op("if_then_else"), {condition, a, b});
}

/// A branch that stores to one element, whichever way it goes, or leaves a variable as it is, as
/// the store of a choice; null for others.
Stmt store_of_choice(const Stmt& stmt) {
  const auto* branch = stmt.as<IfThenElse>();
  if (!branch) return stmt;
  if (Stmt update = selected_update(*branch)) return update;
  const Stmt then_case = store_of_choice(branch->then_case);
  const auto* yes = then_case.as<BufferStore>();
  if (!yes || yes->predicate.defined()) return {};
  BufferStore made = *yes;
  const auto choice = [&](const Expr& a, const Expr& b) {
    return choice_of(branch->condition, a, b, /*is_lazy=*/true);
  };
  if (branch->else_case) {
    const Stmt else_case = store_of_choice(branch->else_case);
    const auto* no = else_case.as<BufferStore>();
    const bool is_same = no && !no->predicate.defined() && no->buffer.same_as(yes->buffer) &&
                         are_same_indices(no->indices, yes->indices);
    if (!is_same) return {};
    made.value = choice(yes->value, no->value);
  } else if (has_one_element(*yes->buffer)) {
    const Expr old = load(yes->buffer, yes->indices);
    const auto update = accumulation_of(*yes);
    const auto neutral = [&] { return neutral_element(update->combiner, yes->value.dtype()); };
    made.value = update ? combined(update->combiner, old, choice(update->operand, neutral()))
                        : choice(yes->value, old);
  } else {
    return {};
  }
  return make(std::move(made));
}

/// Adds a store; one to the variable that the store before is to, too, takes the place of both.
void add_store(Stmt stmt, std::vector<Stmt>& stores) {
  const auto* store = stmt.as<BufferStore>();
  const auto* before = stores.empty() ? nullptr : stores.back().as<BufferStore>();
  const bool is_next = store && before && store->buffer.same_as(before->buffer) &&
                       has_one_element(*store->buffer) && !store->predicate.defined() &&
                       !before->predicate.defined();
  if (is_next) {
    Rewriter rewrite;
    rewrite.on<BufferLoad>([&](const BufferLoad& load) -> Expr {
      return load.buffer.same_as(store->buffer) ? before->value : Expr(rewrite.children(load));
    });
    BufferStore both = *store;
    both.value = rewrite(store->value);
    stmt = make(std::move(both));
    stores.pop_back();
  }
  stores.push_back(std::move(stmt));
}

bool add_stores(const Stmt& stmt, StoredBody& found) {
  if (const auto* sequence = stmt.as<SeqStmt>()) {
    return std::ranges::all_of(sequence->seq,
                               [&](const Stmt& part) { return add_stores(part, found); });
  }
  if (stmt.is<BufferStore>() || stmt.is<IfThenElse>()) {
    const Stmt store = store_of_choice(stmt);
    if (store.defined()) add_store(store, found.stores);
    return store.defined();
  }
  const auto* realize = stmt.as<BlockRealize>();
  if (!realize || realize->block->init.defined() || !is_const_int(realize->predicate, 1) ||
      !realize->block->alloc_buffers.empty() || !realize->block->match_buffers.empty()) {
    return false;
  }
  const auto reducer = Ptr<CommReducer>::from(realize->block->annotations.get(reducer_annotation));
  if (reducer.defined()) found.reducer = reducer;
  Substitution values;
  for (std::size_t i = 0; i < realize->iter_values.size(); ++i) {
    values[realize->block->iter_vars[i]->var] = realize->iter_values[i];
  }
  return add_stores(substitute(realize->block->body, values), found);
}

bool are_equal_indices(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  Analyzer analyzer;
  return std::ranges::equal(
      a, b, [&](const Expr& x, const Expr& y) { return analyzer.can_prove_equal(x, y); });
}

/// Two operations of which the second distributes over the first: `multiply(a, add(b, c))` is
/// `add(multiply(a, b), multiply(a, c))`. Both are associative, and commute.
struct Semiring {
  Combiner add, multiply;
  bool (*takes)(DataType type);

  bool is_arithmetic() const { return add == Combiner::sum; }
};

bool is_number(DataType type) {
  return !type.is_bool();
}
bool is_bool(DataType type) {
  return type.is_bool();
}
bool has_bits(DataType type) {
  return type.is_integer() && !type.is_bool();
}

/// Lattices are distributive, a NaN makes all that follows a NaN in either form.
constexpr Semiring semirings[] = {
    {Combiner::sum, Combiner::product, is_number},
    {Combiner::maximum, Combiner::minimum, is_number},
    {Combiner::minimum, Combiner::maximum, is_number},
    {Combiner::any, Combiner::all, is_bool},
    {Combiner::all, Combiner::any, is_bool},
    {Combiner::bit_or, Combiner::bit_and, has_bits},
    {Combiner::bit_and, Combiner::bit_or, has_bits},
    {Combiner::bit_xor, Combiner::bit_and, has_bits},
};

using Operands = std::pair<Expr, Expr>;

template <class T>
std::optional<Operands> operands_as(const Expr& expr) {
  const auto* node = expr.as<T>();
  return node ? std::optional<Operands>({node->a, node->b}) : std::nullopt;
}

std::optional<Operands> operands_of_call(const Expr& expr, Op op) {
  const auto* call = expr.as<Call>();
  if (!call || call->op != op) return {};
  return Operands{call->args[0], call->args[1]};
}

/// What the operation joins, where `expr` is made by it.
std::optional<Operands> operands_of(Combiner combiner, const Expr& expr) {
  switch (combiner) {
    case Combiner::sum: return operands_as<Add>(expr);
    case Combiner::product: return operands_as<Mul>(expr);
    case Combiner::minimum: return operands_as<Min>(expr);
    case Combiner::maximum: return operands_as<Max>(expr);
    case Combiner::all: return operands_as<And>(expr);
    case Combiner::any: return operands_as<Or>(expr);
    case Combiner::bit_and: return operands_of_call(expr, op("bitwise_and"));
    case Combiner::bit_or: return operands_of_call(expr, op("bitwise_or"));
    case Combiner::bit_xor: return operands_of_call(expr, op("bitwise_xor"));
    case Combiner::smaller:
    case Combiner::larger: return {};
  }
  return {};
}

/// `factor * state + rest`, where a value has that form. Null: 1 and 0, or what is neutral instead.
struct LinearForm {
  Expr factor;
  Expr rest;
};

class LinearReader {
 public:
  /// `has_first`: what the first iteration takes over may be read, even where it is not asked for.
  LinearReader(const Semiring& semiring, const Ptr<Var>& state, bool has_first)
      : semiring_(semiring), state_(state), has_first_(has_first) {}

  /// The form of a value that uses the state.
  std::optional<LinearForm> read(const Expr& value) const {
    if (value.same_as(state_)) return LinearForm{};
    if (const auto sum = operands_of(semiring_.add, value))
      return read_sum(sum->first, sum->second);
    if (const auto* difference = value.as<Sub>(); difference && semiring_.is_arithmetic()) {
      return read_difference(difference->a, difference->b);
    }
    if (const auto product = operands_of(semiring_.multiply, value)) {
      return read_product(product->first, product->second);
    }
    if (const auto* choice = value.as<Select>()) {
      return read_choice(choice->condition, choice->true_value, choice->false_value, false);
    }
    const auto* call = value.as<Call>();
    if (!has_first_ || !call || call->op != op("if_then_else")) return {};
    return read_choice(call->args[0], call->args[1], call->args[2], true);
  }

  Expr factor(const LinearForm& form) const {
    return form.factor.defined() ? form.factor : neutral_element(semiring_.multiply, type());
  }
  Expr rest(const LinearForm& form) const {
    if (form.rest.defined()) return form.rest;
    return semiring_.is_arithmetic() ? const_of(type(), 0) : neutral_element(semiring_.add, type());
  }

 private:
  DataType type() const { return state_->dtype; }
  bool uses_state(const Expr& value) const { return uses_variable(value, state_); }

  std::optional<LinearForm> read_any(const Expr& value) const {
    if (uses_state(value)) return read(value);
    const Expr nothing =
        semiring_.is_arithmetic() ? const_of(type(), 0) : neutral_element(semiring_.add, type());
    return LinearForm{nothing, value};
  }

  /// `is_lazy`: what is not chosen may have no value.
  std::optional<LinearForm> read_choice(const Expr& condition, const Expr& a, const Expr& b,
                                        bool is_lazy) const {
    if (uses_state(condition)) return {};
    const auto yes = read_any(a), no = read_any(b);
    if (!yes || !no) return {};
    const auto chosen = [&](const Expr& x, const Expr& y) {
      return structural_equal(x, y) ? x : choice_of(condition, x, y, is_lazy);
    };
    return LinearForm{chosen(factor(*yes), factor(*no)), chosen(rest(*yes), rest(*no))};
  }

  std::optional<LinearForm> read_sum(const Expr& a, const Expr& b) const {
    if (uses_state(a) && uses_state(b)) {
      const auto left = read(a), right = read(b);
      if (!left || !right) return {};
      return LinearForm{combined(semiring_.add, factor(*left), factor(*right)),
                        combined(semiring_.add, rest(*left), rest(*right))};
    }
    const Expr& other = uses_state(a) ? b : a;
    auto form = read(uses_state(a) ? a : b);
    if (form) {
      form->rest = form->rest.defined() ? combined(semiring_.add, form->rest, other) : other;
    }
    return form;
  }

  std::optional<LinearForm> read_difference(const Expr& a, const Expr& b) const {
    const auto left = read_any(a), right = read_any(b);
    if (!left || !right) return {};
    return LinearForm{factor(*left) - factor(*right), rest(*left) - rest(*right)};
  }

  std::optional<LinearForm> read_product(const Expr& a, const Expr& b) const {
    if (uses_state(a) && uses_state(b)) return {};
    const Expr& by = uses_state(a) ? b : a;
    auto form = read(uses_state(a) ? a : b);
    if (!form) return {};
    form->factor = form->factor.defined() ? combined(semiring_.multiply, form->factor, by) : by;
    if (form->rest.defined()) form->rest = combined(semiring_.multiply, form->rest, by);
    return form;
  }

  const Semiring& semiring_;
  const Ptr<Var>& state_;
  bool has_first_;
};

bool is_extreme(Combiner combiner) {
  return combiner == Combiner::minimum || combiner == Combiner::maximum ||
         combiner == Combiner::smaller || combiner == Combiner::larger;
}

using Numbers = Composition::Numbers;

/// Of updates by an operation that is associative and commutes.
std::optional<Composition> accumulating(const CarriedValue& carried) {
  const Ptr<Buffer> cell = decl_buffer({1}, carried.buffer->dtype, "cell");
  const Expr old = load(cell, {Expr(0)});
  const Stmt update = store(cell, substitute(carried.value, {{carried.state, old}}), {Expr(0)});
  const auto found = accumulation_of(*update.as<BufferStore>());
  if (!found) return {};
  const auto join = [combiner = found->combiner](const Numbers& first, const Numbers& then) {
    return Numbers{combined(combiner, first[0], then[0])};
  };
  const DataType type = carried.buffer->dtype;
  return Composition{.named_after = {carried.buffer},
                     .identity = {neutral_element(found->combiner, type)},
                     .iteration = {found->operand},
                     .joined = join,
                     .applied = join,
                     .commutes = true,
                     .rounds = type.is_float() && !is_extreme(found->combiner)};
}

/// True when the element that the first iteration takes over is one of the buffer.
bool has_first_state(const CarriedValue& carried, const For& loop) {
  if (are_equal_indices(carried.indices, carried.previous)) return true;
  Analyzer analyzer;
  const ConstraintScope runs = analyzer.constraint_scope(loop.extent > 0);
  for (std::size_t d = 0; d < carried.previous.size(); ++d) {
    const Expr first = substitute(carried.previous[d], {{loop.loop_var, loop.min}});
    const Expr last = carried.buffer->shape[d] - 1;
    if (!analyzer.can_prove(first >= 0) || !analyzer.can_prove(first <= last)) return false;
  }
  return true;
}

/// Of values that are linear in the ones before: a factor, and what is added.
std::optional<Composition> linear(const CarriedValue& carried, const For& loop) {
  const DataType type = carried.buffer->dtype;
  const bool has_first = has_first_state(carried, loop);
  for (const Semiring& semiring : semirings) {
    if (!semiring.takes(type)) continue;
    const LinearReader reader(semiring, carried.state, has_first);
    const auto form = reader.read(carried.value);
    if (!form) continue;
    const auto apply = [&semiring](const Expr& value, const Expr& factor, const Expr& rest) {
      return combined(semiring.add, combined(semiring.multiply, factor, value), rest);
    };
    return Composition{
        .named_after = {carried.buffer, carried.buffer},
        .identity = {reader.factor({}), reader.rest({})},
        .iteration = {reader.factor(*form), reader.rest(*form)},
        .joined =
            [&semiring, apply](const Numbers& first, const Numbers& then) {
              return Numbers{combined(semiring.multiply, first[0], then[0]),
                             apply(first[1], then[0], then[1])};
            },
        .applied =
            [&semiring, apply](const Numbers& first, const Numbers& then) {
              const Expr value = apply(first[0], then[0], then[1]);
              if (!semiring.is_arithmetic() || !value.dtype().is_float()) return Numbers{value};
              // A factor that has grown beyond all bounds leaves nothing as it is.
              const Expr nothing = const_of(value.dtype(), 0);
              return Numbers{select(then[0] == nothing || first[0] == nothing, then[1], value)};
            },
        .rounds = type.is_float() && semiring.is_arithmetic()};
  }
  return {};
}

/// Of values that a reducer combines with others.
std::optional<Composition> reducing(const Recurrence& recurrence, const Ptr<CommReducer>& reducer) {
  KnownReduction reduction{.declared = reducer};
  Substitution loads;
  std::vector<Expr> left, values;
  bool rounds = false;
  for (const CarriedValue& each : recurrence.carried) {
    reduction.buffers.push_back(each.buffer);
    left.push_back(load(each.buffer, each.previous));
    loads[each.state] = left.back();
    rounds = rounds || each.buffer->dtype.is_float();
  }
  for (const CarriedValue& each : recurrence.carried) {
    values.push_back(substitute(each.value, loads));
  }
  auto sources = right_side_of(*reducer, values, left);
  if (!sources) return {};
  const auto join = [reduction](const Numbers& first, const Numbers& then) {
    return combined(reduction, first, then);
  };
  return Composition{.named_after = reduction.buffers,
                     .identity = reducer->identity_element,
                     .iteration = *std::move(sources),
                     .joined = join,
                     .applied = join,
                     .rounds = rounds};
}

/// True where a condition that fails in an iteration fails in all that follow.
bool holds_for_a_beginning(const Expr& condition, const For& loop) {
  const auto* less = condition.as<LT>();
  if (!less || reads_memory(condition)) return false;
  const Expr room = less->b - less->a;
  const Expr next = substitute(room, {{loop.loop_var, loop.loop_var + loop.step}});
  return Analyzer().can_prove(next <= room);
}

}  // namespace

GuardedBody body_of_beginning(const For& loop) {
  GuardedBody found{.body = loop.body};
  while (const auto* branch = found.body.as<IfThenElse>()) {
    if (branch->else_case || !holds_for_a_beginning(branch->condition, loop)) break;
    found.guard = found.guard.defined() ? found.guard && branch->condition : branch->condition;
    found.body = Stmt(branch->then_case);
  }
  return found;
}

std::optional<StoredBody> stored_body_of(const Stmt& body) {
  StoredBody found;
  if (!add_stores(body, found)) return {};
  return found;
}

Expr with_states(const Expr& expr, const Recurrence& recurrence, const std::vector<Expr>& states) {
  Rewriter rewrite;
  rewrite.on<BufferLoad>([&](const BufferLoad& load) -> Expr {
    for (std::size_t i = 0; i < states.size(); ++i) {
      const CarriedValue& carried = recurrence.carried[i];
      if (load.buffer.same_as(carried.buffer) && are_equal_indices(load.indices, carried.previous))
        return states[i];
    }
    return rewrite.children(load);
  });
  return rewrite(expr);
}

namespace {

/// What stores carry from each iteration to the next; nullopt where that is not all of them.
std::optional<Recurrence> carried_by(const For& loop, std::span<const Stmt> stores) {
  Recurrence found;
  std::vector<Expr> states;
  for (const Stmt& stmt : stores) {
    const BufferStore& store = *stmt.as<BufferStore>();
    if (std::ranges::any_of(store.indices, [](const Expr& e) { return reads_memory(e); }))
      return {};
    CarriedValue carried{.buffer = store.buffer, .indices = store.indices};
    for (const Expr& index : store.indices) {
      carried.previous.push_back(substitute(index, {{loop.loop_var, loop.loop_var - loop.step}}));
    }
    found.is_in_place = found.is_in_place || are_equal_indices(carried.indices, carried.previous);
    carried.state = var("state", store.value.dtype());
    states.emplace_back(carried.state);
    found.carried.push_back(std::move(carried));
  }
  // A tuple that is kept in one place is stored and read by turns.
  if (found.is_in_place && stores.size() > 1) return {};
  for (std::size_t i = 0; i < stores.size(); ++i) {
    found.carried[i].value = with_states(stores[i].as<BufferStore>()->value, found, states);
  }
  const bool are_read = std::ranges::all_of(found.carried, [&](const CarriedValue& carried) {
    return std::ranges::any_of(found.carried, [&](const CarriedValue& other) {
      return uses_variable(other.value, carried.state);
    });
  });
  return are_read ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace

std::optional<Recurrence> recurrence_of(const For& loop, const std::vector<Stmt>& stores,
                                        const Ptr<CommReducer>& reducer) {
  const std::size_t count = reducer.defined() ? reducer->result.size() : 1;
  for (std::size_t i = 0; i + count <= stores.size(); ++i) {
    auto found = carried_by(loop, std::span(stores).subspan(i, count));
    if (!found) continue;
    found->statement = i;
    if (reducer.defined()) {
      found->composition = reducing(*found, reducer);
    } else {
      found->composition = accumulating(found->carried[0]);
      if (!found->composition) found->composition = linear(found->carried[0], loop);
    }
    return found;
  }
  return {};
}

}  // namespace loopsmith
