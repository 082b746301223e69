// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <initializer_list>
#include <string_view>
#include <vector>

#include "loopsmith/schedule/schedule_error.h"

namespace loopsmith {

/// Calls that may do what a refused one was to do. What one of them gives is named by handles of
/// schedule 0, which later ones use; all others are of the schedule.
using Repair = std::vector<Step>;

/// What may help where a condition does not hold, the likeliest first. None of it was tried.
using Repairs = std::vector<Repair>;
Repairs repairs_of(const RefusedCall& call);

/// A call with its first arguments; the others have their defaults.
Step call_of(const PrimitiveBase& primitive, std::vector<Argument> arguments);
/// The refused call again, with another argument.
Step again_with(const RefusedCall& call, std::string_view parameter, Argument argument);
/// The refused call as it was.
Step again(const RefusedCall& call);
/// An argument of the refused call; null when it has no such parameter.
const Argument* argument_of(const RefusedCall& call, std::string_view parameter);

// ---- By what the condition speaks of ----

Repairs other_loops(const RefusedCall& call);
Repairs partial_results(const RefusedCall& call);
Repairs windows_one_by_one(const RefusedCall& call);
Repairs other_orders(const RefusedCall& call);
Repairs loops_once(const RefusedCall& call);
Repairs loops_below(const RefusedCall& call);
Repairs neighbours(const RefusedCall& call);
Repairs inits_before(const RefusedCall& call);
Repairs without_annotations(const RefusedCall& call);
Repairs an_inferred_factor(const RefusedCall& call);
Repairs one_inferred_factor(const RefusedCall& call);
Repairs no_names(const RefusedCall& call);

Repairs loops_of_users(const RefusedCall& call);
Repairs producers_at_loops(const RefusedCall& call);
Repairs other_places(const RefusedCall& call);
Repairs readers_first(const RefusedCall& call);
Repairs loops_instead_of_inlining(const RefusedCall& call);
Repairs into_the_producer(const RefusedCall& call);
Repairs loops_around_block(const RefusedCall& call);
Repairs decompose_first(const RefusedCall& call);
Repairs cache_in_place(const RefusedCall& call);
Repairs first_axis(const RefusedCall& call);

Repairs similar_blocks(const RefusedCall& call);
Repairs similar_loops(const RefusedCall& call);
Repairs loops_by_block(const RefusedCall& call);
Repairs similar_functions(const RefusedCall& call);
Repairs similar_scopes(const RefusedCall& call);
Repairs similar_types(const RefusedCall& call);
Repairs similar_threads(const RefusedCall& call);
Repairs similar_annotations(const RefusedCall& call);
Repairs buffers_of_block(const RefusedCall& call);
Repairs what_they_became(const RefusedCall& call);

}  // namespace loopsmith
