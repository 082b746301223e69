// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loopsmith/ir/data_type.h"
#include "loopsmith/ir/op.h"
#include "loopsmith/ir/ref.h"
#include "loopsmith/ir/reflect.h"
#include "loopsmith/support/user_error.h"

namespace loopsmith {

template <class... T>
struct NodeList {};

/// Every node of the IR.
using Nodes = NodeList<
    // Expressions (expr.h).
    struct IntImm, struct FloatImm, struct StringImm, struct Var, struct Cast, struct Add,
    struct Sub, struct Mul, struct Div, struct Mod, struct FloorDiv, struct FloorMod, struct Min,
    struct Max, struct EQ, struct NE, struct LT, struct LE, struct GT, struct GE, struct And,
    struct Or, struct Not, struct Select, struct Ramp, struct Broadcast, struct Shuffle, struct Let,
    struct Call, struct GlobalVar, struct BufferLoad, struct ProducerLoad, struct Reduce,
    // Parts of expressions and statements (expr.h, buffer.h).
    struct Range, struct IterVar, struct CommReducer, struct Buffer, struct BufferRegion,
    struct MatchBufferRegion, struct IndexMap, struct PointerType, struct List, struct Dict,
    // Statements (stmt.h).
    struct LetStmt, struct AttrStmt, struct AssertStmt, struct BufferStore, struct Allocate,
    struct AllocateConst, struct DeclBuffer, struct SeqStmt, struct Evaluate, struct IfThenElse,
    struct For, struct While, struct Break, struct Continue, struct Return, struct Prefetch,
    struct Block, struct BlockRealize,
    // Functions (function.h).
    struct PrimFunc, struct IRModule, struct TensorIntrin,
    // Tensor expressions (tensor.h).
    struct Tensor, struct PlaceholderOp, struct ComputeOp, struct ScanOp, struct ExternOp>;

namespace detail {
template <class T, class... All>
constexpr std::uint16_t index_of(NodeList<All...>) {
  std::uint16_t index = 0;
  (void)((std::is_same_v<T, All> || (++index, false)) || ...);
  return index;
}
template <class... All>
constexpr std::size_t count_of(NodeList<All...>) {
  return sizeof...(All);
}
}  // namespace detail

/// The name of a type, cut from the compiler's own text: `For` of loopsmith::For.
template <class T>
constexpr std::string_view type_name() {
  // "... [with T = loopsmith::For; ...]" or "[T = loopsmith::For]"
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of(";]"));
  return text.substr(text.rfind(':') + 1);
}

template <class T>
inline constexpr std::uint16_t kind_of = detail::index_of<T>(Nodes{});
inline constexpr std::size_t node_count = detail::count_of(Nodes{});

template <class T>
const T* Ref::as() const {
  return node_ && node_->kind == kind_of<T> ? static_cast<const T*>(node_) : nullptr;
}

/// Expressions come first among the kinds, and statements stand together.
inline bool is_expr(const Object& node) {
  return node.kind <= kind_of<Reduce>;
}
inline bool is_stmt(const Object& node) {
  return node.kind >= kind_of<LetStmt> && node.kind <= kind_of<struct BlockRealize>;
}

/// What each expression has beside its fields: the type of its value.
struct ExprBase : Object {
  using Object::Object;
  DataType dtype;
};
struct StmtBase : Object {
  using Object::Object;
};

template <class T, class Base>
struct Node : Base {
  Node() : Base(kind_of<T>) {}
};
template <class T>
using ExprNode = Node<T, ExprBase>;
template <class T>
using StmtNode = Node<T, StmtBase>;
template <class T>
using PartNode = Node<T, Object>;

template <class T>
concept IsExprNode = std::is_base_of_v<ExprBase, T>;
template <class T>
concept IsStmtNode = std::is_base_of_v<StmtBase, T>;

/// A reference to an expression, or null. A literal becomes an int32 or bool constant.
class Expr : public Ref {
 public:
  Expr() = default;
  Expr(std::nullptr_t) {}
  Expr(int value);
  Expr(bool value);
  /// No implicit doubles, longs, or characters: write `float_imm`, `int_imm`.
  template <class T>
    requires(std::is_arithmetic_v<T>)
  Expr(T) = delete;
  template <IsExprNode T>
  Expr(const Ptr<T>& node) : Ref(node) {}
  template <IsExprNode T>
  Expr(Ptr<T>&& node) : Ref(std::move(node)) {}
  explicit Expr(const ExprBase* node) : Ref(node) {}
  /// The reference as an expression; null when it is not one.
  static Expr from(const Ref& ref) {
    const bool is_one = ref.defined() && is_expr(*ref.get());
    return is_one ? Expr(static_cast<const ExprBase*>(ref.get())) : Expr();
  }

  const ExprBase* get() const { return static_cast<const ExprBase*>(Ref::get()); }
  DataType dtype() const { return get()->dtype; }
};

/// A reference to a statement, or null.
class Stmt : public Ref {
 public:
  Stmt() = default;
  Stmt(std::nullptr_t) {}
  template <IsStmtNode T>
  Stmt(const Ptr<T>& node) : Ref(node) {}
  template <IsStmtNode T>
  Stmt(Ptr<T>&& node) : Ref(std::move(node)) {}
  explicit Stmt(const StmtBase* node) : Ref(node) {}
  /// The reference as a statement; null when it is not one.
  static Stmt from(const Ref& ref) {
    const bool is_one = ref.defined() && is_stmt(*ref.get());
    return is_one ? Stmt(static_cast<const StmtBase*>(ref.get())) : Stmt();
  }

  explicit operator bool() const { return defined(); }
};

/// Annotations by name, sorted: values are IntImm, FloatImm, StringImm, other nodes, List or Dict.
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string, Ref>> items);

  /// The value of `key`, null if absent.
  Ref get(std::string_view key) const;
  bool contains(std::string_view key) const { return get(key).defined(); }
  /// The integer under `key`, or `default_value` when it is absent or no integer.
  std::int64_t get_int(std::string_view key, std::int64_t default_value) const;
  /// The text under `key`, or `default_value` when it is absent or no text.
  std::string get_string(std::string_view key, std::string_view default_value = {}) const;
  /// A copy with `key` set; with a null `value`, without `key`.
  Attrs with(std::string_view key, Ref value) const;

  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  std::pair<std::string, Ref>& item(std::size_t i) { return items_[i]; }

 private:
  std::vector<std::pair<std::string, Ref>> items_;
};

/// How a field is stored; see `FieldInfo`.
enum class FieldType : std::uint8_t {
  ref,          ///< Any reference.
  refs,         ///< A vector of references.
  attrs,        ///< Attrs.
  integer,      ///< std::int64_t
  integers,     ///< std::vector<std::int64_t>
  real,         ///< double
  boolean,      ///< bool
  text,         ///< std::string
  enumeration,  ///< An enum of 32 bits; its values by name in `names`.
  data_type,    ///< DataType
  op,           ///< Op
};

/// One field of a node type, at run time.
struct FieldInfo {
  std::string_view name;
  FieldType type;
  Role role;
  std::size_t offset;
  std::span<const std::string_view> names = {};  ///< Of an enumeration's values, from 0.
  std::string_view target = {};  ///< What a reference, or each of a list, is: `Var`, `Expr`, `Ref`.

  /// What `value` is in this field: a thread is a definition if it is an IterVar.
  Role role_of(const Ref& value) const {
    if (role != Role::thread) return role;
    const bool is_axis = value.defined() && value.get()->kind == kind_of<IterVar>;
    return is_axis ? Role::binds : Role::plain;
  }
  const Ref& ref(const Object& node) const { return at<Ref>(node); }
  Ref& ref(Object& node) const { return at<Ref>(node); }
  /// The elements of a `refs` field.
  std::span<const Ref> refs(const Object& node) const;
  std::span<Ref> refs(Object& node) const;
  template <class T>
  const T& at(const Object& node) const {
    return *reinterpret_cast<const T*>(reinterpret_cast<const char*>(&node) + offset);
  }
  template <class T>
  T& at(Object& node) const {
    return *reinterpret_cast<T*>(reinterpret_cast<char*>(&node) + offset);
  }
};

/// A node type at run time: what the derived walks read.
struct NodeInfo {
  std::string_view name;
  std::vector<FieldInfo> fields;
  std::vector<FieldInfo> children;  ///< Those of the fields that hold references.
  Object* (*clone)(const Object&);  ///< A copy without an owner yet.
  Object* (*create)();              ///< An empty node without an owner yet.
  void (*canonicalize)(Object&);    ///< What `make` does before it hands a node out.
  void (*remove)(const Object*);
};

/// The node type of each kind, and by name (nullptr when there is none).
const NodeInfo& node_info(std::uint16_t kind);
inline const NodeInfo& node_info(const Object& node) {
  return node_info(node.kind);
}
const NodeInfo* find_node_info(std::string_view name);

namespace detail {
[[noreturn]] void refuse_missing_field(const Object& node, std::string_view field);

/// Stops at a null field that may not be null.
template <class T>
void require_fields(const T& node) {
  T::fields([&]<class C, class F>(const char* name, F C::* member, Role role = Role::plain) {
    if constexpr (std::is_base_of_v<Ref, F>) {
      const bool optional = role == Role::optional || role == Role::thread;
      if (!optional && !(node.*member).defined()) refuse_missing_field(node, name);
    } else if constexpr (requires { (node.*member).begin()->defined(); }) {
      if (is_definition(role)) return;
      for (const Ref& element : node.*member) {
        if (!element.defined()) refuse_missing_field(node, name);
      }
    }
  });
}

/// Checks the node and derives its type, where its header declares `canonicalize(T&)`.
template <class T>
void canonicalize_node(T& node) {
  if constexpr (requires { canonicalize(node); }) canonicalize(node);
}
}  // namespace detail

/// A node to hold and share: `make(For{.loop_var = i, .min = 0, .extent = n, .body = body})`.
/// Throws a UserError when a field is null that may not be, or what the node's rules forbid.
template <class T>
Ptr<T> make(T node) {
  detail::require_fields(node);
  detail::canonicalize_node(node);
  return Ptr<T>(new T(std::move(node)));
}

/// The same for nodes whose type is not that of a field: `make(Cast{.value = x}, f32)`.
template <IsExprNode T>
Ptr<T> make(T node, DataType dtype) {
  node.dtype = dtype;
  return make(std::move(node));
}

/// Names of an enumeration's values, from 0, as scripts and JSON write them.
template <class Enum>
struct EnumNames;

}  // namespace loopsmith
