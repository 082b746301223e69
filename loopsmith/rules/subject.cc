// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/subject.h"

#include "loopsmith/arith/data_parameters.h"
#include "loopsmith/rules/fuse_row_nests.h"
#include "loopsmith/rules/nontemporal_stores.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/support/deep_call.h"
#include "loopsmith/transform/loops.h"

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

using Statements = std::vector<std::pair<Stmt, NodeId>>;

/// True of what only gives a name to memory or to a value for the statements in it.
bool is_definition(const Stmt& stmt) {
  return stmt.is<Allocate>() || stmt.is<AllocateConst>() || stmt.is<DeclBuffer>() ||
         stmt.is<LetStmt>();
}

/// Adds what a statement does, one after another, with the nodes; `no_node` for those without
/// others inside. Where a scope begins and ends stands its definition, so that no rule takes nests
/// inside and outside of it for neighbours.
void add_statements(const Schedule& schedule, const Stmt& stmt, NodeId node, Statements& found) {
  const bool has_scope = is_definition(stmt);
  if (!stmt.is<SeqStmt>() && !has_scope) {
    found.emplace_back(stmt, node);
    return;
  }
  if (has_scope) found.emplace_back(with_body(stmt, no_op()), no_node);
  NodeId child = schedule.at(node).first_child;
  const Stmt* part = nullptr;
  for (std::uint32_t slot = 0; (part = statement_in(*stmt.get(), slot)); ++slot) {
    const bool has_node = child != no_node && schedule.at(child).slot == slot;
    deep_call([&] { add_statements(schedule, *part, has_node ? child : no_node, found); });
    if (has_node) child = schedule.at(child).next;
  }
  if (has_scope) found.emplace_back(with_body(stmt, no_op()), no_node);
}

/// The statements at the top, also those in the scope of variables there.
Statements statements_of(const Schedule& schedule) {
  const NodeId top = top_of(schedule);
  const auto* root = schedule.as<BlockRealize>(top);
  Statements found;
  add_statements(schedule, root ? root->block->body : schedule.func()->body,
                 schedule.at(top).first_child, found);
  return found;
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
