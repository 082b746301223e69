// SPDX-License-Identifier: Apache-2.0
// What expressions are worth.
#include "loopsmith/ir/atomics.h"
#include "loopsmith/ir/math_functions.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/judge/machine.h"
#include "loopsmith/support/error.h"

namespace loopsmith::judge {

std::int64_t Machine::number(const Expr& expr) {
  if (const auto* literal = expr.as<IntImm>()) return literal->value;
  const Scalar value = evaluate(expr);
  if (value.is_poison) fail(fmt::format("{} is not defined", expr));
  if (!expr.dtype().is_integer()) cannot_say("a number that is no integer");
  return value.bits;
}

Scalar Machine::evaluate(const Expr& expr) {
  const DataType type = expr.dtype();
  if (!type.is_scalar()) cannot_say("a vector");
  switch (expr.get()->kind) {
    case kind_of<IntImm>: return {expr.as<IntImm>()->value};
    case kind_of<FloatImm>: return constant(type, expr.as<FloatImm>()->value);
    case kind_of<Var>: return value_of(*expr.as<Var>());
    case kind_of<Cast>: {
      const Expr& value = expr.as<Cast>()->value;
      return converted(value.dtype(), type, evaluate(value));
    }
    case kind_of<Not>: {
      const Scalar value = evaluate(expr.as<Not>()->a);
      return {value.is_poison ? value.bits : value.bits == 0, value.is_poison};
    }
    case kind_of<Select>: {
      const auto& select = *expr.as<Select>();
      const std::int64_t condition = number(select.condition);
      const Scalar yes = evaluate(select.true_value), no = evaluate(select.false_value);
      return condition != 0 ? yes : no;
    }
    case kind_of<Let>: {
      const auto& let = *expr.as<Let>();
      const std::size_t known = values_.size();
      define(let.var, evaluate(let.value));
      const Scalar result = evaluate(let.body);
      values_.resize(known);
      return result;
    }
    case kind_of<BufferLoad>: {
      const auto& load = *expr.as<BufferLoad>();
      return element(*load.buffer, load.indices, load.predicate);
    }
    case kind_of<Call>: return call(*expr.as<Call>());
    case kind_of<And>: return both(expr.as<And>()->a, expr.as<And>()->b, false);
    case kind_of<Or>: return both(expr.as<Or>()->a, expr.as<Or>()->b, true);
    default: return binary_node(expr);
  }
}

Scalar Machine::both(const Expr& a, const Expr& b, bool decides) {
  const Scalar first = evaluate(a);
  if (!first.is_poison && (first.bits != 0) == decides) return {decides};
  const Scalar second = evaluate(b);
  return binary(decides ? kind_of<Or> : kind_of<And>, boolean, first, second);
}

Scalar Machine::binary_node(const Expr& expr) {
  const std::uint16_t kind = expr.get()->kind;
  if (kind < kind_of<Add> || kind > kind_of<GE>) {
    cannot_say(std::string("a ") + std::string(node_info(kind).name));
  }
  // All of them hold their operands alike.
  const auto& fields = node_info(kind).children;
  const auto& a = static_cast<const Expr&>(fields[0].ref(*expr.get()));
  const auto& b = static_cast<const Expr&>(fields[1].ref(*expr.get()));
  const Scalar first = evaluate(a);
  return binary(kind, a.dtype(), first, evaluate(b));
}

Scalar Machine::call(const Call& call) {
  const Effect effect = call.op.info().effect;
  if (call.op == op("if_then_else")) {
    return evaluate(call.args[number(call.args[0]) != 0 ? 1 : 2]);
  }
  if (identity_of(call.op) != Identity::none) return evaluate(call.args[0]);
  if (call.op == op("tvm_storage_sync") || call.op == op("assume")) return {};
  if (call.op.name().starts_with("atomic_")) return atomic(call);
  if (call.op == op("vscale")) return {.bits = 2};  // Any number would do.
  if (effect != Effect::pure || call.args.empty()) cannot_say(std::string(call.op.name()));
  std::vector<Scalar> operands;
  for (const Expr& argument : call.args) {
    if (argument.dtype() != call.args[0].dtype()) cannot_say(std::string(call.op.name()));
    operands.push_back(evaluate(argument));
  }
  if (!call.dtype.is_integer() && !call.dtype.is_float()) cannot_say(std::string(call.op.name()));
  if (call.op == op("reinterpret") && call.args[0].dtype() == call.dtype) return operands[0];
  return intrinsic(call.op, call.args[0].dtype(), call.dtype, operands.data(), operands.size());
}

Scalar Machine::atomic(const Call& call) {
  const auto* address = call.args[0].as<Call>();
  const Expr target = address ? address->args[0] : Expr();
  const auto* load = target.as<BufferLoad>();
  if (!load) cannot_say("an atomic update of a pointer");
  const Scalar before = evaluate(target);
  const Scalar after = evaluate(stored_atomically(call.op, target, call.args[1]));
  element(*load->buffer, load->indices, load->predicate) = after;
  return before;
}

}  // namespace loopsmith::judge
