// SPDX-License-Identifier: Apache-2.0
// The loops and blocks that handles stand for, and their names.
#include <algorithm>
#include <atomic>

#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/program_tree.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

NodeId ProgramTree::node(const BlockOrLoop& subject) const {
  return std::visit([&](const auto& handle) { return node(handle); }, subject);
}

const For& ProgramTree::get(LoopRV loop) const {
  check(node(loop) != no_node, "schedule", "loop {} has ended", loop.index);
  return static_cast<const For&>(*nodes_[entities_[loop.index].node].object);
}

const BlockRealize& ProgramTree::realize(BlockRV block) const {
  check(node(block) != no_node, "schedule", "block {} has ended", block.index);
  return static_cast<const BlockRealize&>(*nodes_[entities_[block.index].node].object);
}

std::string_view ProgramTree::name(LoopRV loop) const {
  const ComputeLocation place(loop);
  if (place.is_mark()) return place.mark() == LocationMark::root ? "root" : "inlined";
  return entities_[loop.index].var->name;
}

Span ProgramTree::span_from(const Span& old) const {
  Span span = old;
  span.step = step();
  return span;
}

// Copies that share an entity share what is known of it, also when they belong to other threads.
ProgramTree::Known ProgramTree::axes_are_injective(BlockRV block) const {
  std::atomic_ref known(entities_[block.index].axes_are_injective);
  return known.load(std::memory_order_relaxed);
}

void ProgramTree::set_axes_are_injective(BlockRV block, Known known) const {
  std::atomic_ref(entities_[block.index].axes_are_injective)
      .store(known, std::memory_order_relaxed);
}

// ---- What handles become ----

std::vector<std::uint32_t> ProgramTree::successors(std::uint32_t entity) const {
  std::vector<std::uint32_t> found;
  const Entity& old = entities_[entity];
  for (std::uint32_t i = old.successors; i < old.successors_end; ++i) {
    if (entities_[i].is_loop == old.is_loop) found.push_back(i);
  }
  return found;
}

template <class Handle>
Handles<Handle> ProgramTree::living_successors(std::uint32_t entity) const {
  if (!entities_[entity].ended_at) return {{id_, entity}};
  Handles<Handle> found;
  for (const std::uint32_t next : successors(entity)) {
    for (const Handle handle : living_successors<Handle>(next)) found.push_back(handle);
  }
  return found;
}

Handles<LoopRV> ProgramTree::became(LoopRV loop) const {
  return living_successors<LoopRV>(loop.index);
}

Handles<BlockRV> ProgramTree::became(BlockRV block) const {
  return living_successors<BlockRV>(block.index);
}

void ProgramTree::enter(NodeId node, Detached* known) {
  const auto take = [&](const Object* key) {
    if (!known) return false;
    const auto found = known->find(key);
    if (found == known->end() || entities_[found->second].node != no_node) return false;
    nodes_.edit(node).entity = found->second;
    entities_.edit(found->second).node = node;
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
  entities_.edit(entity).axes_are_injective = Known::not_yet;
  if (entities_[entity].block_name == block.name_hint) return;
  remove_name(entity);
  entities_.edit(entity).block_name = block.name_hint;
  add_name(functions_[entities_[entity].function].blocks, entity, block.name_hint);
}

std::uint32_t ProgramTree::new_entity(NodeId node) {
  const auto number = static_cast<std::uint32_t>(entities_.size());
  const std::uint32_t owner = function_of(nodes_[node].parent);
  Entity& made = entities_.push_back({});
  made.node = node;
  made.function = owner;
  nodes_.edit(node).entity = number;
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

void ProgramTree::end(std::uint32_t entity, std::uint32_t first_new, std::uint32_t end_new) {
  remove_name(entity);
  Entity& ended = entities_.edit(entity);
  ended.node = no_node;
  ended.ended_at = step();
  ended.successors = first_new;
  ended.successors_end = end_new;
}

void ProgramTree::end_detached(const Detached& detached, std::uint32_t first_new) {
  const auto end_new = static_cast<std::uint32_t>(entities_.size());
  for (const auto& [key, entity] : detached) {
    if (entities_[entity].node == no_node && entities_[entity].ended_at == 0) {
      end(entity, first_new, end_new);
    }
  }
}

// ---- Names ----

template <class Handle>
Handles<Handle> ProgramTree::named(const UniqueNames& names, std::string_view name) const {
  Handles<Handle> found;
  std::uint32_t entity = names.first(name);
  for (; entity != no_node; entity = entities_[entity].next_of_name) found.push_back({id_, entity});
  std::ranges::sort(found);
  return found;
}

Handles<BlockRV> ProgramTree::blocks_named(std::uint32_t function, std::string_view name) const {
  return named<BlockRV>(functions_[function].blocks, name);
}

Handles<LoopRV> ProgramTree::loops_named(std::uint32_t function, std::string_view name) const {
  return named<LoopRV>(functions_[function].loops, name);
}

std::vector<std::string> ProgramTree::block_names(std::uint32_t function) const {
  std::vector<std::string> names;
  functions_[function].blocks.each([&](const std::string& name) { names.push_back(name); });
  return names;
}

std::vector<std::string> ProgramTree::loop_names(std::uint32_t function) const {
  std::vector<std::string> names;
  functions_[function].loops.each([&](const std::string& name) { names.push_back(name); });
  return names;
}

void ProgramTree::add_name(UniqueNames& names, std::uint32_t entity, std::string_view name) {
  const std::uint32_t next = names.first(name);
  names.set_first(name, entity);
  Entity& added = entities_.edit(entity);
  added.next_of_name = next;
  added.previous_of_name = no_node;
  if (next != no_node) entities_.edit(next).previous_of_name = entity;
}

void ProgramTree::remove_name(std::uint32_t entity) {
  const Entity& removed = entities_[entity];
  const std::uint32_t next = removed.next_of_name;
  const std::uint32_t previous = removed.previous_of_name;
  Function& function = functions_[removed.function];
  if (previous == no_node) {
    UniqueNames& names = removed.is_loop ? function.loops : function.blocks;
    names.set_first(removed.is_loop ? removed.var->name : removed.block_name, next);
  } else {
    entities_.edit(previous).next_of_name = next;
  }
  if (next != no_node) entities_.edit(next).previous_of_name = previous;
}

std::string ProgramTree::fresh_loop_name(std::uint32_t function, std::string_view name) {
  return functions_[function].loops.fresh(name);
}

std::string ProgramTree::fresh_block_name(std::uint32_t function, std::string_view name) {
  return functions_[function].blocks.fresh(name);
}

void ProgramTree::load_buffer_names(Function& function) {
  if (std::exchange(function.has_buffer_names, true)) return;
  const auto add = [&](const Ptr<Buffer>& buffer) {
    if (buffer) function.buffers.set_first(buffer->name, 0);
  };
  for (const auto& buffer : function.func->buffer_map) add(buffer);
  pre_order_visit(function.func->body, [&](const Ref& ref) {
    if (const auto* block = ref.as<Block>()) {
      for (const auto& buffer : block->alloc_buffers) add(buffer);
      for (const auto& match : block->match_buffers) add(match->buffer);
    }
    return Stmt::from(ref).defined();
  });
}

std::string ProgramTree::fresh_buffer_name(std::uint32_t function, std::string_view name) {
  load_buffer_names(functions_[function]);
  UniqueNames& names = functions_[function].buffers;
  std::string made = names.fresh(name);
  names.set_first(made, 0);
  return made;
}

}  // namespace loopsmith
