// SPDX-License-Identifier: Apache-2.0
// Whether a program computes after a step what it computed before: the law of legality, decided on
// the two programs alone.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/arith/dependence/legality_question.h"
#include "loopsmith/arith/dependence/mirror.h"
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// An instance of a statement: its block's axes, or the loops around it, with their values.
struct InstanceSide {
  Stmt statement;
  std::vector<std::pair<std::string, std::int64_t>> values;
  bool writes = false;
};

/// The answer to whether a step keeps results.
struct PreservationAnswer {
  Verdict verdict = Verdict::proved;
  LegalityQuestion question = LegalityQuestion::understood;
  InstanceSide first, second;  ///< At fault; statements are null where there are none.
  Ptr<Buffer> buffer;          ///< What both access.
  std::string reason;          ///< Of `unknown`.

  explicit operator bool() const { return verdict == Verdict::proved; }
};

/// Two versions of what one scope runs. Blocks with the same first axis, or the same block, are
/// the same; an instance of a block is named by the values of its axes.
struct TwoVersions {
  Stmt before;
  Stmt after;
  /// Buffers of the scope: nothing outside of it reads or writes them.
  std::vector<Ptr<Buffer>> local_buffers;
  /// Buffers that others in the function may use, too: elements may have no value yet.
  std::vector<Ptr<Buffer>> allocated_buffers;
  /// Instances may run after the step that did not run before, where they write local buffers
  /// alone, and elements that no other instance writes.
  bool may_add = false;
  unsigned operations = 20000;  ///< That isl may spend on one question.
};

/// Does `after` compute what `before` does, if it runs copies of its instances at other times?
///
/// Theorem. Let each instance of `after` be a copy of one of `before` (but see `may_add`), and let
///  (order) for two conflicting accesses a before b, of which b writes, all copies of a run before
///    all copies of b;
///  (cover) for a write a before a read b of its element, a copy of a run before each copy of b;
///  (leave out) an instance without a copy write no element that is visible outside.
/// Then each copy reads what its original read, and elements visible outside end with the same
/// values. Proof, by induction on the order of `after`: let b read an element e, and w be the last
/// write of e before it. By (cover) a copy of w runs before each copy of b, and wrote what w did.
/// A write w' of e between the two would, if w' is before w, contradict (order) of w' and w; if it
/// is after w, then b is before w', which contradicts (order) of b and w'. The same argument, with
/// the end of the program for b, gives the values at the end.
///
/// Updates of one accumulator may change their order among themselves. A block that runs its
/// instances more than once does so in runs, one for each iteration of the loops that it shares
/// with others: within a run a reduction is whole, starts with its init, and an instance reads of
/// its own element only what its run wrote; then (order) and (cover) need not hold within it.
PreservationAnswer keeps_results(const TwoVersions& versions);

/// Does each access to a buffer or its mirror in `after`, where some accesses of `before` go to the
/// mirror and statements copy between the two, find the value that it found?
///
/// Theorem. Each access stands for an element e of the buffer: by its index before the step, or, in
/// a copying statement, by that of the buffer. A read of a place (an element of either) that stands
/// for e is right if some statement wrote that place for e before, or the place is e's own and has
/// its first value; and if after each write of e to another place, and after each write to that
/// place for another element, that runs before the read, a statement writes the place for e before
/// it. For the last such write is then the newest of e, and what it copied is right by induction.
/// At the end, elements that are visible outside are read once more.
/// Besides, each statement is there once, in its order, and what is new copies (all of which is
/// checked).
PreservationAnswer keeps_values(const TwoVersions& versions, std::span<const Mirror> mirrors);

}  // namespace loopsmith
