// SPDX-License-Identifier: Apache-2.0
// The smallest statement that a step changed: its legality can be decided without the rest.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// A statement before and after a step, and what holds of the variables around it.
struct ChangedPart {
  Stmt before;
  Stmt after;
  Expr known;
  bool is_repeated = false;  ///< A loop is around it.
};

/// What differs between two versions of a program: the same loops and conditions around it, and the
/// same statements before and after it in their sequences, are taken away. nullopt where nothing
/// can be, or where the part jumps out of itself.
///
/// Theorem. If both versions of the part do the same to memory, for all values of the variables
/// around it, so do both programs: each execution of the one part may take the place of one of the
/// other. Memory that the rest of the program accesses is then seen outside of the part, and so is
/// what one execution of the part may leave for the next.
std::optional<ChangedPart> changed_part(const Stmt& before, const Stmt& after);

/// Those of `buffers` that no execution of the part shares with anything: nothing outside of it
/// accesses them, in either version, and where it is repeated, only its new version does.
std::vector<Ptr<Buffer>> used_in_part_alone(std::span<const Ptr<Buffer>> buffers,
                                            const ChangedPart& part, const Stmt& before,
                                            const Stmt& after);

}  // namespace loopsmith
