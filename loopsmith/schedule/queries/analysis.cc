// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/analysis.h"

#include <algorithm>

#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith {
namespace {

bool is_block(const Schedule& schedule, NodeId node) {
  return schedule.at(node).object->kind == kind_of<BlockRealize>;
}

std::size_t depth_of(const Schedule& schedule, NodeId node) {
  std::size_t depth = 0;
  for (; schedule.at(node).parent != no_node; node = schedule.at(node).parent) ++depth;
  return depth;
}

bool has_region(const std::vector<Ptr<BufferRegion>>& regions, const Ptr<Buffer>& buffer) {
  return std::ranges::any_of(regions,
                             [&](const auto& region) { return region->buffer.same_as(buffer); });
}

void add_child_blocks(const Schedule& schedule, NodeId node, Handles<BlockRV>& found) {
  for (NodeId child = schedule.at(node).first_child; child != no_node;
       child = schedule.at(child).next) {
    if (is_block(schedule, child)) {
      found.push_back(schedule.block_at(child));
    } else {
      deep_call([&] { add_child_blocks(schedule, child, found); });
    }
  }
}

void add_child_loops(const Schedule& schedule, NodeId node, Handles<LoopRV>& found) {
  for (NodeId child = schedule.at(node).first_child; child != no_node;
       child = schedule.at(child).next) {
    if (schedule.at(child).object->kind == kind_of<For>) {
      found.push_back(schedule.loop_at(child));
    } else if (!is_block(schedule, child)) {
      deep_call([&] { add_child_loops(schedule, child, found); });
    }
  }
}

}  // namespace

Handles<LoopRV> loops_around(const Schedule& schedule, NodeId node) {
  Handles<LoopRV> loops;
  for (NodeId above = schedule.at(node).parent; above != no_node;
       above = schedule.at(above).parent) {
    const std::uint16_t kind = schedule.at(above).object->kind;
    if (kind == kind_of<BlockRealize>) break;
    if (kind == kind_of<For>) loops.push_back(schedule.loop_at(above));
  }
  std::ranges::reverse(loops);
  return loops;
}

LoopRV loop_of_var(const Schedule& schedule, std::uint32_t function, const Ptr<Var>& variable) {
  const Handles<LoopRV> named = schedule.loops_named(function, variable->name);
  return *std::ranges::find_if(
      named, [&](LoopRV loop) { return schedule.get(loop).loop_var.same_as(variable); });
}

Handles<LoopRV> loops_of_vars(const Schedule& schedule, std::uint32_t function,
                              std::span<const Ptr<Var>> variables) {
  Handles<LoopRV> loops;
  for (const Ptr<Var>& variable : variables) {
    loops.push_back(loop_of_var(schedule, function, variable));
  }
  return loops;
}

std::optional<BlockRV> block_around(const Schedule& schedule, NodeId node) {
  const NodeId scope = scope_of(schedule, node);
  return is_block(schedule, scope) ? std::optional(schedule.block_at(scope)) : std::nullopt;
}

bool is_inside(const Schedule& schedule, NodeId node, NodeId ancestor) {
  while (node != no_node && node != ancestor) node = schedule.at(node).parent;
  return node == ancestor;
}

NodeId common_ancestor(const Schedule& schedule, NodeId a, NodeId b) {
  std::size_t depth_a = depth_of(schedule, a);
  std::size_t depth_b = depth_of(schedule, b);
  for (; depth_a > depth_b; --depth_a) a = schedule.at(a).parent;
  for (; depth_b > depth_a; --depth_b) b = schedule.at(b).parent;
  while (a != b) {
    a = schedule.at(a).parent;
    b = schedule.at(b).parent;
  }
  return a;
}

NodeId child_towards(const Schedule& schedule, NodeId node, NodeId ancestor) {
  while (node != ancestor && schedule.at(node).parent != ancestor) node = schedule.at(node).parent;
  return node;
}

bool is_before(const Schedule& schedule, NodeId a, NodeId b) {
  const NodeId common = common_ancestor(schedule, a, b);
  if (common == a || common == b) return common == a && a != b;
  return schedule.at(child_towards(schedule, a, common)).slot <
         schedule.at(child_towards(schedule, b, common)).slot;
}

NodeId only_child(const Schedule& schedule, NodeId node) {
  const TreeNode& around = schedule.at(node);
  const Stmt* second = statement_in(*around.object, 1);
  return second && second->defined() ? no_node : around.first_child;
}

Handles<LoopRV> child_loops(const Schedule& schedule, NodeId node) {
  Handles<LoopRV> found;
  add_child_loops(schedule, node, found);
  return found;
}

Handles<BlockRV> child_blocks(const Schedule& schedule, NodeId node) {
  Handles<BlockRV> found;
  add_child_blocks(schedule, node, found);
  return found;
}

bool contains(const Handles<BlockRV>& blocks, BlockRV block) {
  return std::ranges::any_of(blocks, [&](BlockRV other) { return other.index == block.index; });
}

bool reads_buffer(const Block& block, const Ptr<Buffer>& buffer) {
  return has_region(block.reads, buffer);
}

bool writes_buffer(const Block& block, const Ptr<Buffer>& buffer) {
  return has_region(block.writes, buffer);
}

Handles<BlockRV> producers_of(const Schedule& schedule, BlockRV block) {
  const NodeId place = schedule.node(block);
  const Block& target = schedule.get(block);
  Handles<BlockRV> found = child_blocks(schedule, scope_of(schedule, place));
  std::erase_if(found, [&](BlockRV other) {
    if (other.index == block.index || !is_before(schedule, schedule.node(other), place)) {
      return true;
    }
    return std::ranges::none_of(schedule.get(other).writes, [&](const auto& written) {
      return reads_buffer(target, written->buffer) || writes_buffer(target, written->buffer);
    });
  });
  return found;
}

Handles<BlockRV> consumers_of(const Schedule& schedule, BlockRV block) {
  const NodeId place = schedule.node(block);
  const Block& source = schedule.get(block);
  Handles<BlockRV> found = child_blocks(schedule, scope_of(schedule, place));
  std::erase_if(found, [&](BlockRV other) {
    if (other.index == block.index || !is_before(schedule, place, schedule.node(other))) {
      return true;
    }
    const Block& target = schedule.get(other);
    return std::ranges::none_of(source.writes, [&](const auto& written) {
      return reads_buffer(target, written->buffer) || writes_buffer(target, written->buffer);
    });
  });
  return found;
}

Handles<BlockRV> readers_of(const Schedule& schedule, NodeId scope, const Ptr<Buffer>& buffer) {
  Handles<BlockRV> found = child_blocks(schedule, scope);
  std::erase_if(found, [&](BlockRV block) { return !reads_buffer(schedule.get(block), buffer); });
  return found;
}

Handles<BlockRV> writers_of(const Schedule& schedule, NodeId scope, const Ptr<Buffer>& buffer) {
  Handles<BlockRV> found = child_blocks(schedule, scope);
  std::erase_if(found, [&](BlockRV block) { return !writes_buffer(schedule.get(block), buffer); });
  return found;
}

NodeId scope_of(const Schedule& schedule, NodeId node) {
  NodeId above = schedule.at(node).parent;
  while (schedule.at(above).parent != no_node && !is_block(schedule, above)) {
    above = schedule.at(above).parent;
  }
  return above;
}

bool is_output_block(const Schedule& schedule, BlockRV block) {
  const auto scope = block_around(schedule, schedule.node(block));
  return std::ranges::any_of(schedule.get(block).writes, [&](const auto& written) {
    if (!scope) return true;
    return std::ranges::none_of(schedule.get(*scope).alloc_buffers, [&](const auto& buffer) {
      return buffer.same_as(written->buffer);
    });
  });
}

std::optional<BlockRV> reduction_started_in(const Schedule& schedule, LoopRV loop) {
  const Ptr<Var>& var = schedule.get(loop).loop_var;
  for (const BlockRV block : child_blocks(schedule, schedule.node(loop))) {
    const BlockRealize& realize = schedule.realize(block);
    if (realize.block->init && arith::is_reduction_loop(realize, var)) return block;
  }
  return {};
}

bool binds_axis(const BlockRealize& realize, const Ptr<Var>& var, IterType type) {
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const bool is_of_type = realize.block->iter_vars[i]->iter_type == type;
    if (is_of_type && uses_variable(realize.iter_values[i], var)) return true;
  }
  return false;
}

std::optional<SelectedBuffer> select_buffer(const Block& block, const BufferSelector& selector,
                                            BufferSelector::Side side) {
  using Side = BufferSelector::Side;
  if (const auto* index = std::get_if<std::int64_t>(&selector.value)) {
    const bool is_write = (selector.side == Side::any ? side : selector.side) == Side::write;
    const auto& regions = is_write ? block.writes : block.reads;
    if (*index < 0 || *index >= static_cast<std::int64_t>(regions.size())) return {};
    const auto place = static_cast<std::size_t>(*index);
    return SelectedBuffer{regions[place]->buffer, place, is_write};
  }
  const auto is_meant = [&](const Ptr<Buffer>& buffer) {
    if (const auto* name = std::get_if<std::string>(&selector.value)) return buffer->name == *name;
    return std::get<Ptr<Buffer>>(selector.value).same_as(buffer);
  };
  const auto find = [&](const auto& regions, bool is_write) -> std::optional<SelectedBuffer> {
    for (std::size_t i = 0; i < regions.size(); ++i) {
      if (is_meant(regions[i]->buffer)) return SelectedBuffer{regions[i]->buffer, i, is_write};
    }
    return {};
  };
  const bool writes_first = side == Side::write;
  auto found = writes_first ? find(block.writes, true) : find(block.reads, false);
  if (!found) found = writes_first ? find(block.reads, false) : find(block.writes, true);
  return found;
}

}  // namespace loopsmith
