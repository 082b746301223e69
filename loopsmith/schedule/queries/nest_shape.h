// SPDX-License-Identifier: Apache-2.0
// Guards among nested loops, and bounds that depend on loops around: how a nest takes another order
// in spite of them.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// The bounds of a loop.
struct LoopBounds {
  Expr min;
  Expr extent;
};

/// How nested loops become loops of which each may stand anywhere: guards among them, and bounds
/// that read loops which are to be inside, are asked of the innermost body.
///
/// Theorem. A guard that reads no memory is the same in front of a loop and in each of its
/// iterations, so `if c: for j: s` is `for j: if c: s`, where the bounds of j may be evaluated
/// without c. A loop may have iterations more in which a guard lets nothing happen, or fewer by
/// those: `for j in a..b: s` is `for j in least(a)..most(b): if a <= j < b: s`.
struct NestShape {
  std::vector<std::optional<LoopBounds>> bounds;  ///< New ones of the loops, in their old order.
  Expr guard = {};          ///< Of the bounds; null where they are as they were.
  bool has_guards = false;  ///< Guards stand among the loops.

  bool is_as_it_is() const { return !has_guards && !guard.defined(); }
};

/// Why loops cannot take an order.
struct NestObstacle {
  std::size_t loop;   ///< That holds more than a guarded loop, or whose bounds stay dependent.
  std::size_t inner;  ///< The loop that it would have inside; `loop` itself for the former.
};

/// How the loops of `band`, of which each is in the next one but for guards, take the order
/// `order`; `why` where they cannot.
std::optional<NestShape> shape_for(const Schedule& schedule, std::span<const LoopRV> band,
                                   std::span<const std::size_t> order, NestObstacle& why);

/// Gives the loops that shape, in the order in which they are.
void take_shape(Schedule& schedule, std::span<const LoopRV> band, const NestShape& shape);

/// Narrows loops, outermost first, by a guard of what they run, as far as it says where they start
/// and end in terms of those around them. Gives what is left of it, or null.
Expr narrow_by(const Expr& guard, std::vector<For>& loops);

}  // namespace loopsmith
