// SPDX-License-Identifier: Apache-2.0
// What a search is given.
#pragma once
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "loopsmith/driver/build.h"
#include "loopsmith/driver/schedule.h"
#include "loopsmith/runtime/ndarray.h"
#include "loopsmith/schedule/handles.h"
#include "loopsmith/tune/search/strategy.h"
#include "loopsmith/tune/spaces/numerics.h"

namespace loopsmith::tune {

/// What a sample of a schedule decided: the primitive, and a number, the place of a candidate, or a
/// list of factors.
using Decision = std::pair<std::string, Argument>;
/// Returns other decisions for those of a candidate, with what a seed gives. What a sample may not
/// decide is drawn.
using Mutator =
    std::function<std::vector<Decision>(const std::vector<Decision>& decided, std::uint64_t seed)>;

/// A way to schedule a block, beside those of the generated space.
struct Rule {
  /// By which records keep trials; empty: they are not kept.
  std::string name = {};
  /// Takes steps on a block, some of which may sample; false, before the first one, where it has
  /// none for it. What it throws as a ScheduleError is a draw that is no schedule.
  std::function<bool(tir::Schedule&, BlockRV)> apply;
};

/// A candidate that was tried.
struct Trial {
  std::string function;  ///< The name of the function.
  std::string trace;     ///< Its steps, as `tir::Schedule::apply_json` takes them.
  double predicted = 0;  ///< Seconds of a call by the model, about.
  double seconds = std::numeric_limits<double>::infinity();  ///< The median; infinity: it failed.
  std::string failure = {};  ///< What kind of failure it was: "compile error", "wrong result", ...
  std::string detail = {};   ///< What was said of it.
  double elapsed = 0;        ///< Seconds since the search began.
};

/// What a search is given. All may be left out.
struct SearchOptions {
  Target target = Target("llvm -mcpu=native");
  /// Takes steps on a schedule of the program, some of which sample; none: the default schedule
  /// with its numbers left open, and the generated space, between which the first sample chooses.
  /// One thread draws from a space that is given.
  std::function<void(tir::Schedule&)> space = {};
  /// The name of that space, by which records keep its trials: a search of the same program in a
  /// space of this name goes on with them. Empty: they are not kept. In Python, it is the module
  /// and the name of the function.
  std::string space_name = {};
  /// Rules of one's own, beside those of the generated space, where that is searched; one thread
  /// draws then.
  std::vector<Rule> rules = {};
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
  /// It ends when the best candidate left is expected to save less than this share of the best
  /// time, as far off as the model has been; 0: it does not.
  double regret = 0;
  Strategy strategy = Strategy::evolutionary;  ///< Which candidates come next.
  int variants = 4;  ///< Of ranges of sizes: at most so many schedules beside the default one.
  /// Locked, the program without a schedule is what is to be beaten.
  Numerics numerics = Numerics::free;
  /// Ranks candidates: seconds of a call, in any unit; none: a model of the processor.
  std::function<double(const Ptr<PrimFunc>&)> model = {};
  /// Told what candidates were measured to take, those of `records` included, by a `model` that
  /// learns.
  std::function<void(const Ptr<PrimFunc>&, double seconds)> learn = {};
  Mutator mutator = {};  ///< Changes decisions of the quickest; none: one of them.
  /// Measures: seconds of some calls of a scheduled function; it throws a UserError where that
  /// fails. None: child processes of this one, which compare results, too.
  std::function<std::vector<double>(const Ptr<PrimFunc>&)> runner = {};
  /// A file of records (`tune/records/records.h`), which takes each trial when it is measured, and
  /// the schedule if it is quicker than the default one; empty: none. A search of the same program
  /// in the same space, here or in Python, goes on with the trials.
  std::string records = {};
  std::function<void(const Trial&)> on_trial = {};  ///< Called after each one.
  /// Whether SIGINT (Ctrl-C) ends the search with the best so far; else it is left to the program.
  /// Meanwhile its handler is another one. While the best are measured again, it is back.
  bool ends_at_interrupt = false;
  /// Whether lines on the standard error tell how far it is.
  bool progress = false;
};

}  // namespace loopsmith::tune
