// SPDX-License-Identifier: Apache-2.0
// Stages of which each reads a few neighbours of those before, as filters of images do.
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/rules/program.h"

namespace loopsmith {

/// One stage: an elementwise nest that fills one buffer, and its axes of a strip.
struct StencilStage {
  Nest nest;
  Axis row;     ///< Along which strips are cut: the last axis but for `column`.
  Axis column;  ///< Along which elements are neighbours.
  std::int64_t lanes = 1;
};

/// A stage and all that is computed for it alone, and how it is cut.
struct StencilGroup {
  StencilStage last;
  std::vector<StencilStage> producers;  ///< Those that read before those that are read.
  std::int64_t rows = 0;                ///< Of `last`, in a strip.
};

/// The groups of a program for which strips pay: what strips save of writing and reading
/// intermediates that no core's cache holds is more than computing the rows at their ends again.
std::vector<StencilGroup> stencil_groups(const Program& program, const CpuModel& machine);

}  // namespace loopsmith
