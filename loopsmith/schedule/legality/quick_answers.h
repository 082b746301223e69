// SPDX-License-Identifier: Apache-2.0
// Sufficient conditions for legality that are cheap to check. Each function states a lemma of a
// theorem in arith/dependence/preservation.h: it may return false where that proves the step, never
// true where it does not. None says yes of a scope that decides by what it writes: a bound or a
// condition that is read at another time may run other instances.
#pragma once
#include <span>
#include <vector>

#include "loopsmith/schedule/queries/iteration_instances.h"
#include "loopsmith/schedule/queries/scope_accesses.h"
#include "loopsmith/schedule/rewrites/cache_block.h"

namespace loopsmith {

/// Does a complete block or a reduction block read the same inputs inside a loop that follows it,
/// and is its result needed inside that loop only?
///
/// Lemma. Let the block and the loop have no loop of the scope in common, and no instance of a
/// reduction run twice; let each statement that writes what the block reads stand before both the
/// block and the loop, or behind both, in the text, and have no loop in common with either; let the
/// block alone write its outputs, which are local, and let them be read inside the loop alone, and
/// by no init, as that runs outside of the loop where there is nothing to reduce. If each iteration
/// of the loop runs all instances that write what it reads, results stay. Proof: (order) two
/// statements without a common loop run one after the other, all instances of the first before all
/// of the second, and no statement that conflicts with the block's reads stands between the two
/// places; conflicts of the block with itself are between equal names, since the elements that it
/// writes are an injective function of its spatial axes. (cover) is the last premise.
///
/// Corollary. Let the two have loops in common, the innermost of them be L, and the block stand
/// before the loop. If the premises hold within one iteration of L, and the block runs there all
/// instances with `values` of its axes, which each iteration of the loop then runs, and whole
/// reductions, results stay. Proof: what an iteration of L finds and leaves is the same but for the
/// block's outputs, which nothing else accesses; of these it reads what it has computed itself.
bool moves_past_nothing(const Schedule& schedule, BlockRV block, LoopRV loop,
                        const ScopeAccesses& uses, std::span<const AxisValues> values);

/// May a complete block or a reduction block run inside a loop that precedes it?
///
/// Lemma. Let the block and the loop have no loop of the scope in common; let each statement
/// outside of the loop that writes what the block reads, or uses what it writes, stand before both
/// or behind both, and have no loop in common with either; let nothing inside the loop use what it
/// writes. If each iteration computes for good what the instances that it runs read, and all
/// instances run, results stay. Proof: as above; the producers inside the loop are the last
/// premise.
///
/// Corollary. Let the two have loops in common, the innermost of them be L, and the block be a
/// complete one behind the loop. If the premises hold within one iteration of L, where the
/// iterations of the loop run exactly the instances that the block ran there
/// (`are_those_of_iteration`), results stay: an iteration of L leaves the same.
bool lags_behind_nothing(const Schedule& schedule, BlockRV block, LoopRV loop,
                         const ScopeAccesses& uses);

/// Does a block that is inlined at a later place read the same values there?
///
/// Lemma. Let the block and the place have no loop of the scope in common, and let each statement
/// that writes what the block reads stand before both or behind both, and have no loop in common
/// with either. Then (order) holds as above.
bool reads_the_same_at(const Schedule& schedule, BlockRV block, const Place& place,
                       const ScopeAccesses& uses);

/// The same for an earlier place, at which the block also writes.
bool does_the_same_at(const Schedule& schedule, BlockRV block, const Place& place,
                      const Buffer* between, const ScopeAccesses& uses);

/// Is a buffer unchanged from the time it is copied until the last of `readers` reads the copy?
///
/// Lemma. Let no statement that writes the buffer have a loop of the scope in common with a reader
/// or with `around`, which runs the copy and its readers, and let no reader's init read the buffer,
/// as that runs outside of loops that have no iteration. If the copy stands before the readers, no
/// writer stands between the two, and it takes all that they read, it is coherent: all instances of
/// a writer run before the first copy, or after the last reader.
bool is_unchanged_for(const Schedule& schedule, const Buffer& buffer,
                      std::span<const BlockRV> readers, NodeId around, const ScopeAccesses& uses);

/// May a block compute a value of what it reads before the nest in which it stands?
///
/// Lemma. Let each buffer that the value reads be unchanged from before the nest until the block
/// reads it for the last time (`is_unchanged_for`), and let no block inside the nest write it.
/// Then each value computed before is the one that the block would compute.
bool has_unchanged_inputs(const Schedule& schedule, BlockRV block, const Expr& value, NodeId nest,
                          const ScopeAccesses& uses);

/// Does every access to a buffer outside of `nest` run before all of the nest, or after all of it?
///
/// Lemma. If so, if no `break`, `continue` or `return` inside leaves out what regions declare, and
/// a copy of all elements that the nest may write is made right before the nest and right after it,
/// or each of them is certain to be written in it and copied after it, the values read outside stay
/// the same.
bool is_used_apart_from(const Schedule& schedule, const Buffer& buffer, NodeId nest,
                        const ScopeAccesses& uses);

/// Are the elements of a buffer that an iteration of a loop writes final, and not accessed
/// elsewhere?
///
/// Lemma. Let the block be the only writer, a complete one or a reduction whose axes no loop around
/// an iteration is bound to, let what else uses the buffer have no loop in common with this one,
/// and no `break`, `continue` or `return` stand inside, also in blocks. Then an element is written
/// in one iteration alone, and copied back from there once it is done.
bool is_finished_in(const Schedule& schedule, BlockRV block, const Buffer& buffer, LoopRV loop,
                    const ScopeAccesses& uses);

/// Does a nest compute all that it writes of a buffer, without what the buffer held before?
///
/// Lemma. Let the block be all that uses the buffer inside, and let it read there no more than
/// results of its own, which it starts in the same execution of the nest. If the nest is certain to
/// write each element of a box, and no others, an execution leaves the same in memory when it
/// computes a copy of the box that is written back right after it.
bool computes_alone(const Schedule& schedule, NodeId nest, BlockRV block, const Ptr<Buffer>& buffer,
                    const ScopeAccesses& uses);

/// Does a nest compute what it writes of the subject for all values of some axes of a block inside?
///
/// Lemma. Let the block write each of its elements once, and start its reductions in the nest. If
/// the nest stores, whenever it is run, with every combination of values of the axes in their
/// domains, what a copy holds for these values after the nest was computed there.
bool computes_throughout(const Schedule& schedule, const CacheSubject& subject, BlockRV block,
                         NodeId nest, const std::vector<Ptr<IterVar>>& axes,
                         const ScopeAccesses& uses);

/// May the init of a reduction block run before a loop around it, once for each result?
///
/// Lemma. Let the block be a reduction block but for writers outside of the loop, and let its init,
/// its axes, its predicate and the bounds of the loops up to it read nothing that it writes, under
/// whatever name; let nothing else inside the loop access what it writes, nothing there write what
/// these read, and no `break`, `continue` or `return` stand there; and let no two iterations of the
/// loop, and of those inside it, run one instance. Then an execution of the loop runs to its end,
/// and starts each of its results once, before all of their updates; so the init may run any time
/// before them, since no statement reads the element in between, and finds the same inputs.
bool starts_before_loop(const Schedule& schedule, BlockRV block, LoopRV loop,
                        const ScopeAccesses& uses);

/// May a block that stores a constant where a condition does not hold fill in the constant before a
/// loop around it?
///
/// Lemma. Let the block be a complete one of one store, let nothing else inside the loop use what
/// it writes, or each iteration read there only what it wrote itself; let no `break`, `continue` or
/// `return` stand there; and let nothing there write memory that its indices, axes or predicate
/// read, or the bounds of the loops up to it. Then an execution of the loop runs to its end, the
/// instances of the block are the same before it as inside, with the same elements, and no
/// statement writes those but the block, each in one instance, however often that runs. Where its
/// condition holds, the block still writes the element at each of these times, so before each read;
/// where it does not, it wrote the constant before each read, which is there now from the
/// beginning.
bool fills_before_loop(const Schedule& schedule, BlockRV block, LoopRV loop,
                       const ScopeAccesses& uses);

/// Loops, outermost first, that together move a window over a dimension of a buffer.
struct WindowLoops {
  std::vector<LoopRV> loops;
  bool lag =
      false;  ///< Nothing is computed twice; consumers read what earlier iterations computed.
};

/// May a block leave out what an earlier iteration of such loops has computed?
///
/// Lemma. Let the loops move a window of known size over one dimension of what the block writes, in
/// steps of at most that size, and no other end of it; let consumers stand in the same iteration,
/// behind the block, and read within the window, or where they lag, as far back as a ring reaches.
/// Let the block compute an element alike whenever it does: its inputs do not change while the
/// loops run, and whether it runs depends on the element alone, or, where consumers lag, on loops
/// that are not around these. Then what is left out is in the ring, as it would be computed again:
/// between the two, the ring's place was written for no other element.
bool computes_alike(const Schedule& schedule, BlockRV block, const BufferAccess& written,
                    std::span<const WindowLoops> windows, const ScopeAccesses& uses);

/// True when the block writes each of its elements in one instance, or in one whole reduction.
bool writes_each_once(const Schedule& schedule, BlockRV block, const ScopeAccesses& uses);

}  // namespace loopsmith
