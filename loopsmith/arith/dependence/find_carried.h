// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <span>

#include "loopsmith/arith/dependence/dependence.h"

namespace loopsmith {

/// The first dependence between iterations of one of the loops that `concerns` picks, if there is
/// one: no others are looked for. It is asked before it is known whether the dependence happens,
/// when none is certain.
std::optional<CarriedDependence> find_carried(
    const Stmt& root, std::span<const Ptr<Var>> loops,
    const std::function<bool(const CarriedDependence&)>& concerns, DependenceOptions options = {});

}  // namespace loopsmith
