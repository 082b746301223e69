// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/common_subexpressions.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <unordered_set>

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
    for_each_child(node, [&](const Ref& child, Role) {
      mix(hash, reinterpret_cast<std::size_t>(child.get()));
    });
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

/// What decides whether an expression gets a name.
struct Nature {
  bool is_pure = true;     ///< Reads no memory, has no effect, defines nothing.
  bool is_costly = false;  ///< Has a call, or a division of floats.
  int operations = 0;      ///< At most this many.
};

/// The expressions of a run of statements, each distinct one once.
class Values {
 public:
  /// The node that stands for all that are equal to `e`; counts one more user.
  Expr add(const Expr& e);
  /// True when a name for it pays.
  bool deserves_name(const Expr& e) const;
  /// Those that were added, operands first.
  const std::vector<Expr>& in_order() const { return order_; }

 private:
  Expr add_new(const Expr& e);

  std::unordered_set<Ref, ShallowHash, ShallowEqual> unique_;
  std::unordered_map<Ref, Nature, RefHash, RefEqual> natures_;
  std::unordered_map<Ref, int, RefHash, RefEqual> users_;
  std::unordered_map<Ref, Expr, RefHash, RefEqual> done_;
  std::vector<Expr> order_;
};

/// A copy of `e` with each direct operand replaced by what `change` gives for it.
template <class Change>
Ref with_operands(const Expr& e, Change&& change) {
  const NodeInfo& info = node_info(*e.get());
  Object* copy = info.clone(*e.get());
  Ref holder(copy);
  for (const FieldInfo& field : info.fields) {
    const auto renew = [&](Ref& ref) {
      const Expr operand = Expr::from(ref);
      if (operand.defined()) ref = change(operand);
    };
    if (field.type == FieldType::ref) renew(field.ref(*copy));
    if (field.type == FieldType::refs) std::ranges::for_each(field.refs(*copy), renew);
  }
  return holder;
}

bool stays_as_it_is(const Expr& e) {
  const auto* call = e.as<Call>();
  return e.is<Var>() || e.is<FloatImm>() || e.is<StringImm>() || e.is<Let>() ||
         (call && call->op == op("if_then_else"));
}

Expr Values::add(const Expr& e) {
  return deep_call([&] {
    const auto found = done_.find(e);
    const Expr unique = found == done_.end() ? add_new(e) : found->second;
    ++users_[unique];
    return unique;
  });
}

Expr Values::add_new(const Expr& e) {
  // What is inside of these is not for everybody to see.
  if (stays_as_it_is(e)) {
    natures_[e] = {.is_pure = e.is<Var>() || e.is<FloatImm>()};
    return done_[e] = e;
  }
  std::vector<Expr> operands;
  const Ref holder = with_operands(e, [&](const Expr& operand) {
    operands.push_back(add(operand));
    return operands.back();
  });
  const auto [place, is_new] = unique_.insert(holder);
  const Expr unique = Expr::from(*place);
  done_[e] = unique;
  // Equal to one that is there: its operands have one user less than was counted.
  if (!is_new) {
    for (const Expr& operand : operands) --users_[operand];
    return unique;
  }

  const auto* call = e.as<Call>();
  Nature nature{.is_pure = !e.is<BufferLoad>() && (!call || call->op.is_pure()),
                .is_costly = call || (e.is<Div>() && e.dtype().is_float()),
                .operations = operands.empty() ? 0 : 1};
  for (const Expr& operand : operands) {
    const Nature& part = natures_[operand];
    nature.is_pure &= part.is_pure;
    nature.is_costly |= part.is_costly;
    nature.operations += part.operations;
  }
  natures_[unique] = nature;
  order_.push_back(unique);
  return unique;
}

bool Values::deserves_name(const Expr& e) const {
  if (users_.at(e) < 2 || e.is<Ramp>() || e.is<Broadcast>()) return false;
  const Nature& nature = natures_.at(e);
  if (!nature.is_pure || nature.operations < 2) return false;
  return e.dtype().is_integer() || nature.is_costly;
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
  std::unordered_map<Ref, Expr, RefHash, RefEqual> written;
  const auto final_form = [&](const Expr& e) {
    const auto found = written.find(e);
    return found == written.end() ? e : found->second;
  };
  for (const Expr& e : values.in_order()) {
    Expr value = names.empty() ? e : Expr::from(with_operands(e, final_form));
    if (values.deserves_name(e)) {
      names.push_back({.value = value, .var = var("cse", e.dtype())});
      value = names.back().var;
    }
    if (!value.same_as(e)) written[e] = value;
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
  rewrite.on<SeqStmt>([&](const SeqStmt& node) -> Stmt {
    std::vector<Stmt> statements;
    for (std::size_t i = 0; i < node.seq.size();) {
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
