// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/subject.h"

#include "loopsmith/arith/data_parameters.h"
#include "loopsmith/rules/fuse_row_nests.h"
#include "loopsmith/rules/nontemporal_stores.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {
namespace {

Handles<BlockRV> blocks_in(const Schedule& schedule, NodeId node) {
  if (schedule.as<BlockRealize>(node)) return {schedule.block_at(node)};
  return child_blocks(schedule, node);
}

/// The node whose children are the statements at the top: that of the root block, if there is one.
NodeId top_of(const Schedule& schedule) {
  const NodeId function = schedule.root(*schedule.function_named());
  const NodeId first = schedule.at(function).first_child;
  const bool has_root = first != no_node && schedule.as<BlockRealize>(first);
  return has_root ? first : function;
}

/// The statements at the top, with their nodes; `no_node` for those without others inside.
std::vector<std::pair<Stmt, NodeId>> statements_of(const Schedule& schedule) {
  const NodeId top = top_of(schedule);
  const auto* root = schedule.as<BlockRealize>(top);
  const Stmt& body = root ? root->block->body : schedule.func()->body;
  NodeId child = schedule.at(top).first_child;
  const auto* sequence = body.as<SeqStmt>();
  if (!sequence) return {{body, child}};
  std::vector<std::pair<Stmt, NodeId>> statements;
  child = schedule.at(child).first_child;
  for (std::uint32_t slot = 0; slot < sequence->seq.size(); ++slot) {
    const bool has_node = child != no_node && schedule.at(child).slot == slot;
    statements.emplace_back(sequence->seq[slot], has_node ? child : no_node);
    if (has_node) child = schedule.at(child).next;
  }
  return statements;
}

Subject subject_of(const Schedule& schedule, const Group& group) {
  Subject subject{.nests = group.nests, .shared = group.shared, .blocks = {}, .loop = {}};
  for (const Nest& nest : group.nests) subject.blocks.push_back(nest.block);
  if (group.node == no_node) return subject;
  if (group.nests.empty()) subject.blocks = blocks_in(schedule, group.node);
  if (schedule.as<For>(group.node)) subject.loop = schedule.loop_at(group.node);
  return subject;
}

}  // namespace

Program program_of(const Schedule& schedule) {
  const Ptr<PrimFunc> func = schedule.func();
  const auto* root = schedule.as<BlockRealize>(top_of(schedule));
  Program program{.parts = {}, .locals = {}};
  if (root) program.locals = root->block->alloc_buffers;
  const std::vector<Ptr<Var>> data = arith::data_parameters(*func);
  for (const auto& [statement, node] : statements_of(schedule)) {
    const std::vector<Nest> nests = nests_of(statement);
    if (nests.empty()) program.parts.push_back({{}, statement, node});
    const Handles<BlockRV> blocks = nests.empty() ? Handles<BlockRV>() : blocks_in(schedule, node);
    for (std::size_t i = 0; i < nests.size(); ++i) {
      Part part{nests[i], nullptr, node};
      part.nest->data = data;
      part.nest->block = blocks[i];
      program.parts.push_back(std::move(part));
    }
  }
  return program;
}

std::vector<Subject> subjects_of(const Schedule& schedule, const CpuModel& machine) {
  const Program program = program_of(schedule);
  std::vector<Subject> subjects;
  for (Group& group : fuse_row_nests(program, machine)) {
    for (Nest& nest : group.nests) nest.streamed = nontemporal_outputs(nest, program, machine);
    subjects.push_back(subject_of(schedule, group));
  }
  return subjects;
}

}  // namespace loopsmith
