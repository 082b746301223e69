// SPDX-License-Identifier: Apache-2.0
// Instances of statements, run again to see whether a conflict is real. Private to this folder.
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/arith/dependence/polyhedra.h"
#include "loopsmith/arith/dependence/program.h"

namespace loopsmith::dependence {

/// True when the iteration with these iterators comes to the access for certain.
bool happens(const Program& program, const Access& access,
             const std::vector<std::int64_t>& iterators, const KnownValues& sizes);

/// The element that an access refers to in the iteration with these iterators. Nullopt where the
/// iteration does not happen, or where that cannot be told without running the program.
struct ReplayedAccess {
  std::vector<std::int64_t> element;
  std::vector<std::pair<Ptr<Var>, std::int64_t>> iteration;  ///< The loops' variables.
};
std::optional<ReplayedAccess> replay(const Program& program, const Access& access,
                                     const std::vector<std::int64_t>& iterators,
                                     const KnownValues& sizes);

/// The values of the variables among the parameters of a sample; nullopt where one of the others,
/// made of such variables, has a value that does not fit them.
std::optional<KnownValues> sizes_of(const Program& program, const Sample& sample);

}  // namespace loopsmith::dependence
