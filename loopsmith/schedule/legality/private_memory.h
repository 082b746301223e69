// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <forward_list>
#include <optional>
#include <span>
#include <unordered_set>

#include "loopsmith/schedule/legality/order_answer.h"
#include "loopsmith/schedule/queries/access_relations.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

class ChangedAccesses;

/// Does each iteration of a loop read of a buffer only what it wrote itself?
///
/// Lemma. Let all that uses the buffer be blocks inside the loop that declare it. Let each that
/// reads it either update results of its own, which it starts in the same iteration, or come in a
/// sequence after a statement that, whenever it runs, stores to a box that holds all that the block
/// reads while what is inside the sequence runs. Then no value goes from one iteration to another,
/// and iterations may have the buffer each for itself.
bool writes_what_it_reads(const Schedule& schedule, LoopRV loop, const Ptr<Buffer>& buffer);

/// True when the block is a reduction that reads of the buffer its own results alone, and starts
/// them while `inside`, the innermost loops around it, run, with what the buffer does not hold.
bool reads_what_it_started(const Schedule& schedule, BlockRV block, const Ptr<Buffer>& buffer,
                           std::span<const LoopRV> inside);

/// What the block around a loop allocates and the loop alone uses, where each iteration reads of it
/// only what it wrote itself: parts of the loop may have it each for themselves.
std::vector<Ptr<Buffer>> memory_of_iterations(const Schedule& schedule, LoopRV loop);

/// The memory of one program, asked of several of its loops.
///
/// Lemma. Let all uses of a buffer be inside a loop each iteration of which reads of it only what
/// it wrote itself. Then the same holds of each loop around that one, since an iteration there runs
/// whole iterations of the inner loop. So the innermost loop around all uses is asked first, once.
class OwnMemory {
 public:
  explicit OwnMemory(const Schedule& schedule) : schedule_(schedule) {}

  /// The uses of a buffer that is allocated by the block of node `owner`.
  const BufferAccesses& uses(NodeId owner, const Ptr<Buffer>& buffer);
  /// See `writes_what_it_reads`.
  bool has_for_itself(LoopRV loop, const Ptr<Buffer>& buffer);

  /// What a loop accesses: `accesses_inside`, with what was given back about the loop around it.
  ///
  /// Lemma. A loop that is all there is in another one accesses what that one accesses; what moves
  /// with the outer loop's variable is outside of it. (Where bounds of the outer loop read memory,
  /// that counts as read, which is less than what could be known.)
  ElementAccesses take_accesses(LoopRV loop, const ChangedAccesses* changed);
  void give_back(LoopRV loop, const ChangedAccesses* changed, ElementAccesses accesses);

  /// True when what the nest of a loop stores into memory that threads share may come from a
  /// buffer; see `sources_of_shared_memory`.
  bool feeds_shared_memory(LoopRV loop, const Buffer& buffer);

 private:
  struct Reading {
    LoopRV loop;
    const ChangedAccesses* changed;
    ElementAccesses accesses;
  };
  struct Known {
    const Buffer* buffer;
    NodeId owner;
    BufferAccesses uses;
    std::optional<bool> is_own = {};  ///< Of each iteration of
    NodeId inner = no_node;           ///< the innermost loop around all uses.
  };
  Known& known(NodeId owner, const Ptr<Buffer>& buffer);
  NodeId innermost_loop(const Known& known) const;

  const Schedule& schedule_;
  std::forward_list<Known> known_;
  std::optional<Reading> last_;
  NodeId nest_ = no_node;                           ///< The last nest whose
  std::unordered_set<const Object*> sources_ = {};  ///< sources of shared memory were asked for.
};

/// Whether the iterations of a loop are independent of each other: `carried_by` of legality.h, for
/// one of several loops of the program, which ask `memory` in turn.
CarriedDependences carried_by(const Schedule& schedule, LoopRV loop, Concurrency how,
                              OwnMemory& memory);

/// True when iterations of a loop, which were independent of each other before the step that
/// changed accesses so, still are.
///
/// Lemma. Iterations that are independent, and do not reduce, share no memory but such as each
/// has for itself, or which all of them fill alike. The first two are matters of the accesses to
/// that memory, the last one also of whether what is stored into it comes from memory that is
/// written meanwhile. So it suffices to ask of memory whose accesses changed, unless that is
/// written and `feeds_shared_memory`.
bool stays_independent(const Schedule& schedule, LoopRV loop, Concurrency how, OwnMemory& memory,
                       const ChangedAccesses& changed);
/// The same asked of the exact check: true when iterations of such a loop may conflict.
bool conflicts_in_changed(const Schedule& schedule, LoopRV loop, Concurrency how,
                          const ChangedAccesses& changed);

}  // namespace loopsmith
