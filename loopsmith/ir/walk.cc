// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/walk.h"

#include "loopsmith/ir/node_set.h"

namespace loopsmith {
namespace {

/// Leaves are never remembered: they are cheaper to do again.
bool is_leaf(const Object& node) {
  return node.kind == kind_of<IntImm> || node.kind == kind_of<Var> ||
         node.kind == kind_of<FloatImm> || node.kind == kind_of<StringImm>;
}

template <class Fn>
void each_child(const Object& node, Fn&& fn) {
  for (const FieldInfo& field : node_info(node).fields) {
    if (field.type == FieldType::ref) {
      if (const Ref& ref = field.ref(node); ref.defined()) fn(ref, field.role_of(ref));
    } else if (field.type == FieldType::refs) {
      for (const Ref& ref : field.refs(node)) {
        if (ref.defined()) fn(ref, field.role_of(ref));
      }
    } else if (field.type == FieldType::attrs) {
      for (const auto& [key, ref] : field.at<Attrs>(node)) fn(ref, Role::plain);
    }
  }
}

/// A buffer is entered where it is defined, and nowhere else.
bool is_used_buffer(const Ref& ref, Role role) {
  return ref.is<Buffer>() && !is_definition(role);
}

void visit_before(const Ref& ref, Role role, NodeSet& seen,
                  const std::function<bool(const Ref&)>& enter) {
  if (ref.get()->count.load(std::memory_order_relaxed) > 1) {
    // A buffer that was seen where it is used is still to be entered where it is defined.
    if (!is_used_buffer(ref, role) && !seen.add(ref.get())) return;
  }
  if (!enter(ref) || is_used_buffer(ref, role)) return;
  deep_call([&] {
    each_child(*ref.get(), [&](const Ref& child, Role r) { visit_before(child, r, seen, enter); });
  });
}

void visit_after(const Ref& ref, Role role, NodeSet& seen,
                 const std::function<void(const Ref&)>& visit) {
  if (ref.get()->count.load(std::memory_order_relaxed) > 1) {
    if (!is_used_buffer(ref, role) && !seen.add(ref.get())) return;
  }
  if (!is_used_buffer(ref, role)) {
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
  NodeSet seen;
  if (root.defined()) visit_before(root, Role::binds, seen, enter);
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

void Rewriter::set_rule(std::uint16_t kind, std::function<Ref(const Object&)> rule) {
  rules_[kind] = std::move(rule);
}

Ptr<Buffer> Rewriter::buffer(const Ptr<Buffer>& buffer) const {
  const auto found = replaced_.find(buffer);
  return found == replaced_.end() ? buffer : Ptr<Buffer>::from(found->second);
}

void Rewriter::replace_buffer(const Ptr<Buffer>& from, const Ptr<Buffer>& to) {
  replaced_[from] = to;
}

Ref Rewriter::use_buffer(const Ref& ref) {
  if (const auto found = replaced_.find(ref); found != replaced_.end()) return found->second;
  const auto& rule = rules_[kind_of<Buffer>];
  return rule ? rule(*ref.get()) : ref;
}

Ref Rewriter::run(const Ref& ref) {
  if (!ref.defined()) return ref;
  const Object& node = *ref.get();
  if (node.kind == kind_of<Buffer>) return use_buffer(ref);
  const auto& rule = rules_[node.kind];
  if (node.kind == kind_of<Var> && !rule) {
    const auto found = replaced_.find(ref);
    return found == replaced_.end() ? ref : found->second;
  }
  const bool shared = !is_leaf(node) && node.count.load(std::memory_order_relaxed) > 1;
  if (shared) {
    if (const auto found = done_.find(ref); found != done_.end()) return found->second;
  }
  Ref fresh = deep_call([&] { return rule ? rule(node) : rebuild(node); });
  if (!fresh.same_as(ref)) stamp(fresh, node.span);
  if (shared) done_.emplace(ref, fresh);
  return fresh;
}

/// Rewrites what a definition is made of, and remembers what it becomes for its uses.
Ref Rewriter::define(const Ref& definition, Role role) {
  if (definition.is<Var>()) {
    if (!define_) return definition;
    Ref fresh = define_(definition);
    if (!fresh.same_as(definition)) replaced_[definition] = fresh;
    return fresh;
  }
  if (definition.is<Buffer>()) return define_buffer(Ptr<Buffer>::from(definition), role);
  return rebuild(*definition.get());  // an IterVar, a MatchBufferRegion: they define what is inside
}

/// A variable that a buffer defines, unless something before it did.
Ref Rewriter::define_unless_known(const Ref& variable) {
  const auto known = replaced_.find(variable);
  return known == replaced_.end() ? define(variable, Role::binds) : known->second;
}

Ref Rewriter::define_buffer(const Ptr<Buffer>& old, Role role) {
  Buffer copy = *old;
  // The pointer of a view is defined elsewhere, and that definition decides.
  const Ref data = role == Role::views ? run(old->data) : define_unless_known(old->data);
  copy.data = Ptr<Var>::from(data);
  bool changed = !copy.data.same_as(old->data);
  const auto renew = [&](Expr& part) {
    if (role == Role::matches && part.is<Var>()) define_unless_known(part);
    Expr fresh = (*this)(part);
    changed |= !fresh.same_as(part);
    part = std::move(fresh);
  };
  for (Expr& extent : copy.shape) renew(extent);
  for (Expr& stride : copy.strides) renew(stride);
  renew(copy.elem_offset);
  Ref fresh = changed ? make(std::move(copy)) : old;
  if (define_) fresh = define_(Ref(fresh));
  if (!fresh.same_as(old)) replaced_[old] = fresh;
  return fresh;
}

Ref Rewriter::rebuild(const Object& node) {
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
  for (const FieldInfo& field : info.fields) {
    const auto renew = [&](const Ref& old) {
      if (!old.defined()) return old;
      return is_definition(field.role_of(old)) ? define(old, field.role_of(old)) : run(old);
    };
    if (field.type == FieldType::ref) {
      const Ref& old = field.ref(node);
      Ref fresh = renew(old);
      if (!fresh.same_as(old)) field.ref(changed()) = std::move(fresh);
    } else if (field.type == FieldType::refs) {
      const std::span<const Ref> old = field.refs(node);
      for (std::size_t i = 0; i < old.size(); ++i) {
        Ref fresh = renew(old[i]);
        if (!fresh.same_as(old[i])) field.refs(changed())[i] = std::move(fresh);
      }
    } else if (field.type == FieldType::attrs) {
      std::size_t i = 0;
      for (const auto& [key, old] : field.at<Attrs>(node)) {
        Ref fresh = run(old);
        if (!fresh.same_as(old)) field.at<Attrs>(changed()).item(i).second = std::move(fresh);
        ++i;
      }
    }
  }
  if (!copy) return Ref(&node);
  info.settle(*copy);
  return holder;
}

namespace {

auto value_in(const Substitution& values) {
  return [&values](const Var& variable) -> Expr {
    const Ptr<Var> self(&variable);
    const auto value = values.find(self);
    return value == values.end() ? Expr(self) : value->second;
  };
}

template <class T>
T substitute_in(const T& root, const Substitution& values) {
  if (values.empty()) return root;
  Rewriter rewrite;
  rewrite.on<Var>(value_in(values));
  return rewrite(root);
}

/// A new object for a definition; `values` learns what a variable has become.
Ref renewed(const Ref& definition, Substitution& values) {
  if (const auto* variable = definition.as<Var>()) {
    Ptr<Var> fresh = make(Var(*variable));
    values[definition] = fresh;
    return fresh;
  }
  return make(Buffer(*definition.as<Buffer>()));
}

template <class T>
T clone_of(const T& body, Substitution values) {
  // A matched buffer may name variables that are defined around the body: those stay.
  std::unordered_set<Ref, RefHash, RefEqual> outer;
  for (const Ptr<Var>& variable : free_variables(body)) outer.insert(variable);
  Rewriter rewrite;
  rewrite.on_definition([&](const Ref& definition) {
    return outer.contains(definition) ? definition : renewed(definition, values);
  });
  rewrite.on<Var>(value_in(values));
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
  return clone_of(body, std::move(values));
}
Stmt clone_with(const Stmt& body, Substitution values) {
  return clone_of(body, std::move(values));
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

bool uses_variable(const Ref& root, const Ptr<Var>& variable) {
  bool found = false;
  pre_order_visit(root, [&](const Ref& ref) {
    found = found || ref.same_as(variable);
    return !found;
  });
  return found;
}

}  // namespace loopsmith
