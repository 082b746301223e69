// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/program_tree.h"

#include <algorithm>

#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

const Stmt* statement_in(const Object& node, std::uint32_t slot) {
  const auto only = [&](const Stmt& body) { return slot == 0 ? &body : nullptr; };
  switch (node.kind) {
    case kind_of<For>: return only(static_cast<const For&>(node).body);
    case kind_of<BlockRealize>: return only(static_cast<const BlockRealize&>(node).block->body);
    case kind_of<SeqStmt>: {
      const auto& seq = static_cast<const SeqStmt&>(node).seq;
      return slot < seq.size() ? &seq[slot] : nullptr;
    }
    case kind_of<IfThenElse>: {
      const auto& branch = static_cast<const IfThenElse&>(node);
      return slot == 0 ? &branch.then_case : slot == 1 ? &branch.else_case : nullptr;
    }
    case kind_of<PrimFunc>: return only(static_cast<const PrimFunc&>(node).body);
    case kind_of<LetStmt>: return only(static_cast<const LetStmt&>(node).body);
    case kind_of<AttrStmt>: return only(static_cast<const AttrStmt&>(node).body);
    case kind_of<AssertStmt>: return only(static_cast<const AssertStmt&>(node).body);
    case kind_of<Allocate>: return only(static_cast<const Allocate&>(node).body);
    case kind_of<AllocateConst>: return only(static_cast<const AllocateConst&>(node).body);
    case kind_of<DeclBuffer>: return only(static_cast<const DeclBuffer&>(node).body);
    case kind_of<While>: return only(static_cast<const While&>(node).body);
    default: return nullptr;
  }
}

bool runs_concurrently(const For& loop) {
  switch (loop.kind) {
    case ForKind::parallel:
    case ForKind::vectorized: return true;
    case ForKind::thread_binding: return thread_axis_of(loop) != ThreadAxis::virtual_thread;
    default: return false;
  }
}

bool may_reduce_nothing(const Block& block) {
  return block.init && std::ranges::any_of(block.iter_vars, [](const auto& axis) {
           const std::int64_t* extent = as_int(axis->dom->extent);
           return axis->iter_type == IterType::comm_reduce && (!extent || *extent < 1);
         });
}

std::uint32_t ProgramTree::function_of(NodeId node) const {
  if (nodes_[node].entity != no_node) return entities_[nodes_[node].entity].function;
  while (nodes_[node].parent != no_node) node = nodes_[node].parent;
  return nodes_[node].slot;
}

const Stmt& ProgramTree::statement(NodeId node) const {
  return *statement_in(*nodes_[nodes_[node].parent].object, nodes_[node].slot);
}

// ---- Building the tree ----

void ProgramTree::load(const IRModule& module) {
  functions_.clear();
  nodes_.clear();
  free_nodes_ = no_node;
  concurrent_loops_ = 0;
  empty_reductions_ = 0;
  entities_.clear();
  functions_.resize(module.functions.size());
  for (std::uint32_t i = 0; i < functions_.size(); ++i) {
    Function& function = functions_[i];
    function.global = module.names[i];
    function.name = function.global->name_hint;
    function.func = module.functions[i];
    function.root = new_node(*function.func.get(), no_node, i);
    const NodeId body = index(function.func->body, function.root, 0, nullptr);
    if (body != no_node) link(body);
  }
}

NodeId ProgramTree::new_node(const Object& object, NodeId parent, std::uint32_t slot) {
  const TreeNode made{.object = &object, .parent = parent, .slot = slot};
  if (free_nodes_ == no_node) {
    nodes_.push_back(made);
    return static_cast<NodeId>(nodes_.size() - 1);
  }
  const NodeId id = free_nodes_;
  free_nodes_ = nodes_[id].next;
  nodes_.edit(id) = made;
  return id;
}

void ProgramTree::free_node(NodeId node) {
  if (nodes_[node].is_concurrent) --concurrent_loops_;
  if (nodes_[node].may_be_empty) --empty_reductions_;
  nodes_.edit(node) = {.next = free_nodes_};
  free_nodes_ = node;
}

void ProgramTree::count_kinds(NodeId node) {
  const auto* loop = as<For>(node);
  const auto* realize = as<BlockRealize>(node);
  const bool is_concurrent = loop && runs_concurrently(*loop);
  if (nodes_[node].is_concurrent != is_concurrent) {
    nodes_.edit(node).is_concurrent = is_concurrent;
    is_concurrent ? ++concurrent_loops_ : --concurrent_loops_;
  }
  const bool may_be_empty = realize && may_reduce_nothing(*realize->block);
  if (nodes_[node].may_be_empty != may_be_empty) {
    nodes_.edit(node).may_be_empty = may_be_empty;
    may_be_empty ? ++empty_reductions_ : --empty_reductions_;
  }
}

NodeId ProgramTree::index(const Stmt& stmt, NodeId parent, std::uint32_t slot, Detached* known) {
  if (!statement_in(*stmt.get(), 0)) return no_node;
  const NodeId id = new_node(*stmt.get(), parent, slot);
  if (stmt.is<For>() || stmt.is<BlockRealize>()) enter(id, known);
  count_kinds(id);
  NodeId last = no_node;
  const Stmt* inside = nullptr;
  for (std::uint32_t i = 0; (inside = statement_in(*stmt.get(), i)); ++i) {
    if (!inside->defined()) continue;
    const NodeId child = deep_call([&] { return index(*inside, id, i, known); });
    if (child == no_node) continue;
    set_next(id, last, child);
    last = child;
  }
  return id;
}

/// Makes `next` follow the child `before` of a node, or its first child.
void ProgramTree::set_next(NodeId parent, NodeId before, NodeId next) {
  if (before == no_node) {
    nodes_.edit(parent).first_child = next;
  } else {
    nodes_.edit(before).next = next;
  }
}

void ProgramTree::link(NodeId node) {
  const NodeId parent = nodes_[node].parent;
  NodeId before = no_node;
  NodeId after = nodes_[parent].first_child;
  while (after != no_node && nodes_[after].slot < nodes_[node].slot) {
    before = after;
    after = nodes_[after].next;
  }
  nodes_.edit(node).next = after;
  set_next(parent, before, node);
}

void ProgramTree::unlink(NodeId node) {
  const NodeId parent = nodes_[node].parent;
  NodeId before = no_node;
  for (NodeId child = nodes_[parent].first_child; child != node; child = nodes_[child].next) {
    before = child;
  }
  set_next(parent, before, nodes_[node].next);
  nodes_.edit(node).next = no_node;
}

void ProgramTree::detach(NodeId node, Detached& into) {
  for (NodeId child = nodes_[node].first_child; child != no_node;) {
    const NodeId next = nodes_[child].next;
    deep_call([&] { detach(child, into); });
    child = next;
  }
  if (const std::uint32_t entity = nodes_[node].entity; entity != no_node) {
    entities_.edit(entity).node = no_node;
    if (const auto* realize = as<BlockRealize>(node)) {
      into.emplace(realize->block.get(), entity);
      if (!realize->block->iter_vars.empty()) {
        into.emplace(realize->block->iter_vars[0]->var.get(), entity);
      }
    } else {
      into.emplace(entities_[entity].var.get(), entity);
    }
  }
  free_node(node);
}

/// Checks a node and what is inside it. Gives the number of loops that run concurrently.
std::uint32_t ProgramTree::check_node(NodeId node, const Stmt& stmt) const {
  check(nodes_[node].object == stmt.get(), "schedule", "node {} is of another statement", node);
  if (const std::uint32_t entity = nodes_[node].entity; entity != no_node) {
    check(entities_[entity].node == node, "schedule", "handle {} is elsewhere", entity);
  }
  const auto* loop = stmt.as<For>();
  std::uint32_t at_once = loop && runs_concurrently(*loop) ? 1 : 0;
  check(nodes_[node].is_concurrent == (at_once > 0), "schedule", "node {} has changed its kind",
        node);
  NodeId child = nodes_[node].first_child;
  const Stmt* inside = nullptr;
  for (std::uint32_t slot = 0; (inside = statement_in(*stmt.get(), slot)); ++slot) {
    if (!inside->defined() || !statement_in(*inside->get(), 0)) continue;
    const bool is_here = child != no_node && nodes_[child].slot == slot;
    check(is_here && nodes_[child].parent == node, "schedule", "node {} has lost a child", node);
    at_once += deep_call([&] { return check_node(child, *inside); });
    child = nodes_[child].next;
  }
  check(child == no_node, "schedule", "node {} has a child too many", node);
  return at_once;
}

void ProgramTree::check_tree() const {
  std::uint32_t at_once = 0;
  for (const Function& function : functions_) {
    const NodeId body = nodes_[function.root].first_child;
    check(nodes_[function.root].object == function.func.get(), "schedule", "a function was lost");
    if (body != no_node) at_once += check_node(body, function.func->body);
  }
  check(at_once == concurrent_loops_, "schedule", "{} loops run concurrently, {} were counted",
        at_once, concurrent_loops_);
}

}  // namespace loopsmith
