// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/obligations.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/ir/storage_scope.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/analysis.h"
#include "loopsmith/schedule/buffer_uses.h"

namespace loopsmith {
namespace {

/// The buffers that a loop uses, and of which each of its iterations has one as a thread.
std::vector<Ptr<Buffer>> thread_memory_in(const For& loop) {
  std::vector<Ptr<Buffer>> found;
  std::unordered_set<const Object*> seen;
  pre_order_visit(loop.body, [&](const Ref& ref) {
    const auto buffer = Ptr<Buffer>::from(ref);
    if (!buffer) return true;
    const bool is_own = buffer->scope() != "global" &&
                        is_of_one_thread(loop.thread_binding->thread_tag, buffer->scope());
    if (is_own && seen.insert(buffer.get()).second) found.push_back(buffer);
    return false;
  });
  return found;
}

void add_obligations(const Schedule& schedule, NodeId node, std::vector<Refusal>& found) {
  const For& loop = *schedule.as<For>(node);
  // Virtual threads are iterations of one thread.
  if (loop.thread_binding->thread_tag.starts_with("vthread")) return;
  for (const Ptr<Buffer>& buffer : thread_memory_in(loop)) {
    const NodeId owner = owner_of(schedule, node, buffer);
    if (owner == no_node) continue;
    const auto uses = uses_of(schedule, owner, buffer).nodes;
    const bool is_inside_alone = std::ranges::all_of(
        uses, [&](NodeId use) { return use == owner || is_inside(schedule, use, node); });
    if (is_inside_alone) continue;
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

void require_no_obligations(const Schedule& schedule, std::string_view who) {
  if (!schedule.has_loops_at_once()) return;
  std::vector<Refusal> found = obligations(schedule);
  if (!found.empty()) throw ScheduleError(schedule, who, std::move(found.front()));
}

}  // namespace loopsmith
