// SPDX-License-Identifier: Apache-2.0
// Statements that access a buffer by updates of one combiner alone.
#pragma once
#include <string>
#include <variant>

#include "loopsmith/ir/accumulation.h"

namespace loopsmith {

/// The combiner by which all of `stmt` that accesses a buffer updates it; or why there is none.
///
/// Theorem. Let all accesses to a buffer while a loop runs be updates `x = x + e` by one operation
/// that is associative and commutative, where e, the index and the condition read no element of it.
/// Then what an element holds after the loop is what it held before, combined with all e in any
/// order; so the e of some iterations may be combined first, from the neutral element.
std::variant<Combiner, std::string> only_combiner(const Stmt& stmt, const Ptr<Buffer>& buffer);

}  // namespace loopsmith
