// SPDX-License-Identifier: Apache-2.0
// What is legal at a glance. Each function states a lemma of a theorem in
// arith/dependence/preservation.h: it may say no where that says yes, and never the other way
// round.
#pragma once
#include "loopsmith/schedule/scope_uses.h"

namespace loopsmith {

/// Does a block that is complete, or a reduction, find the same inputs in a loop in front of which
/// it stands now, and is it not missed where it was?
///
/// Lemma. Let the block and the loop have no loop of the scope in common, and no instance of a
/// reduction run twice; let each statement that writes what the block reads stand before both the
/// block and the loop, or behind both, in the text, and have no loop in common with either; let the
/// block alone write its outputs, which are local, and let them be read inside the loop alone. If
/// each iteration of the loop runs all instances that write what it reads, results stay. Proof:
/// (order) two statements without a common loop run one after the other, all instances of the first
/// before all of the second, and no statement that conflicts with the block's reads stands between
/// the two places; conflicts of the block with itself are between equal names, since axes of a
/// complete block or reduction tell its elements apart. (cover) is the last premise.
bool moves_past_nothing(const Schedule& schedule, BlockRV block, LoopRV loop,
                        const ScopeUses& uses);

/// Is a block that is complete, or a reduction, free to run in a loop behind which it stands now?
///
/// Lemma. Let the block and the loop have no loop of the scope in common; let each statement
/// outside of the loop that writes what the block reads, or uses what it writes, stand before both
/// or behind both, and have no loop in common with either; let nothing inside the loop use what it
/// writes. If each iteration computes for good what the instances that it runs read, and all
/// instances run, results stay. Proof: as above; the producers inside the loop are the last
/// premise.
bool lags_behind_nothing(const Schedule& schedule, BlockRV block, LoopRV loop,
                         const ScopeUses& uses);

/// Does a block that is inlined at a place behind it read there what it read?
///
/// Lemma. Let the block and the place have no loop of the scope in common, and let each statement
/// that writes what the block reads stand before both or behind both, and have no loop in common
/// with either. Then (order) holds as above.
bool reads_the_same_at(const Schedule& schedule, BlockRV block, const Place& place,
                       const ScopeUses& uses);

/// The same of a place in front of the block, at which it also writes.
bool does_the_same_at(const Schedule& schedule, BlockRV block, const Place& place,
                      const Buffer* between, const ScopeUses& uses);

}  // namespace loopsmith
