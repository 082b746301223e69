// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/reducers.h"

#include <algorithm>

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

/// Of (index, value): which of the two is kept.
Tuple keep(const Expr& first, const Expr& value, const Tuple& x, const Tuple& y) {
  return {select(first, x[0], y[0]), select(value, x[1], y[1])};
}
Tuple argmax(const Tuple& x, const Tuple& y) {
  const Expr first = x[1] >= y[1];
  return keep(first, first, x, y);
}
Tuple argmin(const Tuple& x, const Tuple& y) {
  const Expr first = x[1] <= y[1];
  return keep(first, first, x, y);
}
/// Of equal values, the one with the smaller index.
Expr is_first(const Expr& is_better, const Tuple& x, const Tuple& y) {
  return is_better || (x[1] == y[1] && x[0] <= y[0]);
}
Tuple first_argmax(const Tuple& x, const Tuple& y) {
  const Expr first = is_first(x[1] > y[1], x, y);
  return keep(first, first, x, y);
}
Tuple first_argmin(const Tuple& x, const Tuple& y) {
  const Expr first = is_first(x[1] < y[1], x, y);
  return keep(first, first, x, y);
}
// The same, as others write them.
Tuple first_argmax_by_value(const Tuple& x, const Tuple& y) {
  return keep(is_first(x[1] > y[1], x, y), x[1] > y[1], x, y);
}
Tuple first_argmin_by_value(const Tuple& x, const Tuple& y) {
  return keep(is_first(x[1] < y[1], x, y), x[1] < y[1], x, y);
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
    {"argmax", 2, argmax, nullptr, nullptr},
    {"argmin", 2, argmin, nullptr, nullptr},
    {"first argmax", 2, first_argmax, nullptr, nullptr},
    {"first argmin", 2, first_argmin, nullptr, nullptr},
    {"first argmax by value", 2, first_argmax_by_value, nullptr, nullptr},
    {"first argmin by value", 2, first_argmin_by_value, nullptr, nullptr},
};

bool same(const Expr& a, const Expr& b) {
  return a.same_as(b) || structural_equal(a, b);
}

/// Finds what the right side of a combination is.
class ReducerMatcher {
 public:
  ReducerMatcher(const std::vector<Expr>& left, const Tuple& x, const Tuple& y)
      : left_(left), x_(x), y_(y), right_(y.size()) {}

  bool match(const Expr& pattern, const Expr& value) {
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (pattern.same_as(x_[i])) return same(value, left_[i]);
      if (pattern.same_as(y_[i])) return bind(i, value);
    }
    // Of one element with itself, either may be kept.
    if (const auto* tie = pattern.as<LE>(); tie && tie->a.same_as(x_[0]) && value.is<LT>()) {
      return match(tie->a, value.as<LT>()->a) && match(tie->b, value.as<LT>()->b);
    }
    if (pattern.get()->kind != value.get()->kind || pattern.dtype() != value.dtype()) return false;
    if (const auto* node = pattern.as<Select>()) {
      const auto& other = *value.as<Select>();
      return match(node->condition, other.condition) && match(node->true_value, other.true_value) &&
             match(node->false_value, other.false_value);
    }
    if (const auto* node = pattern.as<Call>()) {
      const auto& other = *value.as<Call>();
      return node->op == other.op && node->args.size() == 2 && other.args.size() == 2 &&
             either_of({node->args[0], node->args[1]}, {other.args[0], other.args[1]}, true);
    }
    return either<Add>(pattern, value, true) || either<Mul>(pattern, value, true) ||
           either<Min>(pattern, value, true) || either<Max>(pattern, value, true) ||
           either<And>(pattern, value, true) || either<Or>(pattern, value, true) ||
           either<EQ>(pattern, value, true) || either<LT>(pattern, value, false) ||
           either<GT>(pattern, value, false) || either<LE>(pattern, value, false) ||
           either<GE>(pattern, value, false);
  }

  std::vector<Expr> right() && { return std::move(right_); }

 private:
  using Sides = std::pair<Expr, Expr>;

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
    if (right_[i].defined()) return same(right_[i], value);
    bool reads_left = false;
    pre_order_visit(value, [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      for (const Expr& left : left_) {
        reads_left = reads_left || (load && load->buffer.same_as(left.as<BufferLoad>()->buffer));
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

bool same_indices(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::ranges::equal(a, b, same);
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

std::optional<KnownReduction> reduction_of(const Block& block) {
  if (!block.init) return {};
  Substitution values, starts;
  const auto stores = stores_of(block.body, values);
  auto inits = stores_of(block.init, starts);
  if (stores.empty() || stores.size() != inits.size()) return {};
  KnownReduction found;
  found.indices = stores[0]->indices;
  std::vector<Expr> updates, left;
  for (const BufferStore* store : stores) {
    const auto init = std::ranges::find_if(
        inits, [&](const BufferStore* other) { return other->buffer.same_as(store->buffer); });
    if (init == inits.end() || !same_indices((*init)->indices, found.indices) ||
        !same_indices(store->indices, found.indices)) {
      return {};
    }
    found.buffers.push_back(store->buffer);
    found.init.push_back(substitute((*init)->value, starts));
    updates.push_back(substitute(store->value, values));
    left.push_back(load(store->buffer, found.indices));
    inits.erase(init);
  }
  for (const KnownReducer& reducer : reducers) {
    if (!right_side_of(reducer, updates, left)) continue;
    found.reducer = &reducer;
    return found;
  }
  return {};
}

}  // namespace loopsmith
