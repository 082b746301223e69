// SPDX-License-Identifier: Apache-2.0
// What the bindings of integer analysis share.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "bindings/ir.h"
#include "loopsmith/arith/iter_map.h"

namespace loopsmith::python {

/// Variables and what they run through, from Python.
using Iterators = std::vector<std::pair<Ptr<Var>, Ptr<Range>>>;
std::vector<Iterator> iterators_of(const Iterators& ranges);

/// An expression as Python shows it.
std::string repr_of(const Expr& expr);

/// Iteration maps, and regions of elements (arith_maps.cc).
void bind_iter_map(nanobind::module_& m);
void bind_regions(nanobind::module_& m);

}  // namespace loopsmith::python
