// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/warp_conflicts.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/fragments.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/warp_instruction.h"

namespace loopsmith {
std::optional<WarpConflicts> warp_conflicts(const Launch& launch, int warp_size) {
  const auto along_x = std::ranges::find_if(launch.threads, [](const Ptr<For>& each) {
    return thread_axis_of(*each) == ThreadAxis::thread_x;
  });
  if (warp_size < 2 || along_x == launch.threads.end()) return {};
  const For& thread = **along_x;
  const std::int64_t* extent = as_int(thread.extent);
  if (!extent || *extent % warp_size != 0 || has_products_of_four_warps(launch.body)) return {};
  std::vector<Ptr<For>> warps;
  std::ranges::copy_if(launch.threads, std::back_inserter(warps),
                       [&](const Ptr<For>& each) { return !each.same_as(*along_x); });
  const DataType type = thread.loop_var->dtype;
  For lane{
      .loop_var = var("lane", type), .min = int_imm(type, 0), .extent = int_imm(type, warp_size)};
  Expr number = lane.loop_var;
  if (*extent > warp_size) {
    For along = thread;
    along.loop_var = var("warp", type);
    along.extent = int_imm(type, *extent / warp_size);
    number = along.loop_var * int_imm(type, warp_size) + number;
    warps.push_back(make(std::move(along)));
  }
  return WarpConflicts(thread.loop_var, std::move(lane), std::move(number), std::move(warps));
}

ThreadAccess WarpConflicts::in_warp(const ThreadAccess& access) const {
  if (access.is_opaque) return access;
  For lanes = lane_;
  lanes.body = substitute(access.nest, {{thread_, number_}});
  ThreadAccess copy = access;
  copy.nest = clone_with(make(std::move(lanes)), {});
  return copy;
}

/// True when something around both is up to the thread along x: then it is not known which lanes.
bool WarpConflicts::is_of_thread(const std::vector<Stmt>& around) const {
  return std::ranges::any_of(around, [&](const Stmt& each) {
    bool found = false;
    pre_order_visit(with_body(each, no_op()), [&](const Ref& ref) {
      found = found || ref.same_as(thread_);
      return !found;
    });
    return found;
  });
}

bool WarpConflicts::may_conflict(const ThreadAccess& first, const ThreadAccess& second,
                                 const std::vector<Stmt>& around) const {
  if (first.is_opaque || second.is_opaque || is_of_thread(around)) return true;
  return !is_one_ && conflicts_.may_conflict(in_warp(first), in_warp(second), around);
}

bool WarpConflicts::may_conflict_later(const ThreadAccess& first, const ThreadAccess& second,
                                       const For& loop, bool is_next,
                                       const std::vector<Stmt>& around) const {
  if (first.is_opaque || second.is_opaque || is_of_thread(around)) return true;
  return !is_one_ &&
         conflicts_.may_conflict_later(in_warp(first), in_warp(second), loop, is_next, around);
}

}  // namespace loopsmith
