// SPDX-License-Identifier: Apache-2.0
// How often an index is contained in a sum.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>

#include "loopsmith/schedule/queries/index_form.h"

namespace loopsmith {

/// By what a sum is to be multiplied, and how often an index is taken from it then, so that a term
/// that both have goes; both are positive.
std::optional<std::pair<std::int64_t, std::int64_t>> index_ratio(const IndexForm& sum,
                                                                 const IndexForm& index);

/// by * a - times * b; nullopt where that overflows.
std::optional<IndexForm> index_difference(IndexForm a, std::int64_t by, const IndexForm& b,
                                          std::int64_t times);

}  // namespace loopsmith
