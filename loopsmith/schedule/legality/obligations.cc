// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/obligations.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/ir/live_values.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/access_relations.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"
#include "loopsmith/schedule/queries/zero_distance.h"
#include "loopsmith/schedule/schedule_error.h"

namespace loopsmith {
namespace {

/// The buffers that a loop uses, and of which each of its iterations has one as a thread.
std::vector<Ptr<Buffer>> thread_memory_in(const For& loop) {
  std::vector<Ptr<Buffer>> found;
  std::unordered_set<const Object*> seen;
  pre_order_visit(loop.body, [&](const Ref& ref) {
    const auto buffer = Ptr<Buffer>::from(ref);
    if (!buffer) return true;
    const MemoryScope scope = memory_scope(*buffer);
    const bool is_own =
        scope != MemoryScope::global && is_of_one_thread(thread_axis_of(loop), scope);
    if (is_own && seen.insert(buffer.get()).second) found.push_back(buffer);
    return false;
  });
  return found;
}

/// The outermost loop over the thread axis around a node; no_node when there is none.
NodeId thread_loop_around(const Schedule& schedule, NodeId node, ThreadAxis axis) {
  NodeId found = no_node;
  for (NodeId at = node; at != no_node; at = schedule.at(at).parent) {
    const auto* loop = schedule.as<For>(at);
    if (loop && thread_axis_of(*loop) == axis) found = at;
  }
  return found;
}

/// The access with one variable in the place of others; nullopt where these are in digits.
std::optional<ElementAccess> with_variable(ElementAccess access, const std::vector<Ptr<Var>>& from,
                                           const Ptr<Var>& to) {
  const auto is_one = [&](const Object* object) {
    return std::ranges::any_of(from, [&](const Ptr<Var>& each) { return each.get() == object; });
  };
  for (auto& index : access.indices) {
    if (!index) return {};
    for (IndexTerm& term : index->terms) {
      if (term.kind == IndexTerm::Kind::variable) {
        if (is_one(term.atom.get())) term.atom = to;
        continue;
      }
      if (any_variable(term, is_one)) return {};
    }
  }
  return access;
}

/// True when each element of a buffer that is used in several loops over one thread axis is used by
/// one thread alone.
bool is_of_one_thread_each(const Schedule& schedule, const Ptr<Buffer>& buffer,
                           const std::vector<NodeId>& loops) {
  NodeId around = loops[0];
  std::vector<Ptr<Var>> variables;
  for (const NodeId loop : loops) {
    around = common_ancestor(schedule, around, loop);
    variables.push_back(schedule.as<For>(loop)->loop_var);
  }
  const ElementAccesses accesses = accesses_inside(schedule, around);
  std::vector<ElementAccess> own;
  for (const ElementAccess& access : accesses.all) {
    if (access.buffer != buffer.get()) continue;
    auto unified = with_variable(access, variables, variables[0]);
    if (!unified) return false;
    own.push_back(*std::move(unified));
  }
  return accesses.opaque.empty() && std::ranges::all_of(own, [&](const ElementAccess& a) {
           return std::ranges::all_of(own, [&](const ElementAccess& b) {
             return has_zero_distance(accesses, a, b, *variables[0]);
           });
         });
}

/// True when all uses of a buffer outside of `node`, a loop over threads, are in loops over the
/// same threads, and each thread uses elements of its own, or they are all in one such loop, to
/// the threads of which the iterations of `node` are shared out.
bool is_used_by_the_same_threads(const Schedule& schedule, NodeId node, const Ptr<Buffer>& buffer,
                                 NodeId owner, const std::vector<NodeId>& uses) {
  const For& loop = *schedule.as<For>(node);
  const ThreadAxis axis = thread_axis_of(loop);
  if (!is_thread_axis(axis)) return false;
  std::vector<NodeId> loops = {thread_loop_around(schedule, node, axis)};
  for (const NodeId use : uses) {
    if (use == owner) continue;
    const NodeId other = thread_loop_around(schedule, use, axis);
    const auto* threads = other == no_node ? nullptr : schedule.as<For>(other);
    if (!threads || !structural_equal(threads->min, loop.min) ||
        !structural_equal(threads->extent, loop.extent)) {
      return false;
    }
    if (std::ranges::find(loops, other) == loops.end()) loops.push_back(other);
  }
  return loops.size() == 1 || is_of_one_thread_each(schedule, buffer, loops);
}

/// What allocates a buffer that a loop uses: a block, a function, or an Allocate; else no_node.
NodeId allocator_of(const Schedule& schedule, NodeId loop, const Ptr<Buffer>& buffer) {
  const NodeId owner = owner_of(schedule, loop, buffer);
  if (owner != no_node) return owner;
  for (NodeId node = schedule.at(loop).parent; node != no_node; node = schedule.at(node).parent) {
    const auto* allocate = schedule.as<Allocate>(node);
    if (allocate && allocate->buffer_var.same_as(buffer->data)) return node;
  }
  return no_node;
}

/// True when each thread may have a variable for itself: it stores to it before it reads it, and
/// what it leaves no statement reads.
bool is_variable_of_each(const Schedule& schedule, NodeId owner, const For& loop,
                         const Ptr<Buffer>& buffer) {
  return schedule.as<Allocate>(owner) && has_one_element(*buffer) &&
         !is_live_before(loop.body, buffer) &&
         !is_live_after(schedule.statement(owner), loop, buffer);
}

void add_obligations(const Schedule& schedule, NodeId node, std::vector<Refusal>& found) {
  const For& loop = *schedule.as<For>(node);
  // Virtual threads are iterations of one thread.
  if (thread_axis_of(loop) == ThreadAxis::virtual_thread) return;
  for (const Ptr<Buffer>& buffer : thread_memory_in(loop)) {
    const NodeId owner = allocator_of(schedule, node, buffer);
    if (owner == no_node || is_variable_of_each(schedule, owner, loop, buffer)) continue;
    const auto uses = uses_of(schedule, owner, buffer).nodes;
    const bool is_inside_alone = std::ranges::all_of(
        uses, [&](NodeId use) { return use == owner || is_inside(schedule, use, node); });
    if (is_inside_alone || is_used_by_the_same_threads(schedule, node, buffer, owner, uses)) {
      continue;
    }
    found.push_back(
        {&thread_memory_stays_inside,
         {Argument(buffer->name), Argument(buffer->scope()), Argument(loop.loop_var->name)}});
  }
}

}  // namespace

std::vector<Refusal> obligations(const Schedule& schedule) {
  std::vector<Refusal> found;
  std::vector<NodeId> open;
  for (std::uint32_t i = 0; i < schedule.original()->functions.size(); ++i) {
    open.push_back(schedule.root(i));
  }
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    const auto* loop = schedule.as<For>(node);
    if (loop && loop->kind == ForKind::thread_binding) add_obligations(schedule, node, found);
    for (NodeId child = schedule.at(node).first_child; child != no_node;
         child = schedule.at(child).next) {
      open.push_back(child);
    }
  }
  return found;
}

void require_no_obligations(const Schedule& schedule, std::string_view operation) {
  if (!schedule.has_concurrent_loops()) return;
  std::vector<Refusal> found = obligations(schedule);
  if (!found.empty()) throw ScheduleError(schedule, operation, std::move(found.front()));
}

}  // namespace loopsmith
