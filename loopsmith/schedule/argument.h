// SPDX-License-Identifier: Apache-2.0
// What primitives are given and give, each kind of value in one form: for traces, JSON, Python.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "loopsmith/ir/buffer.h"
#include "loopsmith/schedule/handles.h"

namespace loopsmith {

class Schedule;

/// Any argument or result. A Ref is a node: an annotation, an index map, a buffer.
struct Argument {
  using List = std::vector<Argument>;
  using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string, LoopRV,
                             BlockRV, ExprRV, Ref, List>;
  Value value;

  Argument() = default;
  template <class T>
    requires std::is_constructible_v<Value, T&&> && (!std::is_same_v<std::decay_t<T>, Argument>)
  Argument(T&& of) : value(std::forward<T>(of)) {}
  Argument(std::string_view text) : value(std::string(text)) {}
  Argument(const char* text) : value(std::string(text)) {}
  Argument(int number) : value(std::int64_t{number}) {}

  template <class T>
  const T* as() const {
    return std::get_if<T>(&value);
  }
  bool is_none() const { return std::holds_alternative<std::monostate>(value); }
};

/// "Whatever is left": the factor of a split that follows from the others.
struct Infer {
  bool operator==(const Infer&) const = default;
};
inline constexpr Infer infer{};

/// A number: given, or a hole; or, where the primitive says so, to be inferred.
struct Factor {
  std::variant<Infer, std::int64_t, ExprRV> value;

  Factor() = default;
  Factor(Infer) {}
  Factor(ExprRV hole) : value(hole) {}
  template <class T>
    requires std::is_integral_v<T>
  Factor(T number) : value(static_cast<std::int64_t>(number)) {}
};

using BlockOrLoop = std::variant<BlockRV, LoopRV>;

/// A buffer of a block: the n-th that it reads or writes, by its name, or itself.
struct BufferSelector {
  enum class Side { any, read, write };
  std::variant<std::int64_t, std::string, Ptr<Buffer>> value;
  Side side = Side::any;  ///< Which list a number counts in; `any`: what the primitive means.

  BufferSelector() = default;
  BufferSelector(std::int64_t index, Side side = Side::any) : value(index), side(side) {}
  BufferSelector(int index, Side side = Side::any) : value(std::int64_t{index}), side(side) {}
  BufferSelector(std::string name) : value(std::move(name)) {}
  BufferSelector(const char* name) : value(std::string(name)) {}
  BufferSelector(Ptr<Buffer> buffer) : value(std::move(buffer)) {}
};

/// A value for an annotation: given, or a hole.
struct Annotation {
  Ref value;
  std::optional<ExprRV> hole;  ///< Which number `value` is, where it is one that was chosen.

  Annotation() = default;
  Annotation(Ref node) : value(std::move(node)) {}
  Annotation(int number);
  Annotation(bool flag);
  Annotation(double number);
  Annotation(const char* text);
  Annotation(std::string text);
};

Argument to_argument(const Factor& value);
Argument to_argument(const BlockOrLoop& value);
Argument to_argument(const BufferSelector& value);
inline Argument to_argument(const ComputeLocation& value) {
  return Argument(value.loop);
}
inline Argument to_argument(const Annotation& value) {
  return value.hole ? Argument(*value.hole) : Argument(value.value);
}
inline Argument to_argument(const Ptr<IndexMap>& value) {
  return Argument(Ref(value));
}
template <class T>
  requires std::is_constructible_v<Argument, const T&>
Argument to_argument(const T& value) {
  return Argument(value);
}
template <class T>
Argument to_argument(const std::vector<T>& values);
template <class T>
Argument to_argument(const std::optional<T>& value) {
  return value ? to_argument(*value) : Argument();
}
template <class T>
Argument to_argument(const std::vector<T>& values) {
  Argument::List list;
  list.reserve(values.size());
  for (const T& value : values) list.push_back(to_argument(value));
  return Argument(std::move(list));
}

/// Calls `visit` for each handle in a parameter's value, which it may change where the value may
/// be.
template <class Value, class Visit>
void for_each_handle(Value& value, Visit&& visit) {
  using T = std::remove_const_t<Value>;
  if constexpr (std::is_same_v<T, LoopRV> || std::is_same_v<T, BlockRV> ||
                std::is_same_v<T, ExprRV>) {
    visit(value);
  } else if constexpr (std::is_same_v<T, ComputeLocation>) {
    if (!value.is_mark()) visit(value.loop);
  } else if constexpr (std::is_same_v<T, Factor>) {
    if (auto* hole = std::get_if<ExprRV>(&value.value)) visit(*hole);
  } else if constexpr (std::is_same_v<T, Annotation>) {
    if (value.hole) visit(*value.hole);
  } else if constexpr (std::is_same_v<T, BlockOrLoop>) {
    std::visit(visit, value);
  } else if constexpr (requires { value.begin(), value.end(); } &&
                       !std::is_same_v<T, std::string>) {
    for (auto& item : value) for_each_handle(item, visit);
  } else if constexpr (requires { value.has_value(), *value; }) {
    if (value) for_each_handle(*value, visit);
  }
}

/// How Python writes the type of a parameter.
template <class T>
std::string python_type() {
  if constexpr (std::is_same_v<T, bool>)
    return "bool";
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return "int";
  else if constexpr (std::is_same_v<T, double>)
    return "float";
  else if constexpr (std::is_same_v<T, std::string>)
    return "str";
  else if constexpr (std::is_same_v<T, LoopRV> || std::is_same_v<T, ComputeLocation>)
    return "LoopRV | str";
  else if constexpr (std::is_same_v<T, BlockRV>)
    return "BlockRV | str";
  else if constexpr (std::is_same_v<T, ExprRV>)
    return "ExprRV";
  else if constexpr (std::is_same_v<T, Factor>)
    return "ExprRV | int | None";
  else if constexpr (std::is_same_v<T, BlockOrLoop>)
    return "BlockRV | LoopRV | str";
  else if constexpr (std::is_same_v<T, BufferSelector>)
    return "int | str | Buffer | tuple[str, int]";
  else if constexpr (std::is_same_v<T, Annotation>)
    return "typing.Any";
  else if constexpr (std::is_same_v<T, Ptr<IndexMap>>)
    return "IndexMap | typing.Callable[..., typing.Any]";
  else if constexpr (requires(T value) { value.has_value(); })
    return python_type<typename T::value_type>() + " | None";
  else
    return "typing.Sequence[" + python_type<typename T::value_type>() + "]";
}

}  // namespace loopsmith
