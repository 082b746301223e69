// SPDX-License-Identifier: Apache-2.0
// The first tier: intervals of distances, by propagation of bounds through the equations of the
// indices. Private to this folder.
#pragma once
#include <vector>

#include "loopsmith/arith/dependence/program.h"

namespace loopsmith::dependence {

/// Two accesses to one element, the first of which runs first: all pairs of instances of which the
/// iterations first differ at one level.
struct Dependence {
  int source = 0;  ///< An access.
  int sink = 0;
  int level = 0;  ///< The first common loop whose iterations differ; their number if none does.
  bool is_reduction = false;        ///< Both update one accumulator alike.
  bool is_of_init = false;          ///< One of them is in the init of a reduction, one is not.
  std::vector<Interval> distances;  ///< Sink minus source, in iterations of each common loop.

  /// True for updates of one accumulator that may change places; an init stays before them.
  bool commutes() const { return is_reduction && !is_of_init; }
};

/// All dependences that cannot be excluded.
std::vector<Dependence> find_dependences(const Program& program);

/// True when the dependence is between updates that may change places.
bool is_reduction_pair(const Access& a, const Access& b);

/// True when the indices of two accesses name elements of the same array.
bool are_comparable(const Access& a, const Access& b);

}  // namespace loopsmith::dependence
