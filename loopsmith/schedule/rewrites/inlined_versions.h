// SPDX-License-Identifier: Apache-2.0
// How inlining is checked: by a program in which the inlined block runs right beside each block
// that it becomes part of, so that it reads the same values at the same time as after inlining.
#pragma once
#include <cstdint>
#include <utility>

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

/// Where an epilogue runs once for each result of a reduction.
enum class AtResult : std::uint8_t {
  start,  ///< Before its first instance, without what it reads of the reduction's results.
  end,    ///< After its last one.
};

/// Two versions of the body of a scope: with an epilogue where it stands, and beside a reduction
/// whose results in `buffer` it reads, with these values of its axes, in terms of the reduction's,
/// where `guards` hold. Nulls where the values are not known.
std::pair<Stmt, Stmt> with_epilogue_at(AtResult place, const Schedule& schedule, NodeId scope,
                                       BlockRV epilogue, BlockRV reduction,
                                       const Ptr<Buffer>& buffer, const Substitution& axes,
                                       const std::vector<Expr>& guards);

}  // namespace loopsmith
