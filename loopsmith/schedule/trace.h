// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/schedule/argument.h"
#include "loopsmith/schedule/cow_vector.h"

namespace loopsmith {

class PrimitiveBase;

/// One applied primitive: its arguments in the order of its parameters, and what it gave. Handles
/// in it are numbers of the schedule that recorded it.
struct Step {
  const PrimitiveBase* primitive = nullptr;
  std::vector<Argument> arguments;
  Argument result;
  bool reorders_reduction = false;  ///< It combines the elements of a reduction in another order.
};

/// The steps of a schedule: a program that makes the same schedule again, here or of another
/// function of the same structure.
class Trace {
 public:
  Trace() = default;
  explicit Trace(CowVector<Step> steps) : steps_(std::move(steps)) {}

  const CowVector<Step>& steps() const { return steps_; }

  /// The lines `i, j = sch.get_loops(block=b0)`, without what surrounds them.
  std::vector<std::string> as_python(bool remove_postproc = false) const;
  /// A function `apply_trace(sch)` in Python.
  std::string text() const;
  /// `[[[kind, inputs, attrs, outputs], ...], [[step, decision], ...]]`
  std::string as_json(bool remove_postproc = false) const;
  /// What a replay asks and tells.
  struct Observer {
    /// Another decision for a step that has one, of which it is the last argument; the handles
    /// among the arguments are of the schedule. Nothing: the one it had.
    std::function<std::optional<Argument>(std::size_t step, const std::vector<Argument>& arguments)>
        decide = {};
    /// Called after each step.
    std::function<void(std::size_t step)> done = {};
  };
  /// Does every step again. Throws what the primitives throw.
  void apply_to(Schedule& schedule, bool remove_postproc, const Observer& observer) const;
  void apply_to(Schedule& schedule, bool remove_postproc = false) const;
  /// Does every step again; samples decide anew, or as the schedule was told.
  void sample_again(Schedule& schedule) const;
  /// Does the steps that `as_json` wrote; each is one of `primitives`.
  static void apply_json(std::string_view json, Schedule& schedule,
                         std::span<const PrimitiveBase* const> primitives);
  /// The trace that `as_json` wrote, apart from any schedule: it can be applied to one.
  static Trace from_json(std::string_view json, std::span<const PrimitiveBase* const> primitives);

  /// Adds a step, as if it had been done after the others.
  void append(Step step) { steps_.push_back(std::move(step)); }
  /// Takes the last step away; nullopt when there is none.
  std::optional<Step> pop();

  /// The decision of a step; nullopt when it has none.
  std::optional<Argument> decision(std::size_t step) const;
  Trace with_decision(std::size_t step, Argument decision, bool remove_postproc) const;
  /// Without pure steps whose results are not used.
  Trace simplified(bool remove_postproc) const;

 private:
  std::size_t size(bool remove_postproc) const;

  CowVector<Step> steps_;
};

}  // namespace loopsmith
