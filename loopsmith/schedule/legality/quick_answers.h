// SPDX-License-Identifier: Apache-2.0
// What is legal at a glance. Each function states a lemma of a theorem in
// arith/dependence/preservation.h: it may say no where that says yes, and never the other way
// round.
#pragma once
#include <span>

#include "loopsmith/schedule/queries/scope_accesses.h"

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
                        const ScopeAccesses& uses);

/// Is a block that is complete, or a reduction, free to run in a loop behind which it stands now?
///
/// Lemma. Let the block and the loop have no loop of the scope in common; let each statement
/// outside of the loop that writes what the block reads, or uses what it writes, stand before both
/// or behind both, and have no loop in common with either; let nothing inside the loop use what it
/// writes. If each iteration computes for good what the instances that it runs read, and all
/// instances run, results stay. Proof: as above; the producers inside the loop are the last
/// premise.
bool lags_behind_nothing(const Schedule& schedule, BlockRV block, LoopRV loop,
                         const ScopeAccesses& uses);

/// Does a block that is inlined at a place behind it read there what it read?
///
/// Lemma. Let the block and the place have no loop of the scope in common, and let each statement
/// that writes what the block reads stand before both or behind both, and have no loop in common
/// with either. Then (order) holds as above.
bool reads_the_same_at(const Schedule& schedule, BlockRV block, const Place& place,
                       const ScopeAccesses& uses);

/// The same of a place in front of the block, at which it also writes.
bool does_the_same_at(const Schedule& schedule, BlockRV block, const Place& place,
                      const Buffer* between, const ScopeAccesses& uses);

/// Does a buffer keep its values from a copy of it until the last of `readers` reads the copy?
///
/// Lemma. Let no statement that writes the buffer have a loop of the scope in common with a reader
/// or with `around`, which runs the copy and its readers. If the copy stands before the readers, no
/// writer stands between the two, and it takes all that they read, it is coherent: all instances of
/// a writer run before the first copy, or after the last reader.
bool is_unchanged_for(const Schedule& schedule, const Buffer& buffer,
                      std::span<const BlockRV> readers, NodeId around, const ScopeAccesses& uses);

/// Is all that happens to a buffer outside of `nest` before all of it, or after all of it?
///
/// Lemma. If so, and a copy of all elements that the nest may write is made right before the nest
/// and right after it, or each of them is certain to be written in it and copied after it, nobody
/// outside sees the difference.
bool is_used_apart_from(const Schedule& schedule, const Buffer& buffer, NodeId nest,
                        const ScopeAccesses& uses);

/// Is what an iteration of a loop writes of a buffer written for good, and seen by nobody else?
///
/// Lemma. Let the block be the only writer, a complete one or a reduction whose axes no loop around
/// an iteration drives, and let what else uses the buffer have no loop in common with this one.
/// Then an element is written in one iteration alone, and copied back from there once it is done.
bool is_finished_in(const Schedule& schedule, BlockRV block, const Buffer& buffer, LoopRV loop,
                    const ScopeAccesses& uses);

/// True when the block writes each of its elements in one instance, or in one whole reduction.
bool writes_each_once(const Schedule& schedule, BlockRV block, const ScopeAccesses& uses);

}  // namespace loopsmith
