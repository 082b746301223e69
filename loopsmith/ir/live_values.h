// SPDX-License-Identifier: Apache-2.0
// Whether the values that a loop leaves in memory are read.
#pragma once
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// True for a buffer of one element, which is no vector.
bool has_one_element(const Buffer& buffer);

/// May what `loop` leaves in a buffer be read after it? All uses of the memory are in `root`, after
/// which no statement reads it.
///
/// Theorem. Where this is false, no read outside of an execution of the loop finds a value that
/// was stored in that execution.
///
/// Proof. It is true where the memory has another name, or statements jump. Call the memory live at
/// a point if, on some path from there to the end of `root`, a load comes before the first store
/// that is certain to happen on it. Backwards: at the end it is not live; before a store without a
/// predicate it is live if the store itself reads it, and where the buffer has other elements also
/// if it is live after the store; before a sequence, if it is so before the
/// first part; before a branch, if a side says so; where an iteration ends, the next one or what
/// follows the loop may come, so there it is the least solution of end = after or before_body(end).
/// Paths that are never taken make more of it live, never less. A load outside of an execution that
/// finds a value of it lies on a path from its end without a store in between, so there it is live.
bool is_live_after(const Stmt& root, const For& loop, const Ptr<Buffer>& buffer);

/// May a statement read what a buffer holds when it starts?
bool is_live_before(const Stmt& stmt, const Ptr<Buffer>& buffer);

}  // namespace loopsmith
