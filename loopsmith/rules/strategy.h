// SPDX-License-Identifier: Apache-2.0
// How one nest is written as loops. Each strategy is a file of that name.
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/rules/nest.h"
#include "loopsmith/rules/tuple_combination.h"

namespace loopsmith {

/// How many lanes a vector has, so that the widest type of the nest fills one register.
std::int64_t lanes_of(const Nest& nest, const CpuModel& machine);

/// The spatial axis along which every store is contiguous, if there is one.
std::optional<Axis> contiguous_axis(const Nest& nest);

/// row_reduction.cc: which reduction axis may be vectorised, and how: all loads are contiguous
/// along it, or do not move.
struct RowReduction {
  TupleCombination combination;
  Axis axis;                ///< The reduction axis that is vectorised.
  std::vector<Axis> outer;  ///< The other reduction axes.
};
std::optional<RowReduction> row_reduction_of(const Nest& nest);

/// for k in K: (vectorised)  partial[k % lanes] += source(k);     target = initial + sum(partial)
Stmt row_reduction(const RowReduction& reduction, std::int64_t lanes, const Substitution& values);

/// tiled_reduction.cc: the contiguous spatial axis vectorised, a tile of results kept in registers
/// while the reduction runs; over all axes of the nest. Operands are read where they are.
Stmt tiled_reduction(const Nest& nest, const Axis& vector_axis, const CpuModel& machine);

/// packed_reduction.cc: the same for results that share operands by rows and by columns. A task
/// copies those of its columns once for all its rows, a block of the reduction at a time.
struct PackedReduction {
  Expr pays;  ///< Whether there are rows enough; not known where their number is a variable.
  Stmt stmt;
};
/// Nothing for a nest of another form, or if it never pays.
std::optional<PackedReduction> packed_reduction(const Nest& nest, const CpuModel& machine);
bool is_packed(const Nest& nest, const CpuModel& machine);

}  // namespace loopsmith
