// SPDX-License-Identifier: Apache-2.0
// What the analysis of dependences answers, as schedules pass it on.
#pragma once
#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/schedule/legality/order_answer.h"

namespace loopsmith {

/// The two iterations of an answer's witness, if it has one.
std::optional<Witness> witness_of(const DependenceAnswer& found);

OrderAnswer answer_of(const DependenceAnswer& found);

}  // namespace loopsmith
