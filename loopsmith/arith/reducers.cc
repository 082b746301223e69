// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/reducers.h"

#include <algorithm>

#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

using Tuple = KnownReducer::Tuple;
using Types = std::vector<DataType>;

Tuple constants(const Types& types, double value) {
  Tuple tuple;
  for (const DataType& type : types) tuple.push_back(const_of(type, value));
  return tuple;
}
Tuple zeros(const Types& types) {
  return constants(types, 0);
}
Tuple ones(const Types& types) {
  return constants(types, 1);
}

Tuple sum(const Tuple& x, const Tuple& y) {
  return {x[0] + y[0]};
}
Tuple product(const Tuple& x, const Tuple& y) {
  return {x[0] * y[0]};
}
Tuple smallest(const Tuple& x, const Tuple& y) {
  return {min(x[0], y[0])};
}
Tuple largest(const Tuple& x, const Tuple& y) {
  return {max(x[0], y[0])};
}
Tuple all(const Tuple& x, const Tuple& y) {
  return {x[0] && y[0]};
}
Tuple any(const Tuple& x, const Tuple& y) {
  return {x[0] || y[0]};
}
Tuple pair_of_sums(const Tuple& x, const Tuple& y) {
  return {x[0] + y[0], x[1] + y[1]};
}

Tuple bits_and(const Tuple& x, const Tuple& y) {
  return {call(op("bitwise_and"), {x[0], y[0]})};
}
Tuple bits_or(const Tuple& x, const Tuple& y) {
  return {call(op("bitwise_or"), {x[0], y[0]})};
}
Tuple bits_xor(const Tuple& x, const Tuple& y) {
  return {call(op("bitwise_xor"), {x[0], y[0]})};
}

bool is_bool(DataType type) {
  return type.is_bool();
}
bool has_bits(DataType type) {
  return type.is_integer();
}

/// How the value is chosen that a reducer of (index, value) keeps: with the index; where it is
/// better; where it is as good; as an extreme. They differ in nothing but how they are written.
enum class Kept { with_index, better, as_good, extreme };

/// The largest or the smallest value and its index. Of equal ones the first operand, or the one
/// with the smaller index.
template <bool is_max, bool by_index, Kept kept>
Tuple extreme_at(const Tuple& x, const Tuple& y) {
  const Expr better = is_max ? x[1] > y[1] : x[1] < y[1];
  const Expr as_good = is_max ? x[1] >= y[1] : x[1] <= y[1];
  const Expr first = by_index ? better || (x[1] == y[1] && x[0] <= y[0]) : as_good;
  const Expr index = select(first, x[0], y[0]);
  switch (kept) {
    case Kept::with_index: return {index, select(first, x[1], y[1])};
    case Kept::better: return {index, select(better, x[1], y[1])};
    case Kept::as_good: return {index, select(as_good, x[1], y[1])};
    case Kept::extreme: return {index, is_max ? max(x[1], y[1]) : min(x[1], y[1])};
  }
  return {};
}

constexpr KnownReducer reducers[] = {
    {"sum", 1, sum, nullptr, zeros},
    {"product", 1, product, nullptr, ones},
    {"min", 1, smallest, nullptr, nullptr},
    {"max", 1, largest, nullptr, nullptr},
    {"all", 1, all, is_bool, nullptr},
    {"any", 1, any, is_bool, nullptr},
    {"and of bits", 1, bits_and, has_bits, nullptr},
    {"or of bits", 1, bits_or, has_bits, nullptr},
    {"xor of bits", 1, bits_xor, has_bits, zeros},
    {"pair of sums", 2, pair_of_sums, nullptr, zeros},
    {"argmax", 2, extreme_at<true, false, Kept::with_index>, nullptr, nullptr},
    {"argmax", 2, extreme_at<true, false, Kept::extreme>, nullptr, nullptr},
    {"argmin", 2, extreme_at<false, false, Kept::with_index>, nullptr, nullptr},
    {"argmin", 2, extreme_at<false, false, Kept::extreme>, nullptr, nullptr},
    {"first argmax", 2, extreme_at<true, true, Kept::with_index>, nullptr, nullptr},
    {"first argmax", 2, extreme_at<true, true, Kept::better>, nullptr, nullptr},
    {"first argmax", 2, extreme_at<true, true, Kept::as_good>, nullptr, nullptr},
    {"first argmax", 2, extreme_at<true, true, Kept::extreme>, nullptr, nullptr},
    {"first argmin", 2, extreme_at<false, true, Kept::with_index>, nullptr, nullptr},
    {"first argmin", 2, extreme_at<false, true, Kept::better>, nullptr, nullptr},
    {"first argmin", 2, extreme_at<false, true, Kept::as_good>, nullptr, nullptr},
    {"first argmin", 2, extreme_at<false, true, Kept::extreme>, nullptr, nullptr},
};

bool are_same(const Expr& a, const Expr& b) {
  return a.same_as(b) || structural_equal(a, b);
}

/// Finds what the right side of a combination is.
class ReducerMatcher {
 public:
  ReducerMatcher(const std::vector<Expr>& left, const Tuple& x, const Tuple& y)
      : left_(left), x_(x), y_(y), right_(y.size()) {}

  bool match(const Expr& pattern, const Expr& value) {
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (pattern.same_as(x_[i])) return are_same(value, left_[i]);
      if (pattern.same_as(y_[i])) return bind(i, value);
    }
    // Of one element with itself, either may be kept.
    if (const auto* tie = pattern.as<LE>(); tie && tie->a.same_as(x_[0]) && value.is<LT>()) {
      return match(tie->a, value.as<LT>()->a) && match(tie->b, value.as<LT>()->b);
    }
    if (pattern.dtype() != value.dtype()) return false;
    const auto* choice = value.as<Call>();
    if (choice && choice->op == op("if_then_else") && pattern.is<Select>()) {
      return match_lazy(*pattern.as<Select>(), *choice);
    }
    if (pattern.get()->kind != value.get()->kind) return false;
    if (const auto* node = pattern.as<Select>()) {
      const auto& other = *value.as<Select>();
      return match(node->condition, other.condition) && match(node->true_value, other.true_value) &&
             match(node->false_value, other.false_value);
    }
    if (const auto* node = pattern.as<Call>()) return match_call(*node, *value.as<Call>());
    if (const auto* node = pattern.as<Cast>()) return match(node->value, value.as<Cast>()->value);
    if (const auto* node = pattern.as<Not>()) return match(node->a, value.as<Not>()->a);
    if (pattern.is<IntImm>() || pattern.is<FloatImm>()) return are_same(pattern, value);
    return either<Add>(pattern, value, true) || either<Mul>(pattern, value, true) ||
           either<Min>(pattern, value, true) || either<Max>(pattern, value, true) ||
           either<And>(pattern, value, true) || either<Or>(pattern, value, true) ||
           either<Sub>(pattern, value, false) || either<Div>(pattern, value, false) ||
           either<EQ>(pattern, value, true) || either<NE>(pattern, value, true) ||
           either<LT>(pattern, value, false) || either<GT>(pattern, value, false) ||
           either<LE>(pattern, value, false) || either<GE>(pattern, value, false);
  }

  std::vector<Expr> right() && { return std::move(right_); }

 private:
  using Sides = std::pair<Expr, Expr>;

  /// What only one of its branches reads must be fit to be read always.
  bool match_lazy(const Select& pattern, const Call& choice) {
    if (!match(pattern.condition, choice.args[0])) return false;
    const auto before = right_;
    if (!match(pattern.true_value, choice.args[1]) || !match(pattern.false_value, choice.args[2])) {
      return false;
    }
    for (std::size_t i = 0; i < right_.size(); ++i) {
      if (right_[i].defined() && !before[i].defined() && reads_memory(right_[i])) return false;
    }
    return true;
  }

  bool match_call(const Call& pattern, const Call& value) {
    if (pattern.op != value.op || pattern.args.size() != value.args.size()) return false;
    const Op commuting[] = {op("bitwise_and"), op("bitwise_or"), op("bitwise_xor")};
    if (std::ranges::find(commuting, pattern.op) != std::end(commuting)) {
      return either_of({pattern.args[0], pattern.args[1]}, {value.args[0], value.args[1]}, true);
    }
    for (std::size_t i = 0; i < pattern.args.size(); ++i) {
      if (!match(pattern.args[i], value.args[i])) return false;
    }
    return true;
  }

  template <class T>
  bool either(const Expr& pattern, const Expr& value, bool commutes) {
    const auto* a = pattern.as<T>();
    const auto* b = value.as<T>();
    return a && b && either_of({a->a, a->b}, {b->a, b->b}, commutes);
  }

  bool either_of(const Sides& pattern, const Sides& value, bool commutes) {
    const auto before = right_;
    if (match(pattern.first, value.first) && match(pattern.second, value.second)) return true;
    right_ = before;
    if (commutes && match(pattern.first, value.second) && match(pattern.second, value.first)) {
      return true;
    }
    right_ = before;
    return false;
  }

  bool bind(std::size_t i, const Expr& value) {
    if (right_[i].defined()) return are_same(right_[i], value);
    bool reads_left = false;
    pre_order_visit(value, [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      for (const Expr& left : left_) {
        const auto* own = left.as<BufferLoad>();
        reads_left = reads_left || (load && load->buffer.same_as(own->buffer) &&
                                    are_same_indices(load->indices, own->indices));
      }
      return !reads_left && !ref.is<Buffer>();
    });
    if (reads_left || value.dtype() != y_[i].dtype()) return false;
    right_[i] = value;
    return true;
  }

  const std::vector<Expr>& left_;
  const Tuple& x_;
  const Tuple& y_;
  std::vector<Expr> right_;
};

/// The stores of a body, values of its variables put in.
std::vector<const BufferStore*> stores_of(const Stmt& stmt, Substitution& values) {
  if (const auto* store = stmt.as<BufferStore>()) {
    return store->predicate.defined() ? std::vector<const BufferStore*>{}
                                      : std::vector<const BufferStore*>{store};
  }
  if (const auto* let = stmt.as<LetStmt>()) {
    values[let->var] = substitute(let->value, values);
    return stores_of(let->body, values);
  }
  const auto* sequence = stmt.as<SeqStmt>();
  if (!sequence) return {};
  std::vector<const BufferStore*> stores;
  for (const Stmt& part : sequence->seq) {
    if (!part.is<BufferStore>()) return {};
    stores.push_back(part.as<BufferStore>());
  }
  return stores;
}

}  // namespace

std::span<const KnownReducer> known_reducers() {
  return reducers;
}

std::optional<std::vector<Expr>> right_side_of(const KnownReducer& reducer,
                                               const std::vector<Expr>& values,
                                               const std::vector<Expr>& left) {
  if (values.size() != reducer.size) return {};
  Tuple x, y;
  for (const Expr& each : left) {
    if (reducer.takes && !reducer.takes(each.dtype())) return {};
    x.push_back(var("x", each.dtype()));
    y.push_back(var("y", each.dtype()));
  }
  const Tuple patterns = reducer.combine(x, y);
  ReducerMatcher matcher(left, x, y);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!matcher.match(patterns[i], values[i])) return {};
  }
  return std::move(matcher).right();
}

namespace {

/// What a block stores to elements of the same indices, and what these start from.
struct Updates {
  KnownReduction reduction;  ///< Its reducer and sources are still missing.
  std::vector<Expr> values, left;
};

std::optional<Updates> stored_updates(const Stmt& body) {
  Substitution values;
  const auto stores = stores_of(body, values);
  if (stores.empty()) return {};
  Updates updates;
  KnownReduction& found = updates.reduction;
  found.indices = stores[0]->indices;
  for (const BufferStore* store : stores) {
    if (!are_same_indices(store->indices, found.indices)) return {};
    found.buffers.push_back(store->buffer);
    updates.values.push_back(substitute(store->value, values));
    updates.left.push_back(load(store->buffer, found.indices));
  }
  return updates;
}

/// The same of a block with an init of the same elements.
std::optional<Updates> started_updates(const Block& block) {
  if (!block.init) return {};
  auto updates = stored_updates(block.body);
  Substitution starts;
  auto inits = stores_of(block.init, starts);
  // It runs where axes of the reduction are at their start.
  for (const Ptr<IterVar>& axis : block.iter_vars) {
    if (axis->iter_type == IterType::comm_reduce) starts[axis->var] = axis->dom->min;
  }
  if (!updates || updates->values.size() != inits.size()) return {};
  KnownReduction& found = updates->reduction;
  for (const Ptr<Buffer>& buffer : found.buffers) {
    const auto init = std::ranges::find_if(
        inits, [&](const BufferStore* other) { return other->buffer.same_as(buffer); });
    if (init == inits.end() || !are_same_indices((*init)->indices, found.indices)) return {};
    found.init.push_back(substitute((*init)->value, starts));
    inits.erase(init);
  }
  return updates;
}

/// Finds which of the known reducers combines so.
std::optional<KnownReduction> by_known_reducer(std::optional<Updates> updates) {
  if (!updates) return {};
  KnownReduction& found = updates->reduction;
  const auto is_known = [&] {
    for (const KnownReducer& reducer : reducers) {
      auto sources = right_side_of(reducer, updates->values, updates->left);
      if (!sources) continue;
      found.reducer = &reducer;
      found.sources = *std::move(sources);
      return true;
    }
    return false;
  };
  if (is_known()) return found;
  // Of an index and a value either may come first.
  std::ranges::reverse(updates->values);
  std::ranges::reverse(updates->left);
  std::ranges::reverse(found.buffers);
  std::ranges::reverse(found.init);
  if (updates->values.size() == 2 && is_known()) return found;
  return {};
}

/// The same by a reducer that a block declares.
std::optional<KnownReduction> by_declared_reducer(const Ref& declared,
                                                  std::optional<Updates> updates) {
  const auto reducer = Ptr<CommReducer>::from(declared);
  if (!reducer.defined() || !updates) return {};
  auto sources = right_side_of(*reducer, updates->values, updates->left);
  if (!sources) return {};
  updates->reduction.declared = reducer;
  updates->reduction.sources = *std::move(sources);
  return std::move(updates->reduction);
}

}  // namespace

std::optional<KnownReduction> reduction_of(const Block& block) {
  return by_known_reducer(started_updates(block));
}

std::optional<KnownReduction> updates_of(const Stmt& body, const Ref& declared) {
  auto found = by_known_reducer(stored_updates(body));
  return found ? std::move(found) : by_declared_reducer(declared, stored_updates(body));
}

std::optional<std::vector<Expr>> right_side_of(const CommReducer& reducer,
                                               const std::vector<Expr>& values,
                                               const std::vector<Expr>& left) {
  if (reducer.result.size() != values.size()) return {};
  Tuple x(reducer.lhs.begin(), reducer.lhs.end()), y(reducer.rhs.begin(), reducer.rhs.end());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i].dtype() != left[i].dtype()) return {};
  }
  ReducerMatcher matcher(left, x, y);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!matcher.match(reducer.result[i], values[i])) return {};
  }
  auto right = std::move(matcher).right();
  const bool are_told = std::ranges::all_of(right, [](const Expr& each) { return each.defined(); });
  return are_told ? std::optional(std::move(right)) : std::nullopt;
}

std::optional<KnownReduction> declared_reduction_of(const Block& block) {
  return by_declared_reducer(block.annotations.get(reducer_annotation), started_updates(block));
}

std::vector<Expr> combined(const KnownReduction& reduction, const std::vector<Expr>& left,
                           const std::vector<Expr>& right) {
  if (reduction.reducer) return reduction.reducer->combine(left, right);
  Substitution operands;
  for (std::size_t i = 0; i < left.size(); ++i) {
    operands[reduction.declared->lhs[i]] = left[i];
    operands[reduction.declared->rhs[i]] = right[i];
  }
  std::vector<Expr> result;
  for (const Expr& value : reduction.declared->result) {
    result.push_back(clone_with(value, operands));
  }
  return result;
}

std::optional<std::vector<Expr>> neutral_of(const KnownReduction& reduction) {
  if (!reduction.reducer) return reduction.declared->identity_element;
  if (!reduction.reducer->identity) return {};
  std::vector<DataType> types;
  for (const auto& buffer : reduction.buffers) types.push_back(buffer->dtype);
  return reduction.reducer->identity(types);
}

}  // namespace loopsmith
