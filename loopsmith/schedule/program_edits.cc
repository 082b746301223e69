// SPDX-License-Identifier: Apache-2.0
// How commits change a program in place, and the tree beside it.
#include <array>

#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/program_tree.h"

namespace loopsmith {
namespace {

/// The node behind a reference without another owner; a copy put in its place when others do.
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

Object& ProgramTree::edit_child(Object& parent, NodeId child) {
  Object& object = own(*slot_of(parent, nodes_[child].slot));
  if (object.kind == kind_of<BlockRealize>) {
    own(static_cast<BlockRealize&>(object).block);
    const std::uint32_t block = nodes_[child].entity;
    if (entities_[block].axes_are_injective != Known::not_yet) {
      entities_.edit(block).axes_are_injective = Known::not_yet;
    }
  }
  if (nodes_[child].object != &object) nodes_.edit(child).object = &object;
  return object;
}

Object& ProgramTree::edit(NodeId node) {
  if (nodes_[node].parent == no_node) {
    Object& function = own(functions_[nodes_[node].slot].func);
    if (nodes_[node].object != &function) nodes_.edit(node).object = &function;
    return function;
  }
  Object& parent =
      deep_call([&]() -> std::reference_wrapper<Object> { return edit(nodes_[node].parent); });
  return edit_child(parent, node);
}

For& ProgramTree::edit(LoopRV loop) {
  return static_cast<For&>(edit(node(loop)));
}

BlockRealize& ProgramTree::edit_realize(BlockRV block) {
  entities_.edit(block.index).axes_are_injective = Known::not_yet;
  return static_cast<BlockRealize&>(edit(node(block)));
}

Block& ProgramTree::edit(BlockRV block) {
  return const_cast<Block&>(*edit_realize(block).block);
}

NodeId ProgramTree::replace(NodeId node, Stmt by, const Renewed& renewed) {
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
      if (nodes_[child].slot > slot) nodes_.edit(child).slot += more;
    }
    // The old statement lives until the new ones are entered: addresses distinguish them.
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
NodeId ProgramTree::sequence_at(NodeId parent, std::uint32_t slot) {
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
    nodes_.edit(child).parent = sequence;
    nodes_.edit(child).slot = 0;
    link(child);
  }
  return sequence;
}

NodeId ProgramTree::insert_into(NodeId sequence, std::uint32_t at, const Stmt& stmt,
                                Detached* known) {
  const std::vector<Stmt> parts = parts_of(stmt);
  auto& seq = static_cast<SeqStmt&>(edit(sequence)).seq;
  for (NodeId child = nodes_[sequence].first_child; child != no_node; child = nodes_[child].next) {
    if (nodes_[child].slot >= at)
      nodes_.edit(child).slot += static_cast<std::uint32_t>(parts.size());
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

NodeId ProgramTree::insert(NodeId node, Stmt stmt, std::uint32_t offset) {
  const NodeId parent = nodes_[node].parent;
  stamp(stmt, span_from(nodes_[node].object->span));
  const bool is_sequence = nodes_[parent].object->kind == kind_of<SeqStmt>;
  const NodeId sequence = is_sequence ? parent : sequence_at(parent, nodes_[node].slot);
  return insert_into(sequence, nodes_[node].slot + offset, stmt, nullptr);
}

NodeId ProgramTree::insert_before(NodeId node, Stmt stmt) {
  return insert(node, std::move(stmt), 0);
}

NodeId ProgramTree::insert_after(NodeId node, Stmt stmt) {
  return insert(node, std::move(stmt), 1);
}

void ProgramTree::move_into(LoopRV loop, std::uint32_t place, Stmt nest, BlockRV block) {
  const NodeId old = node(block);
  const auto first_new = static_cast<std::uint32_t>(entities_.size());
  stamp(nest, span_from(nodes_[old].object->span));
  // The handle goes with the block.
  const Ptr<Block> moved = as<BlockRealize>(old)->block;
  Detached known{{moved.get(), block.index}};
  entities_.edit(block.index).node = no_node;
  nodes_.edit(old).entity = no_node;

  const NodeId around = node(loop);
  const NodeId body = nodes_[around].first_child;
  const bool is_sequence = body != no_node && nodes_[body].object->kind == kind_of<SeqStmt>;
  insert_into(is_sequence ? body : sequence_at(around, 0), place, nest, &known);
  take_away(old, first_new);
}

void ProgramTree::wrap_body(LoopRV loop, const std::function<Stmt(Stmt)>& around) {
  const NodeId above = node(loop);
  For& holder = edit(loop);
  Stmt wrapped = around(std::move(holder.body));
  const NodeId made = new_node(*wrapped.get(), above, 0);
  nodes_.edit(made).first_child = nodes_[above].first_child;
  for (NodeId child = nodes_[made].first_child; child != no_node; child = nodes_[child].next) {
    nodes_.edit(child).parent = made;
  }
  nodes_.edit(above).first_child = made;
  holder.body = std::move(wrapped);
}

void ProgramTree::remove(NodeId node) {
  take_away(node, static_cast<std::uint32_t>(entities_.size()));
}

void ProgramTree::take_away(NodeId node, std::uint32_t first_new) {
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
    if (nodes_[child].slot > slot) --nodes_.edit(child).slot;
  }
  if (seq.size() > 1) return;
  // One statement is no sequence.
  const Stmt last = seq[0];
  const NodeId child = nodes_[parent].first_child;
  const NodeId above = nodes_[parent].parent;
  const std::uint32_t place = nodes_[parent].slot;
  unlink(parent);
  *slot_of(edit(above), place) = last;
  free_node(parent);
  if (child == no_node) return;
  nodes_.edit(child).parent = above;
  nodes_.edit(child).slot = place;
  nodes_.edit(child).next = no_node;
  link(child);
}

Handles<LoopRV> ProgramTree::replace_loops(LoopRV top, LoopRV bottom, std::vector<For> loops) {
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
    const std::uint32_t entity = std::exchange(nodes_.edit(old_node(i)).entity, no_node);
    entities_.edit(entity).node = no_node;
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
    free_node(old_node(i));
  }
  for (std::size_t i = loops.size(); i-- > 0;) {
    For& loop = loops[i];
    loop.body = std::move(body);
    const Ptr<For> node = make(std::move(loop));
    TreeNode& place = nodes_.edit(ids[i]);
    place.object = node.get();
    place.parent = i > 0 ? ids[i - 1] : parent;
    place.slot = i > 0 ? 0 : slot;
    place.first_child = i + 1 < ids.size() ? ids[i + 1] : inside;
    if (i > 0) place.next = no_node;
    count_kinds(ids[i]);
    body = node;
  }
  // Where the body had no node, there is none below; else its nodes have a new parent.
  for (NodeId child = inside; child != no_node; child = nodes_[child].next) {
    nodes_.edit(child).parent = ids.back();
  }
  // It is around the body, and as that its own since the body was taken out.
  *slot_of(const_cast<Object&>(*nodes_[parent].object), slot) = std::move(body);

  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto* var = as<For>(ids[i])->loop_var.get();
    std::uint32_t entity = no_node;
    for (std::size_t k = 0; k < count && entity == no_node; ++k) {
      if (entities_[old_entity(k)].var.get() == var) entity = old_entity(k);
    }
    if (entity == no_node) {
      entity = new_entity(ids[i]);
    } else {
      entities_.edit(entity).node = ids[i];
      nodes_.edit(ids[i]).entity = entity;
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
