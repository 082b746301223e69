// SPDX-License-Identifier: Apache-2.0
// Whether a step made copies of buffers and nothing else. Private to this folder.
#pragma once
#include <span>
#include <string>

#include "loopsmith/arith/dependence/preservation.h"
#include "loopsmith/arith/dependence/versions.h"

namespace loopsmith::dependence {

/// What the later version has besides the statements of the earlier one, each once and in their
/// order, that access mirrors in the place of buffers, and statements that copy between the two;
/// empty where there is nothing.
std::string change_besides_copies(const Versions& versions, std::span<const Mirror> mirrors);

}  // namespace loopsmith::dependence
