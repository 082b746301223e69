// SPDX-License-Identifier: Apache-2.0
// Lanes, bits and pointers: handlers that are neither arithmetic nor control.
#pragma once
#include "loopsmith/interp/code.h"
#include "loopsmith/interp/interp.h"

namespace loopsmith::interp {

/// The bits of `a`, of the type code `b`, as a value of the instruction's type.
Handler reinterpret_handler(const Options& options);
/// Lane i is a + i < b.
Handler active_lanes_handler();
/// The pointer `a`, moved by `b` times `number` bits.
Handler move_pointer_handler();

}  // namespace loopsmith::interp
