// SPDX-License-Identifier: Apache-2.0
// What is asked of maps as a whole. Private to iteration maps.
#pragma once
#include "loopsmith/arith/iter_map/reader.h"

namespace loopsmith::arith {

/// `sum`, constrained, as at most one digit and a base. This and what is below fail as reading
/// does.
IterSumExpr fused(IterSumExpr sum, IterReader& reader);

/// Fails unless the digits that `indices` are made of are as the level asks; true when different
/// points are known to have different indices.
bool check_digits(const std::vector<IterSumExpr>& indices, const IterMapOptions& options,
                  IterReader& reader);

/// True where a point is there only because a mark was padded to a multiple of what divides it.
Expr padding_predicate(const std::vector<IterSumExpr>& indices, IterReader& reader);

}  // namespace loopsmith::arith
