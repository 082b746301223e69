// SPDX-License-Identifier: Apache-2.0
// The shadow tree: where each loop and block is, and how the program is changed in place.
#include <algorithm>

#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {
namespace {

/// The node behind a reference that nobody else holds; a copy put in its place when others do.
template <class Reference>
Object& own(Reference& reference) {
  Ref& ref = reference;
  if (!ref.get()->is_unique()) ref = Ref(node_info(*ref.get()).clone(*ref.get()));
  return const_cast<Object&>(*ref.get());
}

Stmt* slot_of(Object& node, std::uint32_t slot) {
  return const_cast<Stmt*>(statement_in(node, slot));
}

/// Joins a sequence into its parts.
std::vector<Stmt> parts_of(const Stmt& stmt) {
  if (const auto* sequence = stmt.as<SeqStmt>()) return sequence->seq;
  return {stmt};
}

}  // namespace

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

NodeId Schedule::node(const BlockOrLoop& subject) const {
  return std::visit([&](const auto& handle) { return node(handle); }, subject);
}

std::uint32_t Schedule::function_of(NodeId node) const {
  if (nodes_[node].entity != no_node) return entities_[nodes_[node].entity].function;
  while (nodes_[node].parent != no_node) node = nodes_[node].parent;
  return nodes_[node].slot;
}

const Stmt& Schedule::statement(NodeId node) const {
  return *statement_in(*nodes_[nodes_[node].parent].object, nodes_[node].slot);
}

// ---- Building the tree ----

NodeId Schedule::new_node(const Object& object, NodeId parent, std::uint32_t slot) {
  const TreeNode made{.object = &object, .parent = parent, .slot = slot};
  if (free_nodes_ == no_node) {
    nodes_.push_back(made);
    return static_cast<NodeId>(nodes_.size() - 1);
  }
  const NodeId id = free_nodes_;
  free_nodes_ = nodes_[id].next;
  nodes_[id] = made;
  return id;
}

NodeId Schedule::index(const Stmt& stmt, NodeId parent, std::uint32_t slot, Detached* known) {
  if (!statement_in(*stmt.get(), 0)) return no_node;
  const NodeId id = new_node(*stmt.get(), parent, slot);
  if (stmt.is<For>() || stmt.is<BlockRealize>()) enter(id, known);
  NodeId last = no_node;
  const Stmt* inside = nullptr;
  for (std::uint32_t i = 0; (inside = statement_in(*stmt.get(), i)); ++i) {
    if (!inside->defined()) continue;
    const NodeId child = deep_call([&] { return index(*inside, id, i, known); });
    if (child == no_node) continue;
    (last == no_node ? nodes_[id].first_child : nodes_[last].next) = child;
    last = child;
  }
  return id;
}

void Schedule::link(NodeId node) {
  NodeId* place = &nodes_[nodes_[node].parent].first_child;
  while (*place != no_node && nodes_[*place].slot < nodes_[node].slot) place = &nodes_[*place].next;
  nodes_[node].next = *place;
  *place = node;
}

void Schedule::unlink(NodeId node) {
  NodeId* place = &nodes_[nodes_[node].parent].first_child;
  while (*place != node) place = &nodes_[*place].next;
  *place = nodes_[node].next;
  nodes_[node].next = no_node;
}

void Schedule::detach(NodeId node, Detached& into) {
  for (NodeId child = nodes_[node].first_child; child != no_node;) {
    const NodeId next = nodes_[child].next;
    deep_call([&] { detach(child, into); });
    child = next;
  }
  if (const std::uint32_t entity = nodes_[node].entity; entity != no_node) {
    entities_[entity].node = no_node;
    if (const auto* realize = as<BlockRealize>(node)) {
      into.emplace(realize->block.get(), entity);
      if (!realize->block->iter_vars.empty()) {
        into.emplace(realize->block->iter_vars[0]->var.get(), entity);
      }
    } else {
      into.emplace(entities_[entity].var.get(), entity);
    }
  }
  nodes_[node] = {.next = free_nodes_};
  free_nodes_ = node;
}

void Schedule::enter(NodeId node, Detached* known) {
  const auto take = [&](const Object* key) {
    if (!known) return false;
    const auto found = known->find(key);
    if (found == known->end() || entities_[found->second].node != no_node) return false;
    nodes_[node].entity = found->second;
    entities_[found->second].node = node;
    return true;
  };
  if (const auto* loop = as<For>(node)) {
    if (!take(loop->loop_var.get())) new_entity(node);
    return;
  }
  const Block& block = *as<BlockRealize>(node)->block;
  const bool is_known =
      take(&block) || (!block.iter_vars.empty() && take(block.iter_vars[0]->var.get()));
  if (!is_known) {
    new_entity(node);
    return;
  }
  const std::uint32_t entity = nodes_[node].entity;
  entities_[entity].axes_are_true = Known::not_yet;
  if (entities_[entity].block_name == block.name_hint) return;
  remove_name(entity);
  entities_[entity].block_name = block.name_hint;
  add_name(functions_[entities_[entity].function].blocks, entity, block.name_hint);
}

std::uint32_t Schedule::new_entity(NodeId node) {
  const auto number = static_cast<std::uint32_t>(entities_.size());
  Entity& made = entities_.emplace_back();
  made.node = node;
  made.function = function_of(nodes_[node].parent);
  nodes_[node].entity = number;
  Function& function = functions_[made.function];
  if (const auto* loop = as<For>(node)) {
    made.is_loop = true;
    made.var = loop->loop_var;
    add_name(function.loops, number, made.var->name);
  } else {
    made.block_name = as<BlockRealize>(node)->block->name_hint;
    add_name(function.blocks, number, made.block_name);
  }
  return number;
}

void Schedule::end(std::uint32_t entity, std::uint32_t first_new, std::uint32_t end_new) {
  Entity& ended = entities_[entity];
  remove_name(entity);
  ended.node = no_node;
  ended.ended_at = step();
  ended.successors = first_new;
  ended.successors_end = end_new;
}

void Schedule::end_detached(const Detached& detached, std::uint32_t first_new) {
  const auto end_new = static_cast<std::uint32_t>(entities_.size());
  for (const auto& [key, entity] : detached) {
    if (entities_[entity].node == no_node && entities_[entity].ended_at == 0) {
      end(entity, first_new, end_new);
    }
  }
}

void Schedule::check_node(NodeId node, const Stmt& stmt) const {
  check(nodes_[node].object == stmt.get(), "schedule", "node {} is of another statement", node);
  if (const std::uint32_t entity = nodes_[node].entity; entity != no_node) {
    check(entities_[entity].node == node, "schedule", "handle {} is elsewhere", entity);
  }
  NodeId child = nodes_[node].first_child;
  const Stmt* inside = nullptr;
  for (std::uint32_t slot = 0; (inside = statement_in(*stmt.get(), slot)); ++slot) {
    if (!inside->defined() || !statement_in(*inside->get(), 0)) continue;
    const bool is_here = child != no_node && nodes_[child].slot == slot;
    check(is_here && nodes_[child].parent == node, "schedule", "node {} has lost a child", node);
    deep_call([&] { check_node(child, *inside); });
    child = nodes_[child].next;
  }
  check(child == no_node, "schedule", "node {} has a child too many", node);
}

void Schedule::check_tree() const {
  for (const Function& function : functions_) {
    const NodeId body = nodes_[function.root].first_child;
    check(nodes_[function.root].object == function.func.get(), "schedule", "a function was lost");
    if (body != no_node) check_node(body, function.func->body);
  }
}

// ---- Changing it ----

Object& Schedule::edit_child(Object& parent, NodeId child) {
  Object& object = own(*slot_of(parent, nodes_[child].slot));
  if (object.kind == kind_of<BlockRealize>) own(static_cast<BlockRealize&>(object).block);
  nodes_[child].object = &object;
  return object;
}

Object& Schedule::edit(NodeId node) {
  if (nodes_[node].parent == no_node) {
    Object& function = own(functions_[nodes_[node].slot].func);
    nodes_[node].object = &function;
    return function;
  }
  Object& parent =
      deep_call([&]() -> std::reference_wrapper<Object> { return edit(nodes_[node].parent); });
  return edit_child(parent, node);
}

For& Schedule::edit(LoopRV loop) {
  return static_cast<For&>(edit(node(loop)));
}

BlockRealize& Schedule::edit_realize(BlockRV block) {
  entities_[block.index].axes_are_true = Known::not_yet;
  return static_cast<BlockRealize&>(edit(node(block)));
}

Block& Schedule::edit(BlockRV block) {
  return const_cast<Block&>(*edit_realize(block).block);
}

PrimFunc& Schedule::edit_function(std::uint32_t function) {
  return static_cast<PrimFunc&>(edit(root(function)));
}

Stmt& Schedule::place_of(NodeId node) {
  return *slot_of(edit(nodes_[node].parent), nodes_[node].slot);
}

NodeId Schedule::replace(NodeId node, Stmt by, const Renewed& renewed) {
  const NodeId parent = nodes_[node].parent;
  const std::uint32_t slot = nodes_[node].slot;
  const auto first_new = static_cast<std::uint32_t>(entities_.size());
  stamp(by, span_from(nodes_[node].object->span));

  unlink(node);
  Detached detached;
  detach(node, detached);
  for (const auto& [old_block, new_block] : renewed) {
    if (const auto found = detached.find(old_block); found != detached.end()) {
      detached.emplace(new_block, found->second);
    }
  }

  Object& holder = edit(parent);
  NodeId made = no_node;
  const std::vector<Stmt> parts = parts_of(by);
  if (holder.kind == kind_of<SeqStmt> && parts.size() > 1) {
    auto& seq = static_cast<SeqStmt&>(holder).seq;
    const auto more = static_cast<std::uint32_t>(parts.size() - 1);
    for (NodeId child = nodes_[parent].first_child; child != no_node; child = nodes_[child].next) {
      if (nodes_[child].slot > slot) nodes_[child].slot += more;
    }
    // The old statement lives until the new ones are entered: addresses tell them apart.
    const Stmt old = std::exchange(seq[slot], parts[0]);
    seq.insert(seq.begin() + slot + 1, parts.begin() + 1, parts.end());
    for (std::uint32_t i = 0; i < parts.size(); ++i) {
      made = index(parts[i], parent, slot + i, &detached);
      if (made != no_node) link(made);
    }
  } else {
    const Stmt old = std::exchange(*slot_of(holder, slot), by);
    made = index(by, parent, slot, &detached);
    if (made != no_node) link(made);
  }
  end_detached(detached, first_new);
  return made;
}

/// Makes the statement in a place the first of a sequence. Gives the node of that.
NodeId Schedule::sequence_at(NodeId parent, std::uint32_t slot) {
  NodeId child = nodes_[parent].first_child;
  while (child != no_node && nodes_[child].slot != slot) child = nodes_[child].next;
  Stmt& place = *slot_of(edit(parent), slot);
  // A sequence of this statement alone, for the moment.
  SeqStmt around;
  around.span = place.span();
  around.seq = {std::move(place)};
  Ptr<SeqStmt> made(new SeqStmt(std::move(around)));
  const NodeId sequence = new_node(*made.get(), parent, slot);
  place = made;
  if (child != no_node) unlink(child);
  link(sequence);
  if (child != no_node) {
    nodes_[child].parent = sequence;
    nodes_[child].slot = 0;
    link(child);
  }
  return sequence;
}

NodeId Schedule::insert_into(NodeId sequence, std::uint32_t at, const Stmt& stmt, Detached* known) {
  const std::vector<Stmt> parts = parts_of(stmt);
  auto& seq = static_cast<SeqStmt&>(edit(sequence)).seq;
  for (NodeId child = nodes_[sequence].first_child; child != no_node; child = nodes_[child].next) {
    if (nodes_[child].slot >= at) nodes_[child].slot += static_cast<std::uint32_t>(parts.size());
  }
  seq.insert(seq.begin() + at, parts.begin(), parts.end());
  NodeId first = no_node;
  for (std::uint32_t i = 0; i < parts.size(); ++i) {
    const NodeId made = index(parts[i], sequence, at + i, known);
    if (made == no_node) continue;
    link(made);
    if (first == no_node) first = made;
  }
  return first;
}

NodeId Schedule::insert(NodeId node, Stmt stmt, std::uint32_t offset) {
  const NodeId parent = nodes_[node].parent;
  stamp(stmt, span_from(nodes_[node].object->span));
  const bool is_sequence = nodes_[parent].object->kind == kind_of<SeqStmt>;
  const NodeId sequence = is_sequence ? parent : sequence_at(parent, nodes_[node].slot);
  return insert_into(sequence, nodes_[node].slot + offset, stmt, nullptr);
}

NodeId Schedule::insert_before(NodeId node, Stmt stmt) {
  return insert(node, std::move(stmt), 0);
}

NodeId Schedule::insert_after(NodeId node, Stmt stmt) {
  return insert(node, std::move(stmt), 1);
}

void Schedule::move_into(LoopRV loop, std::uint32_t place, Stmt nest, BlockRV block) {
  const NodeId old = node(block);
  const auto first_new = static_cast<std::uint32_t>(entities_.size());
  stamp(nest, span_from(nodes_[old].object->span));
  // The handle goes with the block.
  const Ptr<Block> moved = as<BlockRealize>(old)->block;
  Detached known{{moved.get(), block.index}};
  entities_[block.index].node = no_node;
  nodes_[old].entity = no_node;

  const NodeId around = node(loop);
  const NodeId body = nodes_[around].first_child;
  const bool is_sequence = body != no_node && nodes_[body].object->kind == kind_of<SeqStmt>;
  insert_into(is_sequence ? body : sequence_at(around, 0), place, nest, &known);
  take_away(old, first_new);
}

void Schedule::wrap_body(LoopRV loop, const std::function<Stmt(Stmt)>& around) {
  const NodeId above = node(loop);
  For& holder = edit(loop);
  Stmt wrapped = around(std::move(holder.body));
  const NodeId made = new_node(*wrapped.get(), above, 0);
  nodes_[made].first_child = nodes_[above].first_child;
  for (NodeId child = nodes_[made].first_child; child != no_node; child = nodes_[child].next) {
    nodes_[child].parent = made;
  }
  nodes_[above].first_child = made;
  holder.body = std::move(wrapped);
}

void Schedule::remove(NodeId node) {
  take_away(node, static_cast<std::uint32_t>(entities_.size()));
}

void Schedule::take_away(NodeId node, std::uint32_t first_new) {
  const NodeId parent = nodes_[node].parent;
  const std::uint16_t kind = nodes_[parent].object->kind;
  const bool has_sibling = kind == kind_of<IfThenElse> && nodes_[node].slot == 0 &&
                           as<IfThenElse>(parent)->else_case.defined();
  const bool is_kept = kind == kind_of<SeqStmt> || kind == kind_of<PrimFunc> ||
                       kind == kind_of<BlockRealize> || has_sibling ||
                       (kind == kind_of<IfThenElse> && nodes_[node].slot == 1);
  if (!is_kept) return deep_call([&] { take_away(parent, first_new); });

  const std::uint32_t slot = nodes_[node].slot;
  unlink(node);
  Detached detached;
  detach(node, detached);
  end_detached(detached, first_new);
  Object& holder = edit(parent);
  if (kind != kind_of<SeqStmt>) {
    *slot_of(holder, slot) = slot == 0 ? no_op() : Stmt();
    return;
  }
  auto& seq = static_cast<SeqStmt&>(holder).seq;
  seq.erase(seq.begin() + slot);
  for (NodeId child = nodes_[parent].first_child; child != no_node; child = nodes_[child].next) {
    if (nodes_[child].slot > slot) --nodes_[child].slot;
  }
  if (seq.size() > 1) return;
  // One statement is no sequence.
  const Stmt last = seq[0];
  const NodeId child = nodes_[parent].first_child;
  const NodeId above = nodes_[parent].parent;
  const std::uint32_t place = nodes_[parent].slot;
  unlink(parent);
  *slot_of(edit(above), place) = last;
  nodes_[parent] = {.next = free_nodes_};
  free_nodes_ = parent;
  if (child == no_node) return;
  nodes_[child].parent = above;
  nodes_[child].slot = place;
  nodes_[child].next = no_node;
  link(child);
}

Handles<LoopRV> Schedule::replace_loops(LoopRV top, LoopRV bottom, std::vector<For> loops) {
  const NodeId first = node(top);
  const NodeId last = node(bottom);
  const auto first_new = static_cast<std::uint32_t>(entities_.size());
  const NodeId parent = nodes_[first].parent;
  const std::uint32_t slot = nodes_[first].slot;

  // The body, out of the old loops.
  Stmt body = edit(bottom).body;
  const NodeId inside = nodes_[last].first_child;

  // Old nodes are used again for new loops, outermost first.
  std::array<NodeId, 8> few;
  std::vector<NodeId> many;
  std::size_t count = 0;
  for (NodeId node = first;; node = nodes_[node].first_child) {
    if (count < few.size())
      few[count] = node;
    else
      many.push_back(node);
    ++count;
    if (node == last) break;
  }
  const auto old_node = [&](std::size_t i) {
    return i < few.size() ? few[i] : many[i - few.size()];
  };
  std::array<std::uint32_t, 8> few_entities;
  std::vector<std::uint32_t> many_entities;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t entity = std::exchange(nodes_[old_node(i)].entity, no_node);
    entities_[entity].node = no_node;
    if (i < few_entities.size())
      few_entities[i] = entity;
    else
      many_entities.push_back(entity);
  }
  const auto old_entity = [&](std::size_t i) {
    return i < few_entities.size() ? few_entities[i] : many_entities[i - few_entities.size()];
  };

  Handles<LoopRV> made(loops.size());
  std::vector<NodeId> ids(loops.size());
  for (std::size_t i = 0; i < loops.size(); ++i) {
    ids[i] = i < count ? old_node(i) : new_node(*nodes_[first].object, no_node, 0);
  }
  for (std::size_t i = loops.size(); i < count; ++i) {
    nodes_[old_node(i)] = {.next = free_nodes_};
    free_nodes_ = old_node(i);
  }
  for (std::size_t i = loops.size(); i-- > 0;) {
    For& loop = loops[i];
    loop.body = std::move(body);
    const Ptr<For> node = make(std::move(loop));
    TreeNode& place = nodes_[ids[i]];
    place.object = node.get();
    place.parent = i > 0 ? ids[i - 1] : parent;
    place.slot = i > 0 ? 0 : slot;
    place.first_child = i + 1 < ids.size() ? ids[i + 1] : inside;
    if (i > 0) place.next = no_node;
    body = node;
  }
  // Where the body had no node, there is none below; else its nodes have a new parent.
  for (NodeId child = inside; child != no_node; child = nodes_[child].next) {
    nodes_[child].parent = ids.back();
  }
  *slot_of(edit(parent), slot) = std::move(body);

  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto* var = as<For>(ids[i])->loop_var.get();
    std::uint32_t entity = no_node;
    for (std::size_t k = 0; k < count && entity == no_node; ++k) {
      if (entities_[old_entity(k)].var.get() == var) entity = old_entity(k);
    }
    if (entity == no_node) {
      entity = new_entity(ids[i]);
    } else {
      entities_[entity].node = ids[i];
      nodes_[ids[i]].entity = entity;
    }
    made[i] = {id_, entity};
  }
  const auto end_new = static_cast<std::uint32_t>(entities_.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (entities_[old_entity(i)].node == no_node) end(old_entity(i), first_new, end_new);
  }
  return made;
}

}  // namespace loopsmith
