// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <initializer_list>
#include <string_view>
#include <vector>

#include "loopsmith/schedule/schedule_error.h"

namespace loopsmith {

/// Calls that may do what a refused one was to do. What one of them gives is named by handles of
/// schedule 0, which later ones use; all others are of the schedule.
using Fix = std::vector<Step>;

/// What may help where a condition does not hold, the likeliest first. None of it was tried.
using Fixes = std::vector<Fix>;
Fixes candidate_fixes(const RefusedCall& call);

/// A call with its first arguments; the others have their defaults.
Step call_of(const PrimitiveBase& primitive, std::vector<Argument> arguments);
/// The refused call again, with another argument.
Step again_with(const RefusedCall& call, std::string_view parameter, Argument argument);
/// The refused call as it was.
Step again(const RefusedCall& call);
/// An argument of the refused call; null when it has no such parameter.
const Argument* argument_of(const RefusedCall& call, std::string_view parameter);

// ---- By what the condition speaks of ----

Fixes other_loops(const RefusedCall& call);
Fixes partial_results(const RefusedCall& call);
Fixes windows_one_by_one(const RefusedCall& call);
Fixes other_orders(const RefusedCall& call);
Fixes innermost(const RefusedCall& call);
Fixes loops_once(const RefusedCall& call);
Fixes loops_below(const RefusedCall& call);
Fixes neighbours(const RefusedCall& call);
Fixes inits_before(const RefusedCall& call);
Fixes without_annotations(const RefusedCall& call);
Fixes an_inferred_factor(const RefusedCall& call);
Fixes one_inferred_factor(const RefusedCall& call);
Fixes no_names(const RefusedCall& call);

Fixes loops_of_users(const RefusedCall& call);
Fixes producers_at_loops(const RefusedCall& call);
Fixes other_places(const RefusedCall& call);
Fixes readers_first(const RefusedCall& call);
Fixes loops_instead_of_inlining(const RefusedCall& call);
Fixes into_the_producer(const RefusedCall& call);
Fixes loops_around_block(const RefusedCall& call);
Fixes decompose_first(const RefusedCall& call);
Fixes cache_in_place(const RefusedCall& call);
Fixes first_axis(const RefusedCall& call);

Fixes similar_blocks(const RefusedCall& call);
Fixes similar_loops(const RefusedCall& call);
Fixes loops_by_block(const RefusedCall& call);
Fixes similar_functions(const RefusedCall& call);
Fixes similar_scopes(const RefusedCall& call);
Fixes similar_types(const RefusedCall& call);
Fixes similar_threads(const RefusedCall& call);
Fixes similar_annotations(const RefusedCall& call);
Fixes buffers_of_block(const RefusedCall& call);
Fixes what_they_became(const RefusedCall& call);

}  // namespace loopsmith
