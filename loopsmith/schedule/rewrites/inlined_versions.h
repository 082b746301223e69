// SPDX-License-Identifier: Apache-2.0
// How inlining is checked: by a program in which the inlined block runs right beside each block
// that it becomes part of, so that it reads the same values at the same time as after inlining.
#pragma once
#include <optional>

#include "loopsmith/schedule/queries/scope_accesses.h"
#include "loopsmith/schedule/rewrites/inline_value.h"

namespace loopsmith {

/// The body of the scope with an instance of the block before each of `readers`, for each element
/// of `element.buffer` that it loads there, and none where the block was. Null where the
/// element that a reader loads depends on loops inside of it.
Stmt with_block_before_readers(const Schedule& schedule, NodeId scope, BlockRV block,
                               const ElementValue& element, const std::vector<Place>& readers);

/// The body of the scope with the block right after another one, with these values of its axes, in
/// terms of the other's axes, where `guards` hold; and none where it was.
Stmt with_block_after(const Schedule& schedule, NodeId scope, BlockRV block, BlockRV other,
                      const Substitution& axes, const std::vector<Expr>& guards);

}  // namespace loopsmith
