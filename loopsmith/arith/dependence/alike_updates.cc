// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/alike_updates.h"

#include <algorithm>

#include "loopsmith/ir/structural.h"

namespace loopsmith::dependence {
namespace {

/// True for what the body of the reduction updates, one element at a time, and for its init:
/// other elements of the buffer are only read.
bool is_updated_alike(const Program& program, const Access& access) {
  const auto same = [](const Expr& a, const Expr& b) {
    return a.defined() && b.defined() && structural_equal(a, b);
  };
  const Access* updated = access.is_init ? nullptr : &access;
  return std::ranges::all_of(program.accesses, [&](const Access& other) {
    const bool is_update = other.writes && !other.is_init && other.reduction == access.reduction &&
                           other.buffer.same_as(access.buffer);
    if (!is_update) return true;
    if (!updated) updated = &other;
    return std::ranges::equal(other.expressions, updated->expressions, same);
  });
}

}  // namespace

void keep_alike_updates(Program& program, const std::vector<int>& ordered) {
  std::vector<Access*> others;
  for (Access& access : program.accesses) {
    const bool is_ordered = std::ranges::find(ordered, access.reduction) != ordered.end();
    if (access.reduction >= 0 && (is_ordered || !is_updated_alike(program, access))) {
      others.push_back(&access);
    }
  }
  for (Access* access : others) {
    access->reduction = -1;
    access->update = Update::none;
  }
}

}  // namespace loopsmith::dependence
