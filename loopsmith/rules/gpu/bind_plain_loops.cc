// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/gpu/bind_plain_loops.h"

#include <algorithm>

#include "loopsmith/ir/walk.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/plain_loops/steps.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith::gpu {
namespace {

using plain_loops::Steps;

/// A launch of fewer iterations takes longer than one thread that runs them.
constexpr std::int64_t worth_a_launch = 32;

bool may_be_bound(Steps& steps, LoopRV loop) {
  auto before = steps.snapshot();
  const bool may = steps.bind(loop, "threadIdx.x");
  steps.restore(std::move(before));
  return may;
}

/// Those of a perfect nest that may run concurrently where they are, in its order.
std::vector<LoopRV> free_loops(Steps& steps, const std::vector<LoopRV>& band) {
  std::vector<LoopRV> free;
  for (const LoopRV loop : band) {
    if (may_be_bound(steps, loop)) free.push_back(loop);
  }
  return free;
}

class PlainNestBinder {
 public:
  PlainNestBinder(Steps& steps, std::int64_t threads) : steps_(steps), threads_(threads) {}

  /// Binds loops of a nest, at any depth; false where there are none.
  bool bind_nest(LoopRV nest) {
    const std::vector<LoopRV> band = plain_loops::band_of(steps_.schedule(), nest);
    const std::vector<LoopRV> free = free_loops(steps_, band);
    if (attempt([&] { return bind_outside(band, free); })) return true;
    // Neighbours in the nest, from the outermost that may run concurrently.
    const auto first = std::ranges::find_if(band, [&](LoopRV loop) { return is_in(free, loop); });
    const auto last =
        std::find_if(first, band.end(), [&](LoopRV loop) { return !is_in(free, loop); });
    if (attempt([&] { return bind_in_line({first, last}); })) return true;
    if (!free.empty() && attempt([&] { return bind_in_line({free[0]}); })) return true;
    bool any = false;
    for (const LoopRV inside : steps_.inside(band.back())) any = bind_nest(inside) || any;
    return any;
  }

  /// Runs a nest by one thread.
  void bind_once(LoopRV nest) {
    const std::optional<LoopRV> once = steps_.add_unit_loop(nest);
    if (once) steps_.bind(*once, "threadIdx.x");
  }

 private:
  static bool is_in(const std::vector<LoopRV>& loops, LoopRV loop) {
    return std::ranges::find(loops, loop) != loops.end();
  }

  template <class Take>
  bool attempt(Take&& take) {
    auto before = steps_.snapshot();
    if (take()) return true;
    steps_.restore(std::move(before));
    return false;
  }

  /// Takes the loops that may run concurrently to the outside: one launch in place of many.
  bool bind_outside(const std::vector<LoopRV>& band, const std::vector<LoopRV>& free) {
    if (free.empty()) return false;
    if (std::ranges::equal(free, std::span(band).first(free.size()))) return bind_in_line(free);
    std::vector<LoopRV> order = free;
    for (const LoopRV loop : band) {
      if (!is_in(free, loop)) order.push_back(loop);
    }
    return steps_.reorder(order) && bind_in_line(free);
  }

  bool bind_in_line(const std::vector<LoopRV>& loops) {
    if (loops.empty() || !is_worth_it(loops)) return false;
    const std::optional<LoopRV> line = steps_.fuse(loops);
    if (!line) return false;
    const std::vector<LoopRV> parts = steps_.split(*line, {infer, threads_});
    return !parts.empty() && steps_.bind(parts[0], "blockIdx.x") &&
           steps_.bind(parts[1], "threadIdx.x");
  }

  bool is_worth_it(const std::vector<LoopRV>& loops) const {
    const bool is_inside = !plain_loops::nest_around(steps_.schedule(), loops[0]).empty();
    return !is_inside || count(steps_.schedule(), loops).value_or(worth_a_launch) >= worth_a_launch;
  }

  Steps& steps_;
  std::int64_t threads_;
};

/// True when what is outside of bound loops uses elements of buffers; bounds of loops may.
bool leaves_host_elements(const Stmt& stmt) {
  bool leaves_some = false;
  pre_order_visit(stmt, [&](const Ref& ref) {
    if (const auto* loop = ref.as<For>()) {
      const bool is_host = loop->kind != ForKind::thread_binding;
      leaves_some = leaves_some || (is_host && leaves_host_elements(loop->body));
      return false;
    }
    if (const auto* loop = ref.as<While>()) {
      leaves_some = leaves_some || leaves_host_elements(loop->body);
      return false;
    }
    leaves_some = leaves_some || ref.is<BufferLoad>() || ref.is<BufferStore>();
    return !leaves_some;
  });
  return leaves_some;
}

}  // namespace

void bind_plain_loops(Schedule& schedule, const RuleContext& context) {
  Steps steps(schedule);
  const std::int64_t threads = std::min(threads_of_loop, context.device.threads_per_block);
  // Sums keep their order.
  const bool may_reassociate = schedule.allows_reassociation();
  steps.allow_reassociation(false);
  for (const LoopRV nest : steps.outermost()) {
    const Stmt& stmt = schedule.statement(schedule.node(nest));
    if (contains<BlockRealize>(stmt) || has_launch(stmt)) continue;
    auto before = steps.snapshot();
    PlainNestBinder binder(steps, threads);
    const bool is_bound = binder.bind_nest(nest);
    bool is_done = is_bound;
    for (const LoopRV loop : steps.outermost()) {
      is_done = is_done && !leaves_host_elements(schedule.statement(schedule.node(loop)));
    }
    if (is_done) continue;
    steps.restore(std::move(before));
    binder.bind_once(nest);
  }
  steps.allow_reassociation(may_reassociate);
}

}  // namespace loopsmith::gpu
