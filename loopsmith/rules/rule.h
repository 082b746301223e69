// SPDX-License-Identifier: Apache-2.0
// What a rule of the default schedule is: a function that takes steps.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "loopsmith/ir/target.h"
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/rules/nest.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// What one rule is responsible for: a statement at the top of the function, or neighbours that are
/// to share their outer loops. Rules for GPUs are asked about one block.
struct Subject {
  std::vector<Nest> nests;      ///< What the blocks are; empty where one is no box of its axes.
  std::size_t shared = 0;       ///< How many outer axes the nests have in common.
  std::vector<BlockRV> blocks;  ///< The outermost blocks, in their order; none in plain loops.
  std::optional<LoopRV> loop;   ///< The outermost loop of the first statement, if that is one.
};

/// The processor or the device, and how numbers are left.
struct RuleContext {
  const CpuModel& machine;
  /// Whether numbers are samples, with the rule's choice as the decision, that a search may change.
  bool leaves_holes = false;
  GpuLimits device{};   ///< For rules for GPUs.
  Expr threads = true;  ///< Where the subject is worth threads; see `threads_pay`.

  /// The same for a subject with these nests.
  RuleContext with_work_of(const std::vector<Nest>& nests, const PrimFunc& func) const;
  bool has_threads() const { return !is_const_int(threads, 0); }

  /// A number for a step: `own`, or a sample that decides on it, of `own` and `others`.
  Factor number(Schedule& schedule, std::int64_t own, std::vector<std::int64_t> others) const;
};

/// Schedules its subject by steps, if it is one of its kind, and gives whether it did. Where it
/// does not, or a step is refused, its steps are taken back.
struct Rule {
  std::string_view name;
  bool (*take)(Schedule& schedule, const Subject& subject, const RuleContext& context);
};

}  // namespace loopsmith
