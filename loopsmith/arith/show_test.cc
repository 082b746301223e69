// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/show_test.h"

#include <fmt/format.h>

#include "loopsmith/ir/buffer.h"
#include "loopsmith/ir/node.h"

namespace loopsmith::testing {
namespace {

std::string infix(const Object& node, std::string_view symbol) {
  const auto& binary = static_cast<const Add&>(node);
  return fmt::format("({} {} {})", show(binary.a), symbol, show(binary.b));
}

std::string prefix(const Object& node, std::string_view name) {
  std::string result(name);
  result += "(";
  bool is_first = true;
  for (const FieldInfo& field : node_info(node).fields) {
    const auto add = [&](const Ref& ref) {
      const Expr operand = Expr::from(ref);
      if (!operand.defined()) return;
      if (!is_first) result += ", ";
      result += show(operand);
      is_first = false;
    };
    if (field.type == FieldType::ref) add(field.ref(node));
    if (field.type == FieldType::refs) {
      for (const Ref& ref : field.refs(node)) add(ref);
    }
  }
  return result + ")";
}

}  // namespace

std::string show(const Expr& expr) {
  if (!expr.defined()) return "null";
  const Object& node = *expr.get();
  if (const auto* value = expr.as<IntImm>()) return std::to_string(value->value);
  if (const auto* value = expr.as<FloatImm>()) return std::to_string(value->value);
  if (const auto* variable = expr.as<Var>()) return variable->name;
  if (const auto* call = expr.as<Call>()) return prefix(node, call->op.name());
  if (const auto* cast = expr.as<Cast>()) return prefix(node, to_string(cast->dtype));
  if (const auto* load = expr.as<BufferLoad>()) return prefix(node, load->buffer->name);
  static constexpr std::pair<std::uint16_t, const char*> symbols[] = {
      {kind_of<Add>, "+"},      {kind_of<Sub>, "-"},   {kind_of<Mul>, "*"},
      {kind_of<Div>, "/t"},     {kind_of<Mod>, "%t"},  {kind_of<FloorDiv>, "//"},
      {kind_of<FloorMod>, "%"}, {kind_of<EQ>, "=="},   {kind_of<NE>, "!="},
      {kind_of<LT>, "<"},       {kind_of<LE>, "<="},   {kind_of<GT>, ">"},
      {kind_of<GE>, ">="},      {kind_of<And>, "and"}, {kind_of<Or>, "or"}};
  for (const auto& [kind, symbol] : symbols) {
    if (node.kind == kind) return infix(node, symbol);
  }
  return prefix(node, node_info(node).name);
}

}  // namespace loopsmith::testing
