// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <initializer_list>
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith::detail {

/// The variables among those that `is_known` names which parts of a loop use, in the order of their
/// first use: also those from which follows where in its memory an element is.
std::vector<Ref> captured_by(std::initializer_list<Ref> parts,
                             const std::function<bool(const Object*)>& is_known);

}  // namespace loopsmith::detail
