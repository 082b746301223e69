// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/combination.h"

#include <algorithm>
#include <limits>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith {
namespace {

bool is_target(const Expr& expr, const BufferStore& store) {
  const auto* load = expr.as<BufferLoad>();
  return load && load->buffer.same_as(store.buffer) &&
         std::ranges::equal(load->indices, store.indices, StructuralEqual());
}

bool mentions(const Expr& expr, const Ptr<Buffer>& buffer) {
  bool found = false;
  pre_order_visit(expr, [&](const Ref& ref) {
    found = found || ref.same_as(buffer);
    return !found;
  });
  return found;
}

template <class T>
Expr source_in(const Expr& value, const BufferStore& store) {
  const auto* node = value.as<T>();
  if (!node) return nullptr;
  if (is_target(node->a, store)) return node->b;
  if (is_target(node->b, store)) return node->a;
  return nullptr;
}

}  // namespace

Expr Combination::combine(const Expr& a, const Expr& b) const {
  switch (kind) {
    case Kind::add: return make(Add{.a = a, .b = b});
    case Kind::mul: return make(Mul{.a = a, .b = b});
    case Kind::min: return make(Min{.a = a, .b = b});
    case Kind::max: return make(Max{.a = a, .b = b});
  }
  return nullptr;
}

Expr Combination::neutral() const {
  const DataType type = dtype();
  switch (kind) {
    case Kind::add: return zero_of(type);
    case Kind::mul: return const_of(type, 1);
    case Kind::min: return type.is_float() && !type.is_float8() ? infinity(type) : max_value(type);
    case Kind::max:
      return type.is_float() && !type.is_float8()
                 ? const_of(type, -std::numeric_limits<double>::infinity())
                 : min_value(type);
  }
  return nullptr;
}

Expr Combination::source_at(const Substitution& values, const Expr& mask) const {
  Expr allowed = mask;
  if (condition.defined()) {
    const Expr own = clone_with(condition, values);
    allowed = allowed.defined() ? allowed && own : own;
  }
  const Expr value = clone_with(source, values);
  return allowed.defined() ? if_then_else(allowed, value, neutral()) : value;
}

GuardedUpdate guarded_update(const Nest& nest) {
  const auto* guard = nest.body.as<IfThenElse>();
  if (!guard || guard->else_case) return {Expr(), nest.body};
  return {guard->condition, guard->then_case};
}

std::optional<Combination> combination_of(const Nest& nest) {
  const auto [condition, update] = guarded_update(nest);
  const auto* store = update.as<BufferStore>();
  const auto* init = nest.init.as<BufferStore>();
  if (!store || !init || !init->buffer.same_as(store->buffer)) return std::nullopt;
  if (store->value.dtype().is_float8() || store->value.dtype().is_bool()) return std::nullopt;

  using Kind = Combination::Kind;
  Combination found{.kind = Kind::add,
                    .target = store->buffer,
                    .indices = store->indices,
                    .source = source_in<Add>(store->value, *store),
                    .condition = condition,
                    .initial = init->value};
  if (!found.source.defined()) {
    found.kind = Kind::mul;
    found.source = source_in<Mul>(store->value, *store);
  }
  if (!found.source.defined()) {
    found.kind = Kind::min;
    found.source = source_in<Min>(store->value, *store);
  }
  if (!found.source.defined()) {
    found.kind = Kind::max;
    found.source = source_in<Max>(store->value, *store);
  }
  const bool whole = found.source.defined() && !mentions(found.source, found.target) &&
                     !(condition.defined() && mentions(condition, found.target));
  return whole ? std::optional(found) : std::nullopt;
}

}  // namespace loopsmith
