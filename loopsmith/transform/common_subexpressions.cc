// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/common_subexpressions.h"

#include <algorithm>
#include <deque>
#include <span>
#include <unordered_map>

#include "loopsmith/ir/edit.h"
#include "loopsmith/ir/node_map.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// Longer runs of stores are cut: names that live long cost registers.
constexpr std::size_t max_in_set = 64;

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
    if (x.kind != y.kind || dtype_of(x) != dtype_of(y)) return false;
    for (const FieldInfo& field : node_info(x).fields) {
      if (!same(field, x, y)) return false;
    }
    return true;
  }

 private:
  static DataType dtype_of(const Object& expr) { return static_cast<const ExprBase&>(expr).dtype; }
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

/// The expressions of a run of statements; what reads no memory, each distinct one once.
class Values {
 public:
  /// The value of `e`, with one user more; null for a leaf, which needs none.
  Value* add(const Expr& e);
  /// Those that were added, operands first.
  const std::deque<Value>& in_order() const { return values_; }

 private:
  Value* add_new(const Expr& e);
  Value* add_with(Value value, std::span<Value* const> operands);

  std::deque<Value> values_;
  std::unordered_map<Ref, Value*, ShallowHash, ShallowEqual> unique_;
  NodeMap<Value*> done_;          // Of nodes that stand in several places.
  std::vector<Value*> operands_;  // Of the expressions that are being added.
};

/// True when a name for it pays.
bool deserves_name(const Value& value) {
  const Expr& e = value.expr;
  if (value.users < 2 || !value.is_pure || value.operations < 2) return false;
  if (e.is<Ramp>() || e.is<Broadcast>()) return false;
  return e.dtype().is_integer() || value.is_costly;
}

/// `e` with each direct operand replaced by what `change` gives for it; null when none differs.
template <class Change>
Expr with_operands(const Expr& e, Change&& change) {
  const NodeInfo& info = node_info(*e.get());
  Object* copy = nullptr;
  Ref holder;
  const auto renew = [&](const FieldInfo& field, std::size_t i, const Ref& ref) {
    if (!ref.defined() || !is_expr(*ref.get())) return;
    const Expr& fresh = change(static_cast<const Expr&>(ref));
    if (fresh.same_as(ref)) return;
    if (!copy) {
      copy = info.clone(*e.get());
      holder = Ref(copy);
    }
    (field.type == FieldType::ref ? field.ref(*copy) : field.refs(*copy)[i]) = fresh;
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

/// What is inside of these is not visible outside.
bool is_closed(const Expr& e) {
  const auto* call = e.as<Call>();
  return e.is<Let>() || (call && call->op == op("if_then_else"));
}

/// A sum, as all of it that is no constant, and the constant.
std::pair<Expr, std::int64_t> apart_from_constant(const Expr& e) {
  const auto* sum = e.as<Add>();
  const auto* difference = e.as<Sub>();
  if (!sum && !difference) return {e, 0};
  const Expr &a = sum ? sum->a : difference->a, &b = sum ? sum->b : difference->b;
  auto [rest, constant] = apart_from_constant(a);
  const std::int64_t* last = as_int(b);
  if (last) return {rest, sum ? constant + *last : constant - *last};
  const auto [other, more] = apart_from_constant(b);
  if (constant == 0 && more == 0) return {e, 0};
  return {sum ? rest + other : rest - other, sum ? constant + more : constant - more};
}

/// An index whose constant comes last, so that neighbours share all else: `i + 8 - j` is
/// `i - j + 8`. Only where that is no negative number: all else is no more than the index then.
Expr with_constant_last(const Expr& index) {
  if (const auto* ramp = index.as<Ramp>()) {
    Edit edit(*ramp);
    edit.set(&Ramp::base, with_constant_last(ramp->base));
    return std::move(edit).done();
  }
  if (!index.dtype().is_index() || index.dtype().is_vector()) return index;
  const auto [rest, constant] = apart_from_constant(index);
  return constant > 0 ? rest + int_imm(index.dtype(), constant) : index;
}

Value* Values::add(const Expr& e) {
  if (is_leaf(e)) return nullptr;
  return deep_call([&] {
    // A node that only its parent holds is met once.
    const bool is_shared = e.get()->count.load(std::memory_order_relaxed) > 1;
    Value* const* found = is_shared ? done_.find(e) : nullptr;
    Value* value = found ? *found : add_new(e);
    if (is_shared && !found) done_.set(e, value);
    ++value->users;
    return value;
  });
}

Value* Values::add_new(const Expr& e) {
  const auto* call = e.as<Call>();
  Value value{.expr = e};
  value.is_pure = !e.is<BufferLoad>() && !is_closed(e) && (!call || call->op.is_pure());
  value.is_costly = call || (e.is<Div>() && e.dtype().is_float());
  if (is_closed(e)) return &values_.emplace_back(std::move(value));

  const std::size_t first = operands_.size();
  const bool is_load = e.is<BufferLoad>();
  Expr fresh = with_operands(e, [&](const Expr& operand) -> const Expr& {
    Value* const same = add(is_load ? with_constant_last(operand) : operand);
    if (!same) return operand;
    operands_.push_back(same);
    return same->expr;
  });
  if (fresh.defined()) value.expr = std::move(fresh);
  value.operations = e.is<IntImm>() ? 0 : 1;
  Value* const result = add_with(std::move(value), std::span(operands_).subspan(first));
  operands_.resize(first);
  return result;
}

Value* Values::add_with(Value value, std::span<Value* const> operands) {
  for (const Value* operand : operands) {
    value.is_pure &= operand->is_pure;
    value.is_costly |= operand->is_costly;
    value.operations += operand->operations;
  }
  // What reads memory never gets a name: no need to know what it equals.
  if (!value.is_pure) return &values_.emplace_back(std::move(value));
  const auto [place, is_new] = unique_.try_emplace(value.expr);
  if (is_new) {
    place->second = &values_.emplace_back(std::move(value));
  } else {
    // Equal to one that is there: its operands have one user less than was counted.
    for (Value* operand : operands) --operand->users;
  }
  return place->second;
}

/// Calls `visit` for each expression of a store, in the order of evaluation.
template <class Visit>
void each_expr(BufferStore& store, Visit&& visit) {
  for (Expr& index : store.indices) visit(index);
  visit(store.value);
  if (store.predicate.defined()) visit(store.predicate);
}

/// The run of stores, with names in front of it for what they share; null where they share nothing.
Stmt name_shared(std::span<const Stmt> stores) {
  Values values;
  std::vector<const Value*> found;  // Of each expression of the stores.
  for (const Stmt& stmt : stores) {
    BufferStore store = *stmt.as<BufferStore>();
    for (Expr& index : store.indices) index = with_constant_last(index);
    each_expr(store, [&](const Expr& e) { found.push_back(values.add(e)); });
  }
  if (std::ranges::none_of(values.in_order(), deserves_name)) return nullptr;

  // Operands first, so that each value is written in terms of the names before it.
  std::vector<LetStmt> names;
  NodeMap<Expr> written;
  const auto final_form = [&](const Expr& e) -> const Expr& {
    const Expr* form = written.find(e);
    return form ? *form : e;
  };
  for (const Value& each : values.in_order()) {
    Expr value =
        names.empty() || is_closed(each.expr) ? Expr() : with_operands(each.expr, final_form);
    if (deserves_name(each)) {
      names.push_back({.value = value.defined() ? std::move(value) : each.expr,
                       .var = var("cse", each.expr.dtype())});
      value = names.back().var;
    }
    if (value.defined()) written.set(each.expr, std::move(value));
  }

  std::vector<Stmt> statements;
  auto value = found.begin();
  for (const Stmt& stmt : stores) {
    BufferStore copy = *stmt.as<BufferStore>();
    each_expr(copy, [&](Expr& e) {
      if (*value) e = final_form((*value)->expr);
      ++value;
    });
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
    const Stmt self(&store), named = name_shared({&self, 1});
    return named ? named : self;
  });
  // A statement that stands in several places gets names of its own in each.
  rewrite.on<IfThenElse>([&](const IfThenElse& node) -> Stmt {
    Edit edit(node);
    edit.set(&IfThenElse::then_case, rewrite(node.then_case));
    rewrite.forget();
    if (node.else_case) edit.set(&IfThenElse::else_case, rewrite(node.else_case));
    return std::move(edit).done();
  });
  rewrite.on<SeqStmt>([&](const SeqStmt& node) -> Stmt {
    std::vector<Stmt> statements;
    bool is_new = false;
    for (std::size_t i = 0; i < node.seq.size();) {
      rewrite.forget();
      std::size_t end = i;
      while (end < node.seq.size() && end - i < max_in_set && node.seq[end].is<BufferStore>()) {
        ++end;
      }
      end = std::max(end, i + 1);
      const Stmt changed = node.seq[i].is<BufferStore>() ? name_shared({&node.seq[i], end - i})
                                                         : rewrite(node.seq[i]);
      if (changed && !changed.same_as(node.seq[i])) {
        is_new = true;
        statements.push_back(changed);
      } else {
        statements.insert(statements.end(), &node.seq[i], &node.seq[i] + (end - i));
      }
      i = end;
    }
    return is_new ? seq(std::move(statements)) : Stmt(&node);
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
