// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "loopsmith/arith/const_int_bound.h"
#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// The loop-carried dependences of a program as intervals of distances, kept up to date through
/// loop transformations in well under a microsecond each. Its yes is a proof; its no says only that
/// `Dependences` of the program as it stands now is to be asked. Loops are named by their
/// variables.
///
/// A value: a copy is independent of the original. Safe to read from many threads.
class DistanceTable {
 public:
  /// True when no iteration of the loop is known to depend on another one of the same execution of
  /// the loop, updates of one accumulator left aside unless `with_reductions`.
  bool is_parallel(const Ptr<Var>& loop, bool with_reductions = false) const;
  /// True when the loops, nested perfectly in some order, may take the order `order`, from the
  /// outside in; updates of one accumulator may change places unless `keep_reductions`.
  bool can_reorder(std::span<const Ptr<Var>> order, bool keep_reductions = false) const;

  /// loop = outer * factor + inner; `outer_extent` is INT64_MAX where it is not constant. A split
  /// keeps the order of execution, so it needs no test.
  void split(const Ptr<Var>& loop, const Ptr<Var>& outer, const Ptr<Var>& inner,
             std::int64_t factor, std::int64_t outer_extent);
  /// fused = outer * inner_extent + inner, of two loops nested perfectly; `inner_extent` is
  /// INT64_MAX where it is not constant. Needs no test.
  void fuse(const Ptr<Var>& outer, const Ptr<Var>& inner, const Ptr<Var>& fused,
            std::int64_t inner_extent);
  /// The loops now stand in this order; `can_reorder` was true, or the order proved otherwise.
  void reorder(std::span<const Ptr<Var>> order);
  /// The loop has another variable.
  void rename(const Ptr<Var>& loop, const Ptr<Var>& renamed);

  /// Adds a dependence between statements whose common loops are `loops`, from the outside in: the
  /// distances of its sink from its source.
  void add(std::span<const Ptr<Var>> loops, std::span<const ConstIntBound> distances,
           bool is_reduction);
  /// How many dependences it holds.
  std::size_t size() const;

 private:
  struct Row {
    std::uint32_t first;  ///< Of its distances in the band.
    bool is_reduction;
    bool operator==(const Row&) const = default;
  };
  /// The dependences between statements that have these loops in common.
  struct Band {
    std::vector<Ptr<Var>> loops;
    std::vector<ConstIntBound> distances;  ///< Row by row.
    std::vector<Row> rows;

    int find(const Ptr<Var>& loop) const;
    bool same_loops(std::span<const Ptr<Var>> others) const;
  };

  std::vector<Band> bands_;
};

}  // namespace loopsmith
