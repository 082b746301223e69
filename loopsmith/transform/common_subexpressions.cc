// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/common_subexpressions.h"

#include <algorithm>
#include <deque>
#include <span>
#include <unordered_map>

#include "loopsmith/ir/node_map.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// Longer runs of stores are cut: names that live long cost registers.
constexpr std::size_t most_together = 64;

void mix(std::size_t& hash, std::size_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
  hash ^= hash >> 32;
}

/// By kind, type and operands, these by identity: nodes whose operands are unique already.
struct ShallowHash {
  std::size_t operator()(const Ref& ref) const {
    const Object& node = *ref.get();
    std::size_t hash = node.kind;
    if (const auto* constant = ref.as<IntImm>()) mix(hash, constant->value);
    const auto add = [&](const Ref& ref) { mix(hash, reinterpret_cast<std::size_t>(ref.get())); };
    for (const FieldInfo& field : node_info(node).children) {
      if (field.type == FieldType::ref) add(field.ref(node));
      if (field.type == FieldType::refs) std::ranges::for_each(field.refs(node), add);
    }
    return hash;
  }
};

struct ShallowEqual {
  bool operator()(const Ref& a, const Ref& b) const {
    const Object &x = *a.get(), &y = *b.get();
    if (x.kind != y.kind || Expr::from(a).dtype() != Expr::from(b).dtype()) return false;
    for (const FieldInfo& field : node_info(x).fields) {
      if (!same(field, x, y)) return false;
    }
    return true;
  }

 private:
  static bool same(const FieldInfo& field, const Object& x, const Object& y) {
    switch (field.type) {
      case FieldType::ref: return field.ref(x).same_as(field.ref(y));
      case FieldType::refs: {
        const auto a = field.refs(x), b = field.refs(y);
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), RefEqual());
      }
      case FieldType::integer: return field.at<std::int64_t>(x) == field.at<std::int64_t>(y);
      case FieldType::text: return field.at<std::string>(x) == field.at<std::string>(y);
      case FieldType::op: return field.at<Op>(x) == field.at<Op>(y);
      case FieldType::data_type: return field.at<DataType>(x) == field.at<DataType>(y);
      default: return false;
    }
  }
};

/// A distinct expression, and what decides whether it gets a name.
struct Value {
  Expr expr;
  int users = 0;
  int operations = 0;      ///< At most this many.
  bool is_pure = true;     ///< Reads no memory, has no effect, defines nothing.
  bool is_costly = false;  ///< Has a call, or a division of floats.
};

/// The expressions of a run of statements, each distinct one once.
class Values {
 public:
  /// The node that stands for all that are equal to `e`; counts one more user.
  Expr add(const Expr& e);
  /// Those that were added, operands first.
  const std::deque<Value>& in_order() const { return values_; }

 private:
  Value* add_new(const Expr& e);

  std::deque<Value> values_;
  std::unordered_map<Ref, Value*, ShallowHash, ShallowEqual> unique_;
  NodeMap<Value*> done_;
};

/// True when a name for it pays.
bool deserves_name(const Value& value) {
  const Expr& e = value.expr;
  if (value.users < 2 || !value.is_pure || value.operations < 2) return false;
  if (e.is<Ramp>() || e.is<Broadcast>()) return false;
  return e.dtype().is_integer() || value.is_costly;
}

/// `e` with each direct operand replaced by what `change` gives for it; itself when none differs.
template <class Change>
Expr with_operands(const Expr& e, Change&& change) {
  const NodeInfo& info = node_info(*e.get());
  Object* copy = nullptr;
  Ref holder = e;
  const auto renew = [&](const FieldInfo& field, std::size_t i, const Ref& ref) {
    const Expr operand = Expr::from(ref);
    if (!operand.defined()) return;
    Expr fresh = change(operand);
    if (fresh.same_as(operand)) return;
    if (!copy) {
      copy = info.clone(*e.get());
      holder = Ref(copy);
    }
    (field.type == FieldType::ref ? field.ref(*copy) : field.refs(*copy)[i]) = std::move(fresh);
  };
  for (const FieldInfo& field : info.children) {
    if (field.type == FieldType::ref) renew(field, 0, field.ref(*e.get()));
    if (field.type != FieldType::refs) continue;
    const std::span<const Ref> refs = field.refs(*e.get());
    for (std::size_t i = 0; i < refs.size(); ++i) renew(field, i, refs[i]);
  }
  return Expr::from(holder);
}

bool is_leaf(const Expr& e) {
  return e.is<Var>() || e.is<FloatImm>() || e.is<StringImm>();
}

/// What is inside of these is not for everybody to see.
bool is_closed(const Expr& e) {
  const auto* call = e.as<Call>();
  return e.is<Let>() || (call && call->op == op("if_then_else"));
}

Expr Values::add(const Expr& e) {
  if (is_leaf(e)) return e;
  return deep_call([&] {
    Value* const* found = done_.find(e);
    Value* value = found ? *found : add_new(e);
    ++value->users;
    return value->expr;
  });
}

Value* Values::add_new(const Expr& e) {
  const auto* call = e.as<Call>();
  Value value{.expr = e};
  value.is_pure = !e.is<BufferLoad>() && !is_closed(e) && (!call || call->op.is_pure());
  value.is_costly = call || (e.is<Div>() && e.dtype().is_float());
  const auto remember = [&](const Expr& key, Value* known) {
    done_.set(key, known);
    return known;
  };
  if (is_closed(e)) return remember(e, &values_.emplace_back(std::move(value)));

  std::vector<Value*> operands;
  value.expr = with_operands(e, [&](const Expr& operand) {
    const Expr same = add(operand);
    if (!is_leaf(same)) operands.push_back(*done_.find(same));
    return same;
  });
  const auto [place, is_new] = unique_.try_emplace(value.expr);
  if (!is_new) {
    // Equal to one that is there: its operands have one user less than was counted.
    for (Value* operand : operands) --operand->users;
    return remember(e, place->second);
  }
  value.operations = e.is<IntImm>() ? 0 : 1;
  for (const Value* operand : operands) {
    value.is_pure &= operand->is_pure;
    value.is_costly |= operand->is_costly;
    value.operations += operand->operations;
  }
  place->second = &values_.emplace_back(std::move(value));
  return remember(e, remember(place->second->expr, place->second));
}

/// The run of stores, with names in front of it for what they share.
Stmt name_shared(std::span<const Stmt> stores) {
  Values values;
  const auto each_expr = [&](BufferStore& store, auto&& change) {
    for (Expr& index : store.indices) index = change(index);
    store.value = change(store.value);
    if (store.predicate.defined()) store.predicate = change(store.predicate);
  };
  std::vector<BufferStore> copies;
  for (const Stmt& stmt : stores) {
    copies.push_back(*stmt.as<BufferStore>());
    each_expr(copies.back(), [&](const Expr& e) { return values.add(e); });
  }

  // Operands first, so that each value is written in terms of the names before it.
  std::vector<LetStmt> names;
  NodeMap<Expr> written;
  const auto final_form = [&](const Expr& e) {
    const Expr* found = written.find(e);
    return found ? *found : e;
  };
  for (const Value& each : values.in_order()) {
    const Expr& e = each.expr;
    Expr value = names.empty() || is_closed(e) ? e : with_operands(e, final_form);
    if (deserves_name(each)) {
      names.push_back({.value = value, .var = var("cse", e.dtype())});
      value = names.back().var;
    }
    if (!value.same_as(e)) written.set(e, value);
  }
  if (names.empty()) return seq({stores.begin(), stores.end()});

  std::vector<Stmt> statements;
  for (BufferStore& copy : copies) {
    each_expr(copy, final_form);
    statements.push_back(make(std::move(copy)));
  }
  Stmt result = seq(std::move(statements));
  for (std::size_t i = names.size(); i-- > 0;) {
    names[i].body = std::move(result);
    result = make(std::move(names[i]));
  }
  return result;
}

}  // namespace

Ptr<PrimFunc> common_subexpressions(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  rewrite.on<BufferStore>([&](const BufferStore& store) -> Stmt {
    const Stmt self(&store);
    return name_shared({&self, 1});
  });
  // A statement that stands in several places gets names of its own in each.
  rewrite.on<IfThenElse>([&](const IfThenElse& node) -> Stmt {
    IfThenElse copy = node;
    copy.then_case = rewrite(node.then_case);
    rewrite.forget();
    if (node.else_case) copy.else_case = rewrite(node.else_case);
    return make(std::move(copy));
  });
  rewrite.on<SeqStmt>([&](const SeqStmt& node) -> Stmt {
    std::vector<Stmt> statements;
    for (std::size_t i = 0; i < node.seq.size();) {
      rewrite.forget();
      std::size_t end = i;
      while (end < node.seq.size() && end - i < most_together && node.seq[end].is<BufferStore>()) {
        ++end;
      }
      statements.push_back(end > i ? name_shared({&node.seq[i], end - i}) : rewrite(node.seq[i]));
      i = std::max(end, i + 1);
    }
    return seq(std::move(statements));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
