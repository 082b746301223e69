// SPDX-License-Identifier: Apache-2.0
// What searches have found.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "loopsmith/driver/schedule.h"
#include "loopsmith/tune/search/search_options.h"
#include "loopsmith/tune/sizes/size_choice.h"

namespace loopsmith::tune {

/// What a search has found.
struct Best {
  tir::Schedule schedule;       ///< The quickest of the space.
  double seconds = 0;           ///< Of a call with it,
  double default_seconds = 0;   ///< and with the default schedule, measured in turns with it.
  std::vector<double> samples;  ///< Seconds of calls in the last measurement,
  std::vector<double> default_samples;  ///< each beside one of the default schedule.
  std::vector<double> cold_samples;     ///< The same of calls whose data is in no cache.
  std::vector<double> default_cold_samples;
  std::vector<Trial> trials;
  std::map<std::string, int> refused;  ///< Draws that were no legal schedule, by what was said.
  /// False where the program as it is written took too long to compare results with it; they are
  /// those of the default schedule in any case.
  bool is_checked = false;
  bool was_interrupted = false;     ///< Ctrl-C ended the search, see `ends_at_interrupt`.
  std::string record_failure = {};  ///< Why the file of records could not take it.

  /// True where `build` without a schedule gives quicker code.
  bool default_is_quicker() const { return default_seconds < seconds; }
  /// Whether nine tenths of the pairs of samples say that this schedule is quicker, more than
  /// noise; and with cold caches it is not slower in all pairs.
  bool is_quicker() const;
  /// Which choices mattered, those that did most first: a line each, with the median times of the
  /// quickest decision and of the slowest. Compared are the trials with the steps of the best one.
  std::string explain() const;
  /// One line: the times, how many candidates there were, and what became of them.
  std::string text() const;
  /// A report as a page of its own: charts, what mattered, what failed, the steps, the program.
  std::string html() const;
  /// Its charts as an element of SVG: the best so far against time, times against decisions.
  std::string svg() const;
};

/// What a search for ranges of sizes has found: a few schedules, and which of them runs.
struct BestSizes {
  Ptr<PrimFunc> func;                         ///< The program without a schedule,
  Ptr<PrimFunc> reference;                    ///< and with the default one, which is variant 0.
  std::vector<tir::Schedule> schedules = {};  ///< The variants from 1 on.
  SizeTree tree = {};                         ///< Which of them runs.
  std::vector<SizedRow> rows = {};            ///< What was measured, for each of the drawn sizes.
  std::vector<Trial> trials = {};             ///< Their times are means over the sizes.
  bool is_checked = false;
  bool was_interrupted = false;
  std::string record_failure = {};

  /// True where the default schedule is the best for all sizes.
  bool is_default() const { return tree.is_leaf() && tree.variant == 0; }
  /// The program as one function, for `build`, which decides by its sizes what runs.
  Ptr<PrimFunc> function() const;
  /// How many times as quick as the default schedule: the weighted geometric mean.
  double speedup() const { return speedup_of(rows); }
  /// Which choices of a variant mattered, by the mean times over the sizes. Throws a UserError
  /// where there is no such variant, or it is 0, the default schedule.
  std::string explain(std::size_t variant = 1) const;
  /// The tree, and a line for each of the drawn sizes.
  std::string text() const;
  /// As those of `Best`; the charts have the times against each size that varies.
  std::string html() const;
  std::string svg() const;
};

/// What a search for the functions of a module has found.
struct BestModule {
  Ptr<IRModule> module;  ///< The program without schedules.
  std::map<std::string, Best> functions;
  /// Why nothing was found for others, which stay as they are.
  std::map<std::string, std::string> failures = {};

  /// The module for `build`: functions for which nothing quicker was found are as they were.
  Ptr<IRModule> scheduled() const;
  /// The reports of all functions as one page.
  std::string html() const;
};

}  // namespace loopsmith::tune
