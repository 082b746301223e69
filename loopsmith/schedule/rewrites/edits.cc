// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/edits.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {
namespace {

/// The blocks inside a statement, in the order of the text.
std::vector<const Block*> blocks_in(const Stmt& stmt) {
  std::vector<const Block*> found;
  pre_order_visit(stmt, [&](const Ref& ref) {
    if (const auto* block = ref.as<Block>()) found.push_back(block);
    return !is_expr(*ref.get());
  });
  return found;
}

bool is_prefetch_of(const Stmt& stmt, const Buffer& buffer) {
  const auto* prefetch = stmt.as<Prefetch>();
  return prefetch && prefetch->buffer.get() == &buffer;
}

/// A node inside `node` that has a prefetch of the buffer as a statement of its own, or no_node.
NodeId node_with_prefetch(const Schedule& schedule, NodeId node, const Buffer& buffer) {
  const Stmt* inside = nullptr;
  for (std::uint32_t i = 0; (inside = statement_in(*schedule.at(node).object, i)); ++i) {
    if (inside->defined() && is_prefetch_of(*inside, buffer)) return node;
  }
  NodeId child = schedule.at(node).first_child;
  for (; child != no_node; child = schedule.at(child).next) {
    const NodeId found = deep_call([&] { return node_with_prefetch(schedule, child, buffer); });
    if (found != no_node) return found;
  }
  return no_node;
}

}  // namespace

void replace_buffer(Schedule& schedule, NodeId node, const Ptr<Buffer>& from,
                    const Ptr<Buffer>& to) {
  Rewriter rewrite;
  rewrite.replace_buffer(from, to);
  replace_alike(schedule, node, rewrite(schedule.statement(node)));
}

BlockRV block_around_or_root(Schedule& schedule, NodeId node) {
  if (const auto block = block_around(schedule, node)) return *block;
  while (!schedule.as<PrimFunc>(schedule.at(node).parent)) node = schedule.at(node).parent;
  Block root;
  root.name_hint = "root";
  root.body = schedule.statement(node);
  BlockRealize realize;
  realize.predicate = true;
  realize.block = make(std::move(root));
  return schedule.block_at(schedule.replace(node, make(std::move(realize))));
}

void allocate_in(Schedule& schedule, BlockRV block, const Ptr<Buffer>& buffer) {
  schedule.edit(block).alloc_buffers.push_back(buffer);
}

void free_in(Schedule& schedule, BlockRV block, const Ptr<Buffer>& buffer) {
  std::erase_if(schedule.edit(block).alloc_buffers,
                [&](const auto& other) { return other.same_as(buffer); });
  drop_prefetches(schedule, block, *buffer);
}

void drop_prefetches(Schedule& schedule, BlockRV block, const Buffer& buffer) {
  const NodeId root = schedule.node(block);
  NodeId node = no_node;
  while ((node = node_with_prefetch(schedule, root, buffer)) != no_node) {
    const auto* sequence = schedule.as<SeqStmt>(node);
    if (!sequence) {
      schedule.remove(node);
      continue;
    }
    std::vector<Stmt> kept;
    for (const Stmt& stmt : sequence->seq) {
      if (!is_prefetch_of(stmt, buffer)) kept.push_back(stmt);
    }
    schedule.replace(node, seq(std::move(kept)));
  }
}

void update_regions(Schedule& schedule, BlockRV handle) {
  AccessRegions found = access_regions(schedule.get(handle));
  Block& block = schedule.edit(handle);
  block.reads = std::move(found.reads);
  block.writes = std::move(found.writes);
}

void update_regions_around(Schedule& schedule, BlockRV block) {
  for (auto around = block_around(schedule, schedule.node(block)); around;
       around = block_around(schedule, schedule.node(block))) {
    update_regions(schedule, block);
    block = *around;
  }
}

void replace_alike(Schedule& schedule, NodeId node, const Stmt& by) {
  const Stmt& old = schedule.statement(node);
  if (by.same_as(old)) return;
  Schedule::Renewed renewed;
  add_renewed_blocks(old, by, renewed);
  schedule.replace(node, by, renewed);
}

void add_renewed_blocks(const Stmt& before, const Stmt& after, Schedule::Renewed& renewed) {
  if (before.same_as(after)) return;
  const std::vector<const Block*> old = blocks_in(before), now = blocks_in(after);
  for (std::size_t i = 0; i < old.size() && i < now.size(); ++i) renewed[old[i]] = now[i];
}

}  // namespace loopsmith
