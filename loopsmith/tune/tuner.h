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
#include "loopsmith/tune/numerics.h"

namespace loopsmith::tune {

/// What a sample of a schedule decided: the primitive, and a number, the place of a candidate, or a
/// list of factors.
using Decision = std::pair<std::string, Argument>;
/// Returns other decisions for those of a candidate, with what a seed gives. What a sample may not
/// decide is drawn.
using Mutator =
    std::function<std::vector<Decision>(const std::vector<Decision>& decided, std::uint64_t seed)>;

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
  std::int64_t trial_bytes = std::int64_t{4} << 30;  ///< What the process of one may take.
  /// It ends after so many candidates in a row that were not 1 % quicker.
  int patience = std::numeric_limits<int>::max();
  /// Locked, the program without a schedule is what is to be beaten.
  Numerics numerics = Numerics::free;
  /// Ranks candidates: seconds of a call, in any unit; none: a model of the processor.
  std::function<double(const Ptr<PrimFunc>&)> model = {};
  Mutator mutator = {};  ///< Changes decisions of the quickest; none: one of them.
  /// Measures: seconds of some calls of a scheduled function; it throws a UserError where that
  /// fails. None: child processes of this one, which compare results, too.
  std::function<std::vector<double>(const Ptr<PrimFunc>&)> runner = {};
  /// A file of records (`tune/records.h`), which takes the schedule if it is quicker than the
  /// default one; empty: none.
  std::string records = {};
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
  tir::Schedule schedule;       ///< The quickest of the space.
  double seconds = 0;           ///< Of a call with it,
  double default_seconds = 0;   ///< and with the default schedule, measured in turns with it.
  std::vector<double> samples;  ///< Seconds of calls in the last measurement,
  std::vector<double> default_samples;  ///< each beside one of the default schedule.
  std::vector<Trial> trials;
  /// False where the program as it is written took too long to compare results with it; they are
  /// those of the default schedule in any case.
  bool is_checked = false;
  std::string record_failure = {};  ///< Why the file of records could not take it.

  /// True where `build` without a schedule gives quicker code.
  bool default_is_quicker() const { return default_seconds < seconds; }
  /// Whether nine tenths of the pairs of samples say that this schedule is quicker: more than
  /// noise.
  bool is_quicker() const;
  /// Which choices mattered, those that did most first: a line each, with the median times of the
  /// quickest decision and of the slowest. Compared are the trials with the steps of the best one.
  std::string explain() const;
};

/// Searches a space for the schedule of a program that is quickest on this machine. Candidates are
/// compiled here, and run in child processes of limited time and memory; results are compared with
/// those of the default schedule, and those of the best with the program as it is written. The same
/// candidates for the same seed, as far as measurements are.
/// Throws a UserError where arguments cannot be drawn, no candidate could be measured, or `records`
/// is no file of records, and for a target that is a device.
Best search(const Ptr<PrimFunc>& func, const SearchOptions& options = {});
/// The same of a schedule with samples, which decide anew; `space` comes after its steps.
Best search(const tir::Schedule& schedule, const SearchOptions& options = {});

}  // namespace loopsmith::tune
