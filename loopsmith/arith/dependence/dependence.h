// SPDX-License-Identifier: Apache-2.0
// Which transformations of a program keep its results, decided by its dependences: two accesses to
// one element, one of them a write, must stay in their order.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "loopsmith/arith/dependence/distance_table.h"
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

namespace dependence {
class Analysis;
}

/// How a question of legality was answered.
enum class Verdict : std::uint8_t {
  proved,    ///< The transformation keeps the order of all dependences.
  violated,  ///< It does not: a witness shows where, or control flow forbids it.
  unknown,   ///< Neither could be shown; `reason` says why.
};

/// One iteration of a statement, and what it does to the element of a witness.
struct ConflictSide {
  Stmt statement;
  std::vector<std::pair<Ptr<Var>, std::int64_t>> iteration;  ///< The loops, from the outside in.
  bool writes = false;
};

/// Two accesses to one element, of which the transformation would turn round the order. It was
/// checked: both iterations happen, and access that element.
struct ConflictWitness {
  ConflictSide first;  ///< What runs first in the program as it is.
  ConflictSide second;
  Ptr<Buffer> buffer;
  std::vector<std::int64_t> element;
  std::vector<std::pair<Ptr<Var>, std::int64_t>> sizes;  ///< With these values of the sizes.

  /// `i=3 writes B[4], i=4 reads it`
  std::string text() const;
};

/// The answer to a question of legality.
struct DependenceAnswer {
  Verdict verdict = Verdict::proved;
  /// Updates of one accumulator (declared by a block's init, or of the form x = x + e and the like)
  /// change places or happen concurrently. They are no reason for a refusal; the step that does it
  /// makes a reduction of them, or says that it reassociates.
  bool reductions = false;
  /// Proved if each iteration has memory of its own for these: buffers local to the tree, of which
  /// an iteration reads only what it wrote itself.
  std::vector<Ptr<Buffer>> private_buffers;
  std::shared_ptr<const ConflictWitness> witness;  ///< Of a dependence that is violated.
  std::string reason;  ///< Of `unknown`, and of a violation by control flow.
  Stmt source, sink;   ///< The statements at fault; null when proved.

  explicit operator bool() const { return verdict == Verdict::proved; }
};

/// A dependence between iterations of one loop.
struct CarriedDependence {
  Stmt source, sink;   ///< The earlier and the later statement.
  Ptr<Buffer> buffer;  ///< Null where the memory is not known.
  bool source_writes = false;
  bool sink_writes = false;
  bool is_reduction = false;  ///< Both update one accumulator alike.
  ConstIntBound distance;     ///< How many iterations later, at least and at most.
  bool is_certain = false;    ///< It was seen to happen; else it could not be excluded.
};

struct DependenceOptions {
  /// How many operations isl may spend on one question before the answer is `unknown`.
  unsigned operations = 5000;
  /// Look for a witness with small sizes and early iterations; else the first one found.
  bool smallest_witness = true;
  /// Buffers that are allocated around the tree, and of which no statement reads what it stores
  /// later.
  std::vector<Ptr<Buffer>> local_buffers = {};
  /// Buffers that are allocated in the tree, and that all iterations around these share.
  std::vector<Ptr<Buffer>> shared_buffers = {};
};

/// The dependences of a statement tree, and what follows from them. Loops may have any start, step
/// and extent; conditions, blocks and symbolic sizes are understood; what is not quasi-affine is
/// widened, and refused only as `unknown`.
///
/// Loops are named by their variables, each of which is defined once in the tree. Questions ask
/// about the tree as it is: after a transformation, make a new one, or keep its `distances()`
/// up to date and ask here only what they leave open. Belongs to one thread at a time; what it
/// gives out is immutable or a copy.
class Dependences {
 public:
  explicit Dependences(Stmt root, DependenceOptions options = {});
  Dependences(Dependences&&) noexcept;
  Dependences& operator=(Dependences&&) noexcept;
  ~Dependences();

  /// May the iterations of the loop run concurrently, in any order? See `private_buffers`.
  DependenceAnswer parallelizable(const Ptr<Var>& loop);
  /// The dependences between iterations of the loop, pair of accesses by pair.
  std::vector<CarriedDependence> carried(const Ptr<Var>& loop);
  /// Does nothing in an execution of the loop access the elements of the buffer that it updates,
  /// x = x + e and the like or by a block with an init, but these updates? Where not, and where
  /// that is not known, iterations cannot collect their updates apart.
  DependenceAnswer accumulator_is_private(const Ptr<Var>& loop, const Ptr<Buffer>& buffer);
  /// May the iterations of the loop run as lanes of a vector: each statement for all of them before
  /// the next statement, with all reads of a statement before its writes, inner loops in step?
  DependenceAnswer vectorizable(const Ptr<Var>& loop);
  /// May the loops, nested in some order, take the order `order`, from the outside in?
  DependenceAnswer permutable(std::span<const Ptr<Var>> order);
  /// May two loops, the second of which follows the first, become one that does the body of both in
  /// each iteration? Lists of the same length: nests of loops. Iterations count from 0 in both.
  DependenceAnswer mergeable(std::span<const Ptr<Var>> first, std::span<const Ptr<Var>> second);
  /// May the loop be cut in two, the first of which does what stands before `second_part` in its
  /// body, the second the rest? Loops between it and `second_part` are cut, too.
  DependenceAnswer distributable(const Ptr<Var>& loop, const Stmt& second_part);

  /// May each iteration of the loop have a copy of the buffer, one of `local_buffers`: does nothing
  /// else read what it leaves there, and does an iteration read only what it wrote itself?
  bool may_be_private(const Ptr<Var>& loop, const Ptr<Buffer>& buffer);
  /// May two statements of one sequence, the second of which stands after the first, change places?
  DependenceAnswer exchangeable(const Stmt& first, const Stmt& second);

  /// Intervals of the distances of all loop-carried dependences, without those of which the
  /// questions so far proved that they never happen.
  DistanceTable distances() const;
  /// The loops of which some iterations are up to earlier ones: `break` and `return`.
  std::vector<Ptr<Var>> controlled_loops() const;
  /// How many dependences could not be excluded, and how many questions went to isl so far.
  std::size_t dependence_count() const;
  std::size_t exact_questions() const;

 private:
  std::unique_ptr<dependence::Analysis> analysis_;
};

}  // namespace loopsmith
