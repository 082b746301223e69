// SPDX-License-Identifier: Apache-2.0
// The legality check of every step: the program computes after it what it computed before.
#pragma once
#include <optional>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// Found by the law; the texts are its answers.
inline constexpr ResultChange result_changes{
    LegalityQuestion::order, true, "{}",
    "move what it conflicts with first, or keep a copy of the buffer with cache_read"};
inline constexpr ResultChange result_is_unknown{LegalityQuestion::understood, false, "{}",
                                                "take a simpler step, or take it before others"};

/// Refuses a step that moves the blocks of a scope unless each of their instances reads the values
/// that it read before. Throws an InternalError where a sufficient condition that held is wrong.
std::optional<Refusal> refuse_changed_results(const Schedule& before, const Schedule& after,
                                              const Preservation& asked);
/// The same for a step after which the scope runs `after`; null: that is not known. `may_add`: see
/// TwoVersions.
std::optional<Refusal> refuse_changed_results(const Schedule& before, NodeId scope,
                                              const Stmt& after, bool may_add);
/// The same for a scope that runs `written`, which does what it does.
std::optional<Refusal> refuse_changed_results(const Schedule& before, NodeId scope,
                                              const Stmt& written, const Stmt& after);

}  // namespace loopsmith
