// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/arith.h"
#include "loopsmith/interp/compiler.h"
#include "loopsmith/interp/ring.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/deep_call.h"
#include "loopsmith/support/error.h"

namespace loopsmith::interp::detail {
namespace {

/// What compiled code evaluates only where it is asked for: loads, calls, divisions.
bool may_fail(const Expr& e) {
  bool found = false;
  pre_order_visit(e, [&](const Ref& ref) {
    const auto* call = ref.as<Call>();
    found = found || ref.is<BufferLoad>() || (call && !call->op.is_pure()) || ref.is<FloorDiv>() ||
            ref.is<FloorMod>() || ref.is<Div>() || ref.is<Mod>();
    return !found;
  });
  return found;
}

}  // namespace

Value Compiler::expr(const Expr& e) {
  if (e.is<Var>()) {
    const auto found = values_.find(e.get());
    if (found == values_.end()) {
      fail(ErrorKind::interp, "variable_is_defined", hint("define it, or make it a parameter"),
           span_, "variable {} has no value", e.as<Var>()->name);
    }
    return found->second;
  }
  if (e.is<IntImm>() || e.is<FloatImm>()) return constant_of(e);
  if (const auto found = known_.find(e.get()); found != known_.end()) return found->second;
  const Value value = deep_call([&] { return new_expr(e); });
  known_[e.get()] = value;
  kept_.push_back(e);
  return value;
}

Value Compiler::constant_of(const Expr& e) {
  if (const auto* n = e.as<IntImm>()) return {integer(n->value), 0};
  const auto* real = e.as<FloatImm>();
  if (is_ring()) return {constant({.u = ring::from_double(e.dtype(), real->value)}), 0};
  return {constant({.f = real->value}), 0};
}

/// An instruction that gives a new value of type `result`, computed in `operand`.
Value Compiler::operation(Handler handler, DataType result, DataType operand,
                          const std::vector<Value>& of, Instr instr) {
  instr.run = handler;
  instr.d = fresh(result.lanes);
  instr.type = operand;
  if (!of.empty()) instr.a = of[0].reg, instr.sa = of[0].stride;
  if (of.size() > 1) instr.b = of[1].reg, instr.sb = of[1].stride;
  if (of.size() > 2) instr.c = of[2].reg, instr.sc = of[2].stride;
  const Register d = instr.d;
  emit(instr);
  return {d};
}

void Compiler::copy_to(Register target, Value value, int lanes) {
  emit({.run = copy_handler(lanes),
        .d = target,
        .a = value.reg,
        .type = i64.with_lanes(lanes),
        .sa = value.stride});
}

Value Compiler::new_expr(const Expr& e) {
  const DataType type = e.dtype();
  if (const auto* n = e.as<BufferLoad>()) return load(*n);
  if (const auto* n = e.as<Call>()) return call(*n);
  if (const auto* n = e.as<Cast>()) {
    const DataType from = n->value.dtype();
    if (from == type) return expr(n->value);
    const Handler handler = cast_handler(from, type, options_);
    if (!handler)
      unsupported(*n, fmt::format("a cast of {} to {}", to_string(from), to_string(type)));
    return operation(handler, type, type, {expr(n->value)});
  }
  if (const auto* n = e.as<And>()) return logic(*n, n->a, n->b, type);
  if (const auto* n = e.as<Or>()) return logic(*n, n->a, n->b, type);
  if (const auto* n = e.as<Not>()) return operation(not_handler(type), type, type, {expr(n->a)});
  if (const auto* n = e.as<Select>()) {
    const bool is_lazy =
        n->condition.dtype().is_scalar() && (may_fail(n->true_value) || may_fail(n->false_value));
    if (is_lazy) return choice(n->condition, n->true_value, n->false_value, type);
    Value condition = expr(n->condition);
    if (n->condition.dtype().is_scalar()) condition.stride = 0;
    return operation(select_handler(type), type, type,
                     {condition, expr(n->true_value), expr(n->false_value)});
  }
  if (const auto* n = e.as<Ramp>()) {
    return operation(ramp_handler(type, options_), type, type, {expr(n->base), expr(n->stride)});
  }
  if (const auto* n = e.as<Broadcast>()) return broadcast(*n);
  if (const auto* n = e.as<Shuffle>()) return shuffle(*n);
  if (const auto* n = e.as<Let>()) return let(*n);

  // What is left are the binary operators, which all have their operands at the same place.
  const auto& fields = node_info(*e.get()).fields;
  if (fields.size() != 2 || fields[0].name != "a" || fields[1].name != "b") {
    unsupported(*e.get(), fmt::format("an expression {}", node_info(*e.get()).name));
  }
  const Expr a = Expr::from(fields[0].ref(*e.get())), b = Expr::from(fields[1].ref(*e.get()));
  const Handler handler = binary_handler(e.get()->kind, a.dtype(), options_);
  if (!handler) {
    unsupported(*e.get(), fmt::format("{} of {}", node_info(*e.get()).name, to_string(a.dtype())));
  }
  const Value x = expr(a), y = expr(b);
  return operation(handler, type, a.dtype(), {x, y});
}

Value Compiler::let(const Let& node) {
  define(node.var, expr(node.value));
  return expr(node.body);
}

Value Compiler::broadcast(const Broadcast& node) {
  const Value value = expr(node.value);
  const int part = node.value.dtype().lanes;
  if (part == 1) return {value.reg, 0};
  const Register result = fresh(node.dtype.lanes);
  for (int l = 0; l < node.dtype.lanes; l += part) copy_to(result + l, value, part);
  return {result};
}

Value Compiler::shuffle(const Shuffle& node) {
  // Each lane of the operands, where it is.
  std::vector<Register> lanes;
  for (const Expr& vector : node.vectors) {
    const Value value = expr(vector);
    for (int l = 0; l < vector.dtype().lanes; ++l) lanes.push_back(value.reg + l * value.stride);
  }
  const Register result = fresh(node.dtype.lanes);
  for (std::size_t l = 0; l < node.indices.size(); ++l) {
    const std::int64_t* index = as_int(node.indices[l]);
    if (!index || *index < 0 || *index >= static_cast<std::int64_t>(lanes.size())) {
      unsupported(node, "a shuffle whose indices are no constants within its vectors");
    }
    copy_to(result + static_cast<Register>(l), {lanes[static_cast<std::size_t>(*index)]}, 1);
  }
  return {result};
}

/// Of scalars, the right side is evaluated only where it decides.
Value Compiler::logic(const Object& node, const Expr& a, const Expr& b, DataType type) {
  if (type.is_vector()) {
    const Value x = expr(a), y = expr(b);
    return operation(binary_handler(node.kind, type, options_), type, type, {x, y});
  }
  return node.kind == kind_of<And> ? choice(a, b, Expr(false), type)
                                   : choice(a, Expr(true), b, type);
}

/// Evaluates one of two values. What it computes is known only there.
Value Compiler::choice(const Expr& condition, const Expr& yes, const Expr& no, DataType type) {
  const int words = type.is_handle() ? 2 : type.lanes;
  const Value decided = expr(condition);
  const Register result = fresh(words);
  const std::size_t to_no = jump_unless(decided.reg);
  auto known = known_;
  copy_to(result, expr(yes), words);
  const std::size_t to_end = jump();
  land(to_no);
  known_ = known;
  copy_to(result, expr(no), words);
  land(to_end);
  known_ = std::move(known);
  return {result};
}

}  // namespace loopsmith::interp::detail
