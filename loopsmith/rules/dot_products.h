// SPDX-License-Identifier: Apache-2.0
// Products whose steps an instruction sums, several at a time.
#pragma once
#include <optional>
#include <string>

#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/rules/nest.h"

namespace loopsmith {

/// A sum of products of bytes, or of bfloat16, for which the processor has an instruction.
struct DotProduct {
  std::string intrin;        ///< The tensor intrinsic of the instruction.
  std::int64_t lanes = 0;    ///< How many sums it has.
  std::int64_t depth = 0;    ///< How many products it adds to each.
  std::int64_t group = 0;    ///< How many of them are neighbours in a panel.
  Axis steps;                ///< The reduction axis of neighbouring products, of a constant extent.
  Expr row;                  ///< The operand that columns share: a load.
  Expr column;               ///< The one that rows share.
  bool copies_rows = false;  ///< Neighbours along `steps` are none in memory, but rows are.
};

/// How the steps of a nest are summed, if there is an instruction for its operands, and they are
/// loads; nothing where its results do not fill a vector.
std::optional<DotProduct> dot_product_of(const Nest& nest, const Axis& vector_axis,
                                         const Axis& row_axis, const CpuModel& machine);

}  // namespace loopsmith
