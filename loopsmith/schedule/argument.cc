// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/argument.h"

#include "loopsmith/ir/operators.h"

namespace loopsmith {

Annotation::Annotation(int number) : value(int_imm(i32, number)) {}
Annotation::Annotation(bool flag) : value(Expr(flag)) {}
Annotation::Annotation(double number) : value(float_imm(f32, number)) {}
Annotation::Annotation(const char* text) : value(string_imm(text)) {}
Annotation::Annotation(std::string text) : value(string_imm(std::move(text))) {}

Argument to_argument(const Factor& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value.value)) return Argument(*number);
  if (const auto* hole = std::get_if<ExprRV>(&value.value)) return Argument(*hole);
  return {};
}

Argument to_argument(const BlockOrLoop& value) {
  return std::visit([](const auto& handle) { return Argument(handle); }, value);
}

Argument to_argument(const BufferSelector& value) {
  using Side = BufferSelector::Side;
  if (const auto* name = std::get_if<std::string>(&value.value)) return Argument(*name);
  if (const auto* buffer = std::get_if<Ptr<Buffer>>(&value.value)) return Argument(Ref(*buffer));
  const std::int64_t index = std::get<std::int64_t>(value.value);
  if (value.side == Side::any) return Argument(index);
  return Argument(
      Argument::List{Argument(value.side == Side::read ? "read" : "write"), Argument(index)});
}

}  // namespace loopsmith
