// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/shared_tiles.h"

#include <algorithm>

#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/stores_alike.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/private_memory.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"

namespace loopsmith {
namespace {

bool is_over_threads(const For* loop) {
  return loop && is_thread_axis(thread_axis_of(*loop));
}

/// True when all threads of a block come by a node inside `loop`, which is, or will be, one over
/// threads.
bool is_on_the_way_of_all(const Schedule& schedule, NodeId node, LoopRV loop) {
  std::vector<NodeId> way;  // From the outside in.
  for (; node != no_node; node = schedule.at(node).parent) way.insert(way.begin(), node);
  std::vector<const Object*> differing;
  const auto differs = [&](const Expr& expr) {
    bool found = false;
    pre_order_visit(expr, [&](const Ref& ref) {
      found = found || std::ranges::find(differing, ref.get()) != differing.end();
      return !found;
    });
    return found;
  };
  for (const NodeId at : way) {
    if (const auto* each = schedule.as<For>(at)) {
      const bool is_thread = is_over_threads(each) || schedule.loop_at(at) == loop;
      if (differs(each->min) || differs(each->extent)) return false;
      if (is_thread) differing.push_back(each->loop_var.get());
    } else if (const auto* branch = schedule.as<IfThenElse>(at)) {
      if (differs(branch->condition)) return false;
    } else if (const auto* let = schedule.as<LetStmt>(at)) {
      if (differs(let->value)) differing.push_back(let->var.get());
    } else if (const auto* realize = schedule.as<BlockRealize>(at)) {
      if (differs(realize->predicate)) return false;
      for (std::size_t i = 0; i < realize->iter_values.size(); ++i) {
        if (differs(realize->iter_values[i])) {
          differing.push_back(realize->block->iter_vars[i]->var.get());
        }
      }
    } else if (schedule.as<While>(at)) {
      return false;
    }
  }
  return true;
}

/// True when threads wait for each other between the stores and what else uses the buffer.
bool is_waited_for(const Schedule& schedule, const Ptr<Buffer>& buffer, LoopRV loop,
                   OwnMemory& memory) {
  const NodeId node = schedule.node(loop), owner = owner_of(schedule, node, buffer);
  const BufferAccesses& uses = memory.uses(owner == no_node ? node : owner, buffer);
  if (!uses.by_indices_alone()) return false;
  std::vector<NodeId> inside;
  for (const NodeId use : uses.nodes) {
    if (is_inside(schedule, use, node)) inside.push_back(use);
  }
  return std::ranges::all_of(inside, [&](NodeId a) {
    return std::ranges::all_of(inside, [&](NodeId b) {
      if (a == b && !schedule.as<SeqStmt>(a)) return true;
      return is_on_the_way_of_all(schedule, common_ancestor(schedule, a, b), loop);
    });
  });
}

/// True when the two run through the same numbers.
bool have_the_same_extent(const For& a, const For& b) {
  return structural_equal(a.min, b.min) && structural_equal(a.extent, b.extent) &&
         is_const_int(a.step, 1) && is_const_int(b.step, 1);
}

}  // namespace

std::vector<Ptr<Buffer>> filled_identically(const Schedule& schedule, LoopRV loop,
                                            const std::vector<Ptr<Buffer>>& buffers,
                                            OwnMemory& memory) {
  std::vector<Ptr<Buffer>> alike;
  for (const Ptr<Buffer>& buffer : buffers) {
    if (is_shared_by_threads(memory_scope(*buffer)) && stores_alike(schedule.get(loop), buffer) &&
        is_waited_for(schedule, buffer, loop, memory)) {
      alike.push_back(buffer);
    }
  }
  return alike;
}

bool may_share_out(const Schedule& schedule, LoopRV outer, LoopRV inner, OwnMemory& memory) {
  const For& loop = schedule.get(inner);
  if (!have_the_same_extent(schedule.get(outer), loop)) return false;
  std::vector<Ptr<Buffer>> filled;
  bool stores_alone = true;
  pre_order_visit(loop.body, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    if (store) filled.push_back(store->buffer);
    const auto* call = ref.as<Evaluate>();
    stores_alone = stores_alone && !(call && !is_pure(call->value)) && !ref.is<While>();
    return stores_alone && !is_expr(*ref.get());
  });
  return stores_alone &&
         filled_identically(schedule, outer, filled, memory).size() == filled.size();
}

}  // namespace loopsmith
