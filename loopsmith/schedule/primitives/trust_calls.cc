// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/trust_calls.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_text.h"
#include "loopsmith/ir/trusted_calls.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// The calls of functions of the host in a block itself, not in those inside it.
std::vector<const Call*> host_calls_in(const Block& block) {
  std::vector<const Call*> found;
  for (const Stmt& part : {block.init, block.body}) {
    if (!part.defined()) continue;
    pre_order_visit(part, [&](const Ref& ref) {
      const auto* call = ref.as<Call>();
      if (call && !host_function_of(*call).empty()) found.push_back(call);
      return !ref.is<Block>();
    });
  }
  return found;
}

/// True when the memory of a pointer is that of a region, or of a view, of the block.
bool is_declared(const Block& block, const Object* pointer) {
  const auto points_there = [&](const auto& one) { return one->buffer->data.get() == pointer; };
  return std::ranges::any_of(block.reads, points_there) ||
         std::ranges::any_of(block.writes, points_there) ||
         std::ranges::any_of(block.match_buffers, points_there);
}

/// A pointer among the arguments of a call to memory of which the block declares nothing.
std::string undeclared_pointer(const Block& block, const Call& call) {
  std::string found;
  for (const Expr& argument : call.args) {
    pre_order_visit(argument, [&](const Ref& ref) {
      const auto* buffer = ref.as<Buffer>();
      const auto* variable = ref.as<Var>();
      const bool is_pointer = variable && variable->dtype.is_handle();
      const Object* pointer = buffer ? buffer->data.get() : is_pointer ? ref.get() : nullptr;
      if (found.empty() && pointer && !is_declared(block, pointer)) {
        found = buffer ? buffer->name : variable->name;
      }
      return !buffer;
    });
  }
  return found;
}

/// The names that a block lists with those that it calls.
Ref with_names(const Block& block, const std::vector<const Call*>& calls,
               const std::vector<std::string>& names) {
  List listed;
  std::vector<std::string_view> all = trusted_calls(block);
  for (const Call* call : calls) {
    const std::string_view name = host_function_of(*call);
    if (std::ranges::find(names, name) == names.end()) continue;
    if (std::ranges::find(all, name) == all.end()) all.push_back(name);
  }
  for (const std::string_view name : all) listed.items.push_back(string_imm(std::string(name)));
  return make(std::move(listed));
}

}  // namespace

Planned<TrustCallsPlan> plan_trust_calls(const Schedule& schedule,
                                         const TrustCallsArguments& arguments) {
  TrustCallsPlan plan;
  std::vector<std::string_view> called;
  std::vector<NodeId> nodes;
  for (std::uint32_t i = 0; i < schedule.original()->functions.size(); ++i) {
    nodes.push_back(schedule.root(i));
  }
  while (!nodes.empty()) {
    const NodeId node = nodes.back();
    nodes.pop_back();
    if (node == no_node) continue;
    const TreeNode& place = schedule.at(node);
    nodes.push_back(place.next);
    nodes.push_back(place.first_child);
    const auto* realize = schedule.as<BlockRealize>(node);
    if (!realize) continue;
    const Block& block = *realize->block;
    std::vector<const Call*> calls = host_calls_in(block);
    std::erase_if(calls, [&](const Call* call) {
      return std::ranges::find(arguments.names, host_function_of(*call)) == arguments.names.end();
    });
    if (calls.empty()) continue;
    const BlockRV handle = schedule.block_at(node);
    for (const Call* call : calls) {
      called.push_back(host_function_of(*call));
      if (const std::string pointer = undeclared_pointer(block, *call); !pointer.empty()) {
        return Refusal{&pointers_are_declared,
                       {Argument(handle), Argument(pointer), Argument(called.back())}};
      }
    }
    plan.blocks.push_back({handle, with_names(block, calls, arguments.names)});
  }
  for (const std::string& name : arguments.names) {
    if (std::ranges::find(called, name) == called.end()) {
      return Refusal{&block_calls_function, {Argument(name)}};
    }
  }
  return plan;
}

Nothing commit_trust_calls(Schedule& schedule, TrustCallsPlan&& plan) {
  for (TrustingBlock& trusting : plan.blocks) {
    Block& block = schedule.edit(trusting.block);
    block.annotations = block.annotations.with(trusted_calls_key, std::move(trusting.names));
  }
  return {};
}

}  // namespace loopsmith
