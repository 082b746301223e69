// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/regroupings.h"

#include <algorithm>
#include <unordered_map>

#include "loopsmith/arith/regrouping.h"
#include "loopsmith/ir/atomic_update.h"
#include "loopsmith/ir/regroups.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/dependence_cache.h"
#include "loopsmith/schedule/legality/repeated_reductions.h"
#include "loopsmith/schedule/queries/path_condition.h"

namespace loopsmith {
namespace {

/// The buffers that are allocated around a statement.
std::vector<Ptr<Buffer>> allocated_around(const Schedule& schedule, NodeId node) {
  std::vector<Ptr<Buffer>> found;
  for (NodeId at = schedule.at(node).parent; at != no_node; at = schedule.at(at).parent) {
    if (const auto* realize = schedule.as<BlockRealize>(at)) {
      const auto& own = realize->block->alloc_buffers;
      found.insert(found.end(), own.begin(), own.end());
    } else if (const auto* declared = schedule.as<DeclBuffer>(at)) {
      const auto* allocate = schedule.as<Allocate>(schedule.at(at).parent);
      const bool is_own = allocate && allocate->buffer_var.same_as(declared->buffer->data);
      if (is_own) found.push_back(declared->buffer);
    }
  }
  return found;
}

using Names = std::vector<std::string>;

/// What the loop is to record; nullopt: what it does, if that fits.
std::optional<Names> record_of(const Schedule& schedule, LoopRV handle) {
  const For& loop = schedule.get(handle);
  if (!may_regroup(loop)) return {};
  std::vector<Ptr<Buffer>> found;
  if (!schedule.known_facts().has_independent_iterations(handle)) {
    const CarriedDependences carries = carried_by(schedule, handle, concurrency_of(loop));
    if (carries.is_reduction) {
      auto proved = regrouped_by(schedule, handle, loop);
      if (!proved) return {};
      found = *std::move(proved);
    } else if (!carries.verdict.is_proved()) {
      if (has_fitting_record(loop)) return {};
      const NodeId node = schedule.node(handle);
      const Stmt nest = under_path_condition(schedule, whole_nest(schedule, node));
      Regrouping trusted = regrouping_on_trust(loop, nest, allocated_around(schedule, node));
      if (trusted.ordered) return {};
      found = std::move(trusted.buffers);
    }
  }
  Names names;
  for (const Ptr<Buffer>& buffer : found) names.push_back(buffer->name);
  return names;
}

/// The function of that number, whose loops record what is known of them.
Ptr<PrimFunc> recorded(const Schedule& schedule, std::uint32_t function) {
  std::unordered_map<const For*, Names> records;
  std::vector<NodeId> open = {schedule.root(function)};
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    if (const auto* loop = schedule.as<For>(node); loop && runs_in_threads(*loop)) {
      if (auto names = record_of(schedule, schedule.loop_at(node))) {
        records.emplace(loop, *std::move(names));
      }
    }
    for (NodeId child = schedule.at(node).first_child; child != no_node;
         child = schedule.at(child).next) {
      open.push_back(child);
    }
  }
  const Ptr<PrimFunc> func(schedule.as<PrimFunc>(schedule.root(function)));
  if (records.empty()) return func;
  Rewriter rewrite;
  rewrite.on<For>([&](const For& node) -> Stmt {
    const auto found = records.find(&node);
    const Ptr<For> loop = rewrite.children(node);
    return found == records.end() ? Stmt(loop) : make(with_regrouped(*loop, found->second));
  });
  return rewrite.body_of(func);
}

}  // namespace

std::optional<std::vector<Ptr<Buffer>>> regrouped_by(const Schedule& schedule, LoopRV handle,
                                                     const For& planned) {
  const std::vector<Ptr<Buffer>> shared =
      conflicting_buffers(schedule, handle, concurrency_of(planned));
  const auto is_known = [](const Ptr<Buffer>& buffer) { return buffer.defined(); };
  if (shared.empty() || !std::ranges::all_of(shared, is_known)) return {};
  const Stmt nest = under_path_condition(schedule, whole_nest(schedule, schedule.node(handle)));
  Regrouping found = regrouping_of(planned, nest, shared);
  return found.ordered ? std::nullopt : std::optional(std::move(found.buffers));
}

bool may_reduce_concurrently(const Schedule& schedule, LoopRV loop, const For& planned) {
  if (concurrency_of(planned) == Concurrency::in_lanes) return !starts_late(schedule, loop);
  return regrouped_by(schedule, loop, planned).has_value();
}

bool updates_atomically(const Schedule& schedule, LoopRV loop, const For& planned) {
  const auto buffers = regrouped_by(schedule, loop, planned);
  return buffers && std::ranges::all_of(*buffers, [&](const Ptr<Buffer>& buffer) {
           return updates_are_atomic(planned, buffer);
         });
}

Ptr<PrimFunc> recorded_func(const Schedule& schedule) {
  Ptr<PrimFunc> func = schedule.func();
  if (!schedule.has_concurrent_loops()) return func;
  return recorded(schedule, *schedule.function_named());
}

Ptr<IRModule> recorded_mod(const Schedule& schedule) {
  Ptr<IRModule> module = schedule.mod();
  if (!schedule.has_concurrent_loops()) return module;
  IRModule result = *module;
  for (std::uint32_t i = 0; i < result.functions.size(); ++i) {
    result.functions[i] = recorded(schedule, i);
  }
  return make(std::move(result));
}

}  // namespace loopsmith
