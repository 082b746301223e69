// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/walk.h"

#include <optional>

#include "loopsmith/ir/node_set.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

/// Leaves are never remembered: they are cheaper to visit, or to do, again.
bool is_leaf(const Object& node) {
  return node.kind == kind_of<IntImm> || node.kind == kind_of<Var> ||
         node.kind == kind_of<FloatImm> || node.kind == kind_of<StringImm>;
}

/// What is inside a leaf is the type of a pointer alone.
bool is_empty(const Object& node) {
  return is_leaf(node) &&
         (node.kind != kind_of<Var> || !static_cast<const Var&>(node).pointer.defined());
}

/// True for what a walk may meet again, and then knows.
bool is_shared(const Object& node) {
  return !is_leaf(node) && node.count.load(std::memory_order_relaxed) > 1;
}

template <class Fn>
void each_child(const Object& node, Fn&& fn) {
  for (const FieldInfo& field : node_info(node).children) {
    if (field.type == FieldType::ref) {
      if (const Ref& ref = field.ref(node); ref.defined()) fn(ref, field.role_of(ref));
    } else if (field.type == FieldType::refs) {
      for (const Ref& ref : field.refs(node)) {
        if (ref.defined()) fn(ref, field.role_of(ref));
      }
    } else {
      for (const auto& [key, ref] : field.at<Attrs>(node)) fn(ref, Role::plain);
    }
  }
}

/// Most rewriters have no more.
constexpr std::size_t few_rules = 8;

/// A buffer is entered where it is defined, and nowhere else.
bool is_used_buffer(const Ref& ref, Role role) {
  return ref.is<Buffer>() && !is_definition(role);
}

/// A walk that visits parents first.
class PreOrderWalk {
 public:
  explicit PreOrderWalk(const std::function<bool(const Ref&)>& enter) : enter_(enter) {}

  void visit(const Ref& ref, Role role) {
    const Object& node = *ref.get();
    // A buffer that was seen where it is used is still to be entered where it is defined.
    if (is_empty(node) || is_used_buffer(ref, role)) {
      enter_(ref);
    } else if ((!is_shared(node) || seen_.add(&node)) && enter_(ref)) {
      if (static_cast<const char*>(__builtin_frame_address(0)) < stack_limit_) [[unlikely]] {
        visit_far_inside(node);
      } else {
        visit_inside(node);
      }
    }
  }

 private:
  void visit_inside(const Object& node) {
    each_child(node, [&](const Ref& child, Role role) { visit(child, role); });
  }
  static const char* stack_limit() {
    if (!detail::stack_limit) detail::find_stack_limit();
    return detail::stack_limit;
  }
  /// On a new segment of stack.
  void visit_far_inside(const Object& node) {
    const char* outer_limit = stack_limit_;
    deep_call([&] {
      stack_limit_ = detail::stack_limit;
      visit_inside(node);
    });
    stack_limit_ = outer_limit;
  }

  const std::function<bool(const Ref&)>& enter_;
  NodeSet seen_;
  const char* stack_limit_ = stack_limit();  ///< A copy: variables of a thread take time to find.
};

void visit_after(const Ref& ref, Role role, NodeSet& seen,
                 const std::function<void(const Ref&)>& visit) {
  const bool is_entered = !is_used_buffer(ref, role) && !is_empty(*ref.get());
  if (is_entered) {
    if (is_shared(*ref.get()) && !seen.add(ref.get())) return;
    deep_call([&] {
      each_child(*ref.get(), [&](const Ref& child, Role r) { visit_after(child, r, seen, visit); });
    });
  }
  visit(ref);
}

}  // namespace

void for_each_child(const Object& node, const std::function<void(const Ref&, Role)>& visit) {
  each_child(node, visit);
}

void pre_order_visit(const Ref& root, const std::function<bool(const Ref&)>& enter) {
  if (root.defined()) PreOrderWalk(enter).visit(root, Role::binds);
}

void post_order_visit(const Ref& root, const std::function<void(const Ref&)>& visit) {
  NodeSet seen;
  if (root.defined()) visit_after(root, Role::binds, seen, visit);
}

void stamp(const Ref& ref, const Span& span) {
  if (!ref.defined() || span == Span{}) return;
  const Object& node = *ref.get();
  if (node.count.load(std::memory_order_relaxed) > 1 || node.span != Span{}) return;
  const_cast<Object&>(node).span = span;
  deep_call([&] { each_child(node, [&](const Ref& child, Role) { stamp(child, span); }); });
}

void Rewriter::set_rule(std::uint16_t kind, Rule rule) {
  std::uint8_t& number = numbers_[kind];
  if (number == 0) {
    if (rules_.empty()) rules_.reserve(few_rules);
    rules_.emplace_back();
    number = static_cast<std::uint8_t>(rules_.size());
  }
  rules_[number - 1] = std::move(rule);
  enters_expressions_ |= kind < kind_of<LetStmt> || kind > kind_of<BlockRealize>;
}

Ptr<Buffer> Rewriter::buffer(const Ptr<Buffer>& buffer) const {
  const Ref* found = replaced_.find(buffer);
  return found ? Ptr<Buffer>::from(*found) : buffer;
}

void Rewriter::replace_buffer(const Ptr<Buffer>& from, const Ptr<Buffer>& to) {
  replaced_.set(from, to);
}

void Rewriter::replace_variable(const Ptr<Var>& from, const Expr& to) {
  replaced_.set(from, to);
}

bool Rewriter::renew_use(const Ref& buffer, Ref& fresh) {
  if (const Ref* found = replaced_.find(buffer)) {
    fresh = *found;
  } else if (const Rule* rule = rule_of(kind_of<Buffer>)) {
    fresh = (*rule)(*buffer.get());
  } else {
    return false;
  }
  return !fresh.same_as(buffer);
}

Ref Rewriter::run(const Ref& ref) {
  Ref fresh;
  if (!renew(ref, fresh)) return ref;
  return fresh;
}

bool Rewriter::renew(const Ref& ref, Ref& fresh) {
  if (!ref.defined()) return false;
  const Object& node = *ref.get();
  if (node.kind == kind_of<Buffer>) return renew_use(ref, fresh);
  if (is_expr(node) && !enters_expressions_ && replaced_.empty()) return false;
  const bool is_literal = is_leaf(node) && node.kind != kind_of<Var>;
  if (outermost_ && !is_inside_ && is_expr(node) && !is_literal) {
    fresh = outermost_(static_cast<const Expr&>(ref));
    if (fresh.same_as(ref)) return false;
    stamp(fresh, node.span);
    return true;
  }
  const Rule* rule = rule_of(node.kind);
  // How a tensor is computed is no part of the expression that reads it.
  if (!rule && node.kind == kind_of<Tensor>) return false;
  if (!rule && is_leaf(node)) {
    const Ref* found = node.kind == kind_of<Var> ? replaced_.find(ref) : nullptr;
    if (found) fresh = *found;
    return found && !found->same_as(ref);
  }
  const bool is_known_later = is_shared(node) && (remembers_statements_ || is_expr(node));
  if (is_known_later) {
    if (const Ref* found = done_.find(ref)) {
      fresh = *found;
      return !fresh.same_as(ref);
    }
  }
  const bool is_new = deep_call([&] {
    if (!rule) return rebuild(node, fresh);
    fresh = (*rule)(node);
    return !fresh.same_as(ref);
  });
  if (is_new) stamp(fresh, node.span);
  if (is_known_later) done_.set(ref, is_new ? fresh : ref);
  return is_new;
}

Expr Rewriter::inside(const Expr& expr) {
  const bool was_inside = std::exchange(is_inside_, true);
  Expr fresh = (*this)(expr);
  is_inside_ = was_inside;
  return fresh;
}

/// Rewrites what a definition is made of, and remembers what it becomes for its uses.
bool Rewriter::define(const Ref& definition, Role role, Ref& fresh) {
  if (definition.is<Var>()) {
    if (!define_) return false;
    fresh = define_(definition);
    if (fresh.same_as(definition)) return false;
    replaced_.set(definition, fresh);
    return true;
  }
  if (definition.is<Buffer>()) return define_buffer(*definition.as<Buffer>(), role, fresh);
  return rebuild(*definition.get(), fresh);  // an IterVar, a MatchBufferRegion: what is inside
}

/// A variable that a buffer defines, unless something before it did.
bool Rewriter::define_unless_known(const Ref& variable, Ref& fresh) {
  const Ref* known = replaced_.find(variable);
  if (!known) return define(variable, Role::binds, fresh);
  fresh = *known;
  return !fresh.same_as(variable);
}

bool Rewriter::define_buffer(const Buffer& old, Role role, Ref& fresh) {
  const bool was_inside = std::exchange(is_inside_, true);
  std::optional<Buffer> copy;
  const auto changed = [&]() -> Buffer& { return copy ? *copy : copy.emplace(old); };
  // The pointer of a view is defined elsewhere, and that definition decides.
  Ref part;
  const bool has_new_data =
      role == Role::views ? renew(old.data, part) : define_unless_known(old.data, part);
  if (has_new_data) changed().data = Ptr<Var>::from(part);
  const auto renew_part = [&](const Expr& expr, auto&& place) {
    if (role == Role::matches && expr.is<Var>()) define_unless_known(expr, part);
    if (renew(expr, part)) place(changed()) = Expr::from(part);
  };
  for (std::size_t d = 0; d < old.shape.size(); ++d) {
    renew_part(old.shape[d], [d](Buffer& buffer) -> Expr& { return buffer.shape[d]; });
  }
  for (std::size_t d = 0; d < old.strides.size(); ++d) {
    renew_part(old.strides[d], [d](Buffer& buffer) -> Expr& { return buffer.strides[d]; });
  }
  renew_part(old.elem_offset, [](Buffer& buffer) -> Expr& { return buffer.elem_offset; });
  is_inside_ = was_inside;
  fresh = copy ? Ref(make(*std::move(copy))) : Ref(&old);
  if (define_) fresh = define_(fresh);
  if (fresh.get() == &old) return false;
  replaced_.set(Ref(&old), fresh);
  return true;
}

Ref Rewriter::children_of(const Object& node) {
  Ref fresh;
  return rebuild(node, fresh) ? fresh : Ref(&node);
}

bool Rewriter::rebuild(const Object& node, Ref& fresh) {
  const NodeInfo& info = node_info(node);
  Object* copy = nullptr;
  Ref holder;
  const auto changed = [&]() -> Object& {
    if (!copy) {
      copy = info.clone(node);
      holder = Ref(copy);
    }
    return *copy;
  };
  const auto renew_child = [&](const FieldInfo& field, const Ref& old, Ref& child) {
    if (!old.defined()) return false;
    const Role role = field.role_of(old);
    return is_definition(role) ? define(old, role, child) : renew(old, child);
  };
  Ref child;
  for (const FieldInfo& field : info.children) {
    if (field.type == FieldType::ref) {
      if (renew_child(field, field.ref(node), child)) field.ref(changed()) = std::move(child);
    } else if (field.type == FieldType::refs) {
      const std::span<const Ref> old = field.refs(node);
      for (std::size_t i = 0; i < old.size(); ++i) {
        if (renew_child(field, old[i], child)) std::swap(field.refs(changed())[i], child);
      }
    } else {
      std::size_t i = 0;
      for (const auto& [key, old] : field.at<Attrs>(node)) {
        if (renew(old, child)) std::swap(field.at<Attrs>(changed()).item(i).second, child);
        ++i;
      }
    }
  }
  if (!copy) return false;
  info.canonicalize(*copy);
  fresh = std::move(holder);
  return true;
}

namespace {

/// The value as what uses of the variable expect: an axis may be bound to a loop of another width.
Expr as_type_of(const Var& variable, const Expr& value) {
  const DataType type = value.dtype();
  const bool is_of_width = type == variable.dtype || !type.is_scalar() || !type.is_integer() ||
                           !variable.dtype.is_scalar() || !variable.dtype.is_integer();
  return is_of_width ? value : cast(variable.dtype, value);
}

/// Substitutions name variables by their nodes, as uses do.
void replace_all(Rewriter& rewrite, const Substitution& values) {
  for (const auto& [variable, value] : values) {
    rewrite.replace_variable(Ptr<Var>::from(variable), as_type_of(*variable.as<Var>(), value));
  }
}

template <class T>
T substitute_in(const T& root, const Substitution& values) {
  if (values.empty()) return root;
  Rewriter rewrite;
  replace_all(rewrite, values);
  return rewrite(root);
}

/// A new object for a definition.
Ref renewed(const Ref& definition) {
  if (const auto* variable = definition.as<Var>()) return make(Var(*variable));
  return make(Buffer(*definition.as<Buffer>()));
}

template <class T>
T clone_of(const T& body, const Substitution& values) {
  // A matched buffer may name variables that are defined around the body: those stay.
  std::unordered_set<Ref, RefHash, RefEqual> outer;
  for (const Ptr<Var>& variable : free_variables(body)) outer.insert(variable);
  Rewriter rewrite;
  rewrite.on_definition([&](const Ref& definition) {
    return outer.contains(definition) ? definition : renewed(definition);
  });
  replace_all(rewrite, values);
  return rewrite(body);
}

}  // namespace

Expr substitute(const Expr& root, const Substitution& values) {
  return substitute_in(root, values);
}
Stmt substitute(const Stmt& root, const Substitution& values) {
  return substitute_in(root, values);
}

Expr clone_with(const Expr& body, Substitution values) {
  return clone_of(body, values);
}
Stmt clone_with(const Stmt& body, Substitution values) {
  return clone_of(body, values);
}

namespace {

/// Variables in the order in which they are first used, less those defined around the use.
struct FreeVariables {
  std::vector<Ptr<Var>> found;
  std::vector<Ptr<Buffer>> buffers;
  Role buffer_role = Role::plain;  ///< Of the buffer whose definition is being walked.
  NodeSet defined;
  NodeSet used;
  NodeSet seen;

  void define(const Ref& ref, Role role) {
    if (ref.is<Var>() && buffer_role == Role::views) return use(ref);
    if (ref.is<Var>()) {
      defined.add(ref.get());
      return;
    }
    const Role outer = std::exchange(buffer_role, role);
    visit_inside(ref);
    buffer_role = outer;
  }
  void use(const Ref& ref) {
    if (ref.is<Var>()) {
      if (buffer_role == Role::matches && !used.contains(ref.get())) defined.add(ref.get());
      if (!defined.contains(ref.get()) && used.add(ref.get())) {
        found.push_back(Ptr<Var>::from(ref));
      }
      return;
    }
    if (const auto* buffer = ref.as<Buffer>()) {
      // A buffer of which only uses are seen: its pointer is what is free.
      if (!seen.add(ref.get())) return;
      buffers.push_back(Ptr<Buffer>(buffer));
      return use(buffer->data);
    }
    if (!is_leaf(*ref.get()) && seen.add(ref.get())) visit_inside(ref);
  }
  void visit_inside(const Ref& ref) {
    if (ref.is<Buffer>()) seen.add(ref.get());
    deep_call([&] {
      each_child(*ref.get(), [&](const Ref& child, Role role) {
        is_definition(role) ? define(child, role) : use(child);
      });
    });
  }
};

}  // namespace

std::vector<Ptr<Var>> free_variables(const Ref& root) {
  FreeVariables variables;
  if (root.defined()) variables.use(root);
  return std::move(variables.found);
}

std::vector<Ptr<Buffer>> free_buffers(const Ref& root) {
  FreeVariables variables;
  if (root.defined()) variables.use(root);
  return std::move(variables.buffers);
}

Ptr<PrimFunc> clone(const Ptr<PrimFunc>& func) {
  return clone_of(func, {});
}

namespace {

/// Looks for a variable in an expression without keeping what was seen; nullopt after too many
/// nodes, as shared ones may come again and again.
std::optional<bool> is_used_in_few(const Ref& ref, Role role, const Object* variable, int& left) {
  if (ref.get() == variable) return true;
  if (is_used_buffer(ref, role) || is_empty(*ref.get())) return false;
  if (--left < 0) return {};
  std::optional<bool> found = false;
  each_child(*ref.get(), [&](const Ref& child, Role r) {
    if (found && !*found) found = is_used_in_few(child, r, variable, left);
  });
  return found;
}

}  // namespace

bool uses_variable(const Ref& root, const Ptr<Var>& variable) {
  if (!root.defined()) return false;
  int left = 64;
  if (const auto few = is_used_in_few(root, Role::binds, variable.get(), left)) return *few;
  bool found = false;
  pre_order_visit(root, [&](const Ref& ref) {
    found = found || ref.same_as(variable);
    return !found;
  });
  return found;
}

}  // namespace loopsmith
