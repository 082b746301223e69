// SPDX-License-Identifier: Apache-2.0
// Searches for a quick schedule of a program.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "loopsmith/te/schedule.h"
#include "loopsmith/tune/results/best.h"
#include "loopsmith/tune/search/search_options.h"
#include "loopsmith/tune/sizes/sizes.h"

namespace loopsmith::tune {

/// Searches a space for the schedule of a program that is quickest on this machine. Candidates are
/// compiled here, and run in child processes of limited time and memory; results are compared with
/// those of the default schedule, and those of the best with the program as it is written. The same
/// candidates for the same seed, as far as measurements are.
/// Throws a UserError where arguments cannot be drawn, no candidate could be measured, `records` is
/// no file of records, or an option has no meaning. Of a device, no program may have been called in
/// this process before: its children could not use it.
Best search(const Ptr<PrimFunc>& func, const SearchOptions& options = {});
/// The same of a schedule with samples, which decide anew; `space` comes after its steps.
Best search(const tir::Schedule& schedule, const SearchOptions& options = {});
/// The same of a schedule of tensor expressions, as the function whose parameters are `args`.
Best search(const te::Schedule& schedule, const std::vector<Ref>& args,
            const SearchOptions& options = {});
/// Searches for symbolic sizes that vary: numbers, ranges, or numbers with weights. Some are drawn,
/// both ends among them, each candidate is measured with each of these, and the result is one
/// function of a few schedules. Throws a UserError for arguments, too: they have sizes of their
/// own.
BestSizes search_sizes(const Ptr<PrimFunc>& func, const std::map<std::string, SizeSpec>& sizes,
                       const SearchOptions& options = {});
/// Searches for the functions of a module, which share the trials: more go where they gain more,
/// weighted by how often each function is called, 1 where nothing is said.
/// Throws a UserError for a module without functions, where nothing is found for any, for weights
/// of none, and for arguments.
BestModule search_module(const Ptr<IRModule>& module,
                         const std::map<std::string, double>& weights = {},
                         const SearchOptions& options = {});

}  // namespace loopsmith::tune
