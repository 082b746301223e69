// SPDX-License-Identifier: Apache-2.0
// Which instances of a computation read one element of a tensor: its indices, inverted.
#pragma once
#include <vector>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/te/tensor.h"

namespace loopsmith::te {

/// A computation, for each value of its axes, that reads an element.
struct ElementRead {
  std::vector<IterVar> axes;    ///< Of the output, then those of the reduction.
  std::vector<Expr> equations;  ///< What holds when the element is read: index == coordinate, ...
  std::vector<Expr> guards;     ///< It is not read, or does not count, where one does not hold.
  std::vector<IterVar> known;   ///< The coordinates, with what they run through.
};

/// Some of the instances that read an element: for each value of `axes`, if the conditions hold,
/// one, whose axes have `values`.
struct Readers {
  std::vector<IterVar> axes;
  Substitution values;
  std::vector<Expr> conditions;
};

/// All instances that read it, each once. Equations and guards that are linear bound the axes; the
/// others are conditions. Indices with min, max or a choice in them make one part for each case.
std::vector<Readers> readers_of_element(const ElementRead& read);

/// Tells an analyzer what axes run through.
void bind_axes(Analyzer& analyzer, const std::vector<IterVar>& axes);

}  // namespace loopsmith::te
