// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/rules/program.h"
#include "loopsmith/rules/strategy.h"

namespace loopsmith {

/// Nests that run one after another within the first `shared` spatial axes of each, which are the
/// same for all; or a part that stays as it is.
struct Group {
  std::vector<Nest> nests;
  std::size_t shared = 0;
  Stmt opaque;
  NodeId node = no_node;  ///< The first statement, in the schedule that it was read from.
};

/// Joins neighbours that depend on each other only row by row: what one point of the shared axes
/// reads, the same point wrote.
///
///     for i: m[i] = max(A[i, :])            =>   for i:
///     for i: e[i, :] = exp(A[i, :] - m[i])         m[i] = max(A[i, :])
///                                                  e[i, :] = exp(A[i, :] - m[i])
///
/// Not those that gain more from results of several rows at once.
std::vector<Group> fuse_row_nests(const Program& program, const CpuModel& machine);

/// True when the reduction of `nest` may combine what `producer`, the nest before it in a group,
/// leaves in a row as soon as that is computed.
///
///     for j: E[j] = exp(A[i, j])              for k:
///     for k: s[i] += E[k]               =>      E[k] = exp(A[i, k]);  s[i] += E[k]
bool is_fed_by(const Nest& producer, const Nest& nest, std::size_t shared, const CpuModel& machine);

}  // namespace loopsmith
