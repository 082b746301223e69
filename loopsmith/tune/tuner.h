// SPDX-License-Identifier: Apache-2.0
// Searches for a quick schedule of a program.
#pragma once
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "loopsmith/driver/build.h"
#include "loopsmith/driver/schedule.h"
#include "loopsmith/runtime/ndarray.h"

namespace loopsmith::tune {

/// What a search is given. All may be left out.
struct SearchOptions {
  Target target = Target("llvm -mcpu=native");
  /// Takes steps on a schedule of the program, some of which sample; none: the default schedule
  /// with its numbers left open, and the generated space, between which the first sample chooses.
  /// One thread draws from a space that is given.
  std::function<void(tir::Schedule&)> space = {};
  int trials = 64;  ///< At most so many candidates are measured,
  double seconds = std::numeric_limits<double>::infinity();  ///< and for so long, about.
  std::uint64_t seed = 1;
  double trial_seconds = 10;  ///< A candidate that takes longer has failed.
  /// What candidates are called with; none: random numbers, for programs of constant sizes.
  std::vector<NDArray> arguments = {};
  BuildOptions build = {};
};

/// A candidate that was tried.
struct Trial {
  std::string trace;     ///< Its steps, as `tir::Schedule::apply_json` takes them.
  double predicted = 0;  ///< Seconds of a call by the model, about.
  double seconds = std::numeric_limits<double>::infinity();  ///< The median; infinity: it failed.
  std::string failure = {};
};

/// What a search has found.
struct Best {
  tir::Schedule schedule;      ///< The quickest of the space.
  double seconds = 0;          ///< Of a call with it,
  double default_seconds = 0;  ///< and with the default schedule, measured in turns with it.
  std::vector<Trial> trials;
  /// False where the program as it is written took too long to compare results with it; they are
  /// those of the default schedule in any case.
  bool is_checked = false;

  /// True where `build` without a schedule gives quicker code.
  bool default_is_quicker() const { return default_seconds < seconds; }
};

/// Searches a space for the schedule of a program that is quickest on this machine. Candidates are
/// compiled here, and run in child processes of limited time and memory; results are compared with
/// those of the default schedule, and those of the best with the program as it is written. The same
/// candidates for the same seed, as far as measurements are.
/// Throws a UserError where arguments cannot be drawn, or no candidate could be measured, and for a
/// target that is a device.
Best search(const Ptr<PrimFunc>& func, const SearchOptions& options = {});
/// The same of a schedule with samples, which decide anew; `space` comes after its steps.
Best search(const tir::Schedule& schedule, const SearchOptions& options = {});

}  // namespace loopsmith::tune
