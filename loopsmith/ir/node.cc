// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/node.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "loopsmith/ir/function.h"
#include "loopsmith/ir/stmt.h"
#include "loopsmith/ir/tensor.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

template <class... T>
constexpr bool complete(NodeList<T...>) {
  return (lists_every_member<T> && ...);
}
static_assert(complete(Nodes{}), "a node's fields() misses a member");

template <class... T>
constexpr bool in_order(NodeList<T...>) {
  constexpr auto last = kind_of<Reduce>, first = kind_of<LetStmt>, end = kind_of<BlockRealize>;
  return ((IsExprNode<T> == (kind_of<T> <= last)) && ...) &&
         ((IsStmtNode<T> == (kind_of<T> >= first && kind_of<T> <= end)) && ...);
}
static_assert(in_order(Nodes{}), "is_expr and is_stmt go by the order of the kinds");

template <class T>
concept IsRef = std::derived_from<T, Ref>;
template <class T>
concept IsRefs = requires { typename T::value_type; } && IsRef<typename T::value_type>;

template <class Field>
constexpr FieldType field_type() {
  if constexpr (IsRef<Field>)
    return FieldType::ref;
  else if constexpr (IsRefs<Field>)
    return FieldType::refs;
  else if constexpr (std::is_same_v<Field, Attrs>)
    return FieldType::attrs;
  else if constexpr (std::is_same_v<Field, std::int64_t>)
    return FieldType::integer;
  else if constexpr (std::is_same_v<Field, std::vector<std::int64_t>>)
    return FieldType::integers;
  else if constexpr (std::is_same_v<Field, double>)
    return FieldType::real;
  else if constexpr (std::is_same_v<Field, bool>)
    return FieldType::boolean;
  else if constexpr (std::is_same_v<Field, std::string>)
    return FieldType::text;
  else if constexpr (std::is_same_v<Field, DataType>)
    return FieldType::data_type;
  else if constexpr (std::is_same_v<Field, Op>)
    return FieldType::op;
  else {
    static_assert(std::is_enum_v<Field> && sizeof(Field) == 4, "no such type of field");
    return FieldType::enumeration;
  }
}

/// `Var` of Ptr<Var>, `Expr` of Expr.
template <class Reference>
constexpr std::string_view target_name() {
  if constexpr (requires { typename Reference::Target; }) {
    return type_name<typename Reference::Target>();
  } else {
    return type_name<Reference>();
  }
}

template <class T>
std::vector<FieldInfo> fields_of() {
  const T node{};
  std::vector<FieldInfo> fields;
  T::fields([&]<class C, class F>(const char* name, F C::* member, Role role = Role::plain) {
    const auto* base = reinterpret_cast<const char*>(&static_cast<const Object&>(node));
    const auto* field = reinterpret_cast<const char*>(&(node.*member));
    FieldInfo info{name, field_type<F>(), role, static_cast<std::size_t>(field - base)};
    if constexpr (std::is_enum_v<F>) info.names = EnumNames<F>::names;
    if constexpr (IsRef<F>) info.target = target_name<F>();
    if constexpr (IsRefs<F>) info.target = target_name<typename F::value_type>();
    fields.push_back(info);
  });
  return fields;
}

std::vector<FieldInfo> with_references(std::vector<FieldInfo> fields) {
  std::erase_if(fields, [](const FieldInfo& field) {
    return field.type != FieldType::ref && field.type != FieldType::refs &&
           field.type != FieldType::attrs;
  });
  return fields;
}

template <class T>
NodeInfo info_of() {
  return {.name = type_name<T>(),
          .fields = fields_of<T>(),
          .children = with_references(fields_of<T>()),
          .clone = [](const Object& node) -> Object* { return new T(static_cast<const T&>(node)); },
          .create = []() -> Object* { return new T(); },
          .canonicalize =
              [](Object& node) {
                detail::require_fields(static_cast<const T&>(node));
                detail::canonicalize_node(static_cast<T&>(node));
              },
          .remove = [](const Object* node) { delete static_cast<const T*>(node); }};
}

using Table = std::array<NodeInfo, node_count>;

template <class... T>
Table make_table(NodeList<T...>) {
  return {info_of<T>()...};
}

const Table& table() {
  static const Table* infos = new Table(make_table(Nodes{}));
  return *infos;
}

}  // namespace

std::span<const Ref> FieldInfo::refs(const Object& node) const {
  // Every vector of references has this layout: Ptr, Expr and Stmt add no member to Ref.
  return at<std::vector<Ref>>(node);
}

std::span<Ref> FieldInfo::refs(Object& node) const {
  return at<std::vector<Ref>>(node);
}

const NodeInfo& node_info(std::uint16_t kind) {
  return table()[kind];
}

const NodeInfo* find_node_info(std::string_view name) {
  const auto found = std::ranges::find(table(), name, &NodeInfo::name);
  return found == table().end() ? nullptr : &*found;
}

void destroy(const Object* object) noexcept {
  // What a node held is deleted by the loop below, not by a recursion. Dead nodes wait in a list
  // whose links lie where their spans were, so that nothing is allocated.
  static thread_local const Object* waiting = nullptr;
  static thread_local bool running = false;
  const auto link = [](const Object* node) {
    return const_cast<void*>(static_cast<const void*>(&node->span));
  };
  constexpr std::size_t link_size = sizeof(void*);
  std::memcpy(link(object), static_cast<const void*>(&waiting), link_size);
  waiting = object;
  if (running) return;
  running = true;
  while (waiting) {
    const Object* next = waiting;
    std::memcpy(static_cast<void*>(&waiting), link(next), link_size);
    node_info(*next).remove(next);
  }
  running = false;
}

Attrs::Attrs(std::initializer_list<std::pair<std::string, Ref>> items) {
  for (const auto& [key, value] : items) *this = with(key, value);
}

Ref Attrs::get(std::string_view key) const {
  const auto found = std::ranges::lower_bound(
      items_, key, {}, [](const auto& i) -> std::string_view { return i.first; });
  return found != items_.end() && found->first == key ? found->second : Ref();
}

std::int64_t Attrs::get_int(std::string_view key, std::int64_t default_value) const {
  const Ref value = get(key);
  const auto* number = value.as<IntImm>();
  return number ? number->value : default_value;
}

std::string Attrs::get_string(std::string_view key, std::string_view default_value) const {
  const Ref value = get(key);
  const auto* text = value.as<StringImm>();
  return text ? text->value : std::string(default_value);
}

Attrs Attrs::with(std::string_view key, Ref value) const {
  Attrs copy = *this;
  const auto place = std::ranges::lower_bound(
      copy.items_, key, {}, [](const auto& i) -> std::string_view { return i.first; });
  const bool present = place != copy.items_.end() && place->first == key;
  if (!value.defined()) {
    if (present) copy.items_.erase(place);
  } else if (present) {
    place->second = std::move(value);
  } else {
    copy.items_.emplace(place, std::string(key), std::move(value));
  }
  return copy;
}

namespace detail {

void refuse_missing_field(const Object& node, std::string_view field) {
  fail(ErrorKind::type_mismatch, "field_is_missing", hint("give the field a value"), node.span,
       "{}: the field '{}' is missing", node_info(node).name, field);
}

}  // namespace detail
}  // namespace loopsmith
